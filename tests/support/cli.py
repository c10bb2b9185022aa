"""Running the command line in tests: in this process for speed, or as a real program in a pipe or a terminal."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from weft.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["Ran", "Weft", "in_terminal", "program", "weft"]


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run gave."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def id(self) -> str:
        return self.out.strip()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


if TYPE_CHECKING:
    Weft = Callable[..., Ran]
else:
    Weft = object


@pytest.fixture
def weft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Weft:
    """Run a command line in this process, over a store of the test's own in WEFT_HOME."""
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "home"))

    def run(*args: str, ok: bool = True) -> Ran:
        capsys.readouterr()
        status = main(list(args))
        out, err = capsys.readouterr()
        if ok:
            assert status == 0, f"weft {' '.join(args)}: {err}"
        return Ran(status, out, err)

    return run


def program(*args: str, stdin: bytes = b"", env: dict[str, str] | None = None, under: Sequence[str] = ()) -> Ran:
    """Run a command line as a real program, its output in pipes; `under` is a program that starts it."""
    command = [*under, sys.executable, "-m", "weft.cli", *args]
    given = {**os.environ, **(env or {})}
    result = subprocess.run(command, input=stdin, capture_output=True, env=given, check=False)
    return Ran(result.returncode, result.stdout.decode(), result.stderr.decode())


def in_terminal(
    *args: str, typed: Sequence[tuple[str, str]] = (), env: dict[str, str] | None = None, columns: int = 80
) -> tuple[int, str]:
    """Run a command line in a terminal; give its status and all it showed. `typed` are (prompt, answer), in order."""
    ours, theirs = os.openpty()
    given = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **(env or {})}
    command = [sys.executable, "-m", "weft.cli", *args]
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=given, start_new_session=True)
    os.close(theirs)
    waiting = list(typed)
    shown = b""
    answered = 0  # how far the prompts are dealt with
    while True:
        ready, _, _ = select.select([ours], [], [], 60)
        try:
            piece = os.read(ours, 65536) if ready else b""
        except OSError:  # Linux's way of saying that the other side is closed
            break
        if not piece:
            break
        shown += piece
        if waiting and (at := shown.find(waiting[0][0].encode(), answered)) >= 0:
            prompt, answer = waiting.pop(0)
            answered = at + len(prompt.encode())
            os.write(ours, f"{answer}\n".encode())
    os.close(ours)
    return running.wait(60), shown.decode().replace("\r\n", "\n")
