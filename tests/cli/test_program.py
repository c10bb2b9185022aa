from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from weft.cli import app, main
from weft.cli.app import COMMANDS
from weft.errors import UsageError
from weft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "weft.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Put a command `fail` into the table that raises what the test gives."""

    def put(error: BaseException) -> None:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(app, "COMMANDS", {**COMMANDS, "fail": f"{__name__}:fail"})
        monkeypatch.setitem(sys.modules, __name__, type(sys)(__name__))
        setattr(sys.modules[__name__], "fail", fail)  # noqa: B010 - a module made here has no such name to the checker

    return put


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["--debug", "version"], ["--debug", "--version"]])
def test_every_way_of_asking_gives_the_version(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = main(arguments)

    assert (status, capsys.readouterr().out) == (0, f"weft {__version__}\n")


def test_c07_version_imports_nothing_beyond_the_standard_library() -> None:
    """C-07, and `weft --version` in a prompt or a script must not cost what the whole program costs."""
    program = (
        "import json, sys\n"
        "from weft.cli import main\n"
        "main(['--version'])\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(json.loads(result.stdout.splitlines()[-1]))
    foreign = loaded - set(sys.stdlib_module_names) - {"weft", "__main__"}
    # What .pth files of the development environment load into every Python is not weft's doing.
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*{name.partition('.')[0] for name in sys.modules})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert foreign - set(bare.stdout.split()) == set()


def test_help_lists_every_command_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--help"])

    lines = capsys.readouterr().out.partition("\nAsk:")[2].splitlines()
    listed = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    assert (status, sorted(name for name, _ in listed)) == (0, sorted(COMMANDS))
    assert all(sentence.endswith(".") and "..." not in sentence for _, sentence in listed)


def test_help_is_found_by_its_name_too(capsys: pytest.CaptureFixture[str]) -> None:
    """`weft help convert` is `weft convert --help`; nobody is asked for help with weft."""
    assert main(["help", "convert"]) == 0
    assert capsys.readouterr().out.startswith("Usage: weft convert")
    assert main(["help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: weft [OPTIONS] COMMAND")


@pytest.mark.parametrize(("word", "near"), [("shwo", "show"), ("ls", "threads"), ("history", "log")])
def test_a_word_that_is_nearly_a_command_names_the_one_it_is_near(word: str, near: str) -> None:
    result = run(word)

    assert result.returncode == 2
    assert f"  near it: weft {near}\n" in result.stderr


def test_words_that_begin_questions_are_no_slips_if_more_words_follow(tmp_path: Path) -> None:
    """`what` is as near to `chat` as a slip would be; `delete tides` is nothing to ask a model."""
    nobody = {"WEFT_HOME": str(tmp_path), "WEFT_MODEL": ""}

    assert run("what", "is", "a", "weft", env=nobody).stderr.startswith("weft: nobody is named to answer")
    assert run("what", env=nobody).returncode == 2
    assert "near it: weft rm\n" in run("delete", "tides", env=nobody).stderr


def test_a_file_in_the_place_of_a_command_is_not_sent_to_a_model(tmp_path: Path) -> None:
    """What can be done with it is said, and nothing is stored."""
    (tmp_path / "session.jsonl").write_text("{}")

    file, folder = run(str(tmp_path / "session.jsonl")), run(f"{tmp_path}/")

    assert (file.returncode, folder.returncode) == (2, 2)
    assert "session.jsonl is a file, no command\n" in file.stderr
    assert f"weft import {tmp_path / 'session.jsonl'}\n" in file.stderr
    assert f"weft import {tmp_path}/\n" in folder.stderr


def test_a_long_question_of_any_script_is_no_file(tmp_path: Path) -> None:
    """Issue 5: `weft "prompt"`. A name of a file has 255 bytes at the most, and most letters take several."""
    asked = run("Когда вода самая высокая? " * 9 + "Скажи.", env={"WEFT_HOME": str(tmp_path), "WEFT_MODEL": ""})

    assert asked.stderr.startswith("weft: nobody is named to answer")


def test_an_unknown_command_is_misuse() -> None:
    result = run("lgo")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("weft: No such command 'lgo'")
    assert "see: weft --help" in result.stderr


def test_an_unknown_option_points_to_the_commands_own_help() -> None:
    result = run("demo", "--nosuch")

    assert result.returncode == 2
    assert "see: weft demo --help" in result.stderr


def test_a_weft_error_is_its_message_and_status_1(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(UsageError('no bookmark or turn called "notess"\n  see all: weft bookmarks'))

    status = main(["fail"])

    assert status == 1
    assert capsys.readouterr().err == 'weft: no bookmark or turn called "notess"\n  see all: weft bookmarks\n'


def test_a_file_that_is_not_there_is_named(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(FileNotFoundError(2, "No such file or directory", "notes.md"))

    status = main(["fail"])

    assert (status, capsys.readouterr().err) == (1, "weft: No such file or directory: notes.md\n")


def test_a_click_error_keeps_its_own_status(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(click.ClickException("no"))

    assert (main(["fail"]), capsys.readouterr().err) == (1, "weft: no\n")


def test_a_fault_of_wefts_own_shows_no_traceback_unless_asked(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(ZeroDivisionError("by nothing"))

    quiet = main(["fail"]), capsys.readouterr().err
    loud = main(["--debug", "fail"]), capsys.readouterr().err

    assert quiet[0] == loud[0] == 70
    assert "Traceback" not in quiet[1]
    assert "ZeroDivisionError: by nothing" in quiet[1]
    assert "Traceback" in loud[1]


def test_ctrl_c_ends_quietly(failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]) -> None:
    failing(KeyboardInterrupt())

    # The newline before it ends the line on which the terminal showed ^C.
    assert (main(["fail"]), capsys.readouterr().err) == (130, "\nweft: stopped\n")


def test_c01_control_characters_of_an_error_do_not_reach_the_terminal(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(UsageError("bad name \x1b]0;owned\x07 \x9b31m"))

    main(["fail"])

    assert capsys.readouterr().err == "weft: bad name ␛]0;owned␇ \ufffd31m\n"


def test_c02_a_closed_pipe_ends_without_a_traceback() -> None:
    command = f"'{sys.executable}' -m weft.cli demo --once | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert result.stderr == ""


def test_c03_a_locale_without_utf8_is_survived(tmp_path: Path) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": str(tmp_path)}
    result = run("demo", "--once", env=env)

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_colour_is_for_terminals_that_want_it(no_color: str, *, coloured: bool) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "weft.cli", "demo", "--once"]
    env = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
    subprocess.run(command, stdout=theirs, env=env, check=True)
    os.close(theirs)

    shown = os.read(ours, 100_000)
    os.close(ours)

    assert (b"\x1b[1m" in shown) is coloured


def test_a_table_row_that_is_no_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "COMMANDS", {"wrong": "weft.cli.app:run"})

    assert main(["wrong"]) == 70


def test_weft_alone_prints_its_page_and_is_no_error() -> None:
    result = run()

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: weft ")
