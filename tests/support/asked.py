"""Programs of those who own a format, started once and asked line by line: a JSON value each way."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Asked", "asked"]


class Asked:
    """A program that answers each line with one line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, question: Any) -> Any:
        """Ask, and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{self._process.args!r} ended without an answer"
        return json.loads(line)


@contextmanager
def asked(command: Sequence[str | Path], home: Path, cwd: Path | None = None) -> Iterator[Asked]:
    """Start a program for as long as it is asked; what it keeps for itself goes into `home`."""
    environ = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    with subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environ,
    ) as process:
        try:
            yield Asked(process)
        finally:
            process.kill()
