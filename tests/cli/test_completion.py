"""What tab offers: asked as bash asks, by the variables it sets; and by bash itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from tests.support.cli import Weft
from weft.cli.app import weft as program


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Give what is offered at the end of a line; a blank at its end begins a new word."""
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")

    def offer(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        said = BashComplete(program, {}, "weft", "_WEFT_COMPLETE").complete()
        return [entry.partition(",")[2] for entry in said.splitlines()]

    return offer


def test_bookmarks_and_aliases_are_offered(weft: Weft, offered: Callable[[str], list[str]]) -> None:
    weft("add", "Hello.", "-b", "tides")
    weft("add", "Hello.", "-b", "tables")
    weft("add", "Hello.", "-b", "notes")
    weft("alias", "set", "kilo", "openai/gpt-5.2")

    assert offered("weft ask -c t") == ["tables", "tides"]
    assert offered("weft show n") == ["notes"]
    assert offered("weft bookmark move ti") == ["tides"]
    assert offered("weft chat -m ki") == ["kilo"]
    assert "openai/" in offered("weft ask -m o")
    assert offered("weft models anth") == ["anthropic"]
    assert offered("weft scan") == ["scan-secrets"]


@pytest.mark.parametrize(
    "line",
    [
        "weft convert se",
        "weft convert a -o se",
        "weft import a se",
        "weft view se",
        "weft trace ls se",
        "weft trace show --from se",
        "weft tail se",
        "weft cook se",
        "weft ask -a se",
        "weft log --store se",
        "weft record -- se",
    ],
)
def test_files_are_left_to_the_shell(line: str, offered: Callable[[str], list[str]]) -> None:
    """Who switches completion on does not lose that of files."""
    assert offered(line) == ["se"]


def test_formats_are_offered(offered: Callable[[str], list[str]]) -> None:
    assert offered("weft convert a --to claude-c") == ["claude-code"]
    assert offered("weft import --from chat") == ["chatgpt"]


def test_without_a_store_nothing_is_offered_and_nothing_made(
    tmp_path: Path, offered: Callable[[str], list[str]]
) -> None:
    assert offered("weft ask -c t") == []
    assert not (tmp_path / "home").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_a_real_bash_completes_a_bookmark(weft: Weft, tmp_path: Path) -> None:
    """The script that `_WEFT_COMPLETE=bash_source weft` prints, in bash itself, with its own completion machinery."""
    weft("add", "Hello.", "-b", "tides")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "weft"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m weft.cli "$@"\n')
    command.chmod(0o755)
    script = f"""
        PATH="{bin_folder}:$PATH"
        eval "$(_WEFT_COMPLETE=bash_source weft)"
        COMP_WORDS=(weft show ti) COMP_CWORD=2
        _weft_completion weft
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "tides\n"
