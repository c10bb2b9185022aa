"""`weft prep gr`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.cli import program


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    (tmp_path / "a.py").write_text("if a < b: pass\n")
    (tmp_path / "b.py").write_text("\x1b[31m")
    return tmp_path


def test_t67_names_come_from_arguments_and_then_from_stdin(repository: Path) -> None:
    ran = program("prep", "gr", "a.py", stdin=b"b.py\nnosuch\n")

    assert ran.status == 0
    assert ran.out == (
        f'<context type="git-repo" path="{repository}" origin="" caveats="{ran.out.split(chr(34))[7]}">\n'
        '<file name="a.py">if a &lt; b: pass\n</file>\n'
        '<file name="b.py">␛[31m</file>\n'
        '<file name="nosuch">[binary file]</file>\n'
        "</context>\n"
    )
    assert "\x1b[31m" in program("prep", "gr", "--raw", "b.py").out


@pytest.mark.usefixtures("repository")
def test_t70_the_origin_is_asked_of_git() -> None:
    subprocess.run(["git", "remote", "add", "origin", "git@example.org:tides.git"], check=True)

    out = program("prep", "gr", "-i", "Read it.", "a.py").out

    assert ' origin="git@example.org:tides.git" ' in out
    assert ' instructions="Read it.">' in out


@pytest.mark.usefixtures("repository")
def test_t70_without_git_there_is_no_origin() -> None:
    assert ' origin="" ' in program("prep", "gr", "a.py", env={"PATH": "/nowhere"}).out
