from __future__ import annotations

import subprocess
import sys

from tools.cli_reference import PAGE


def test_the_reference_of_commands_is_up_to_date() -> None:
    """In a process of its own: click remembers the help option of a command from the first time it was asked."""
    script = "import sys; from tools.cli_reference import page; sys.stdout.buffer.write(page().encode())"

    told = subprocess.run([sys.executable, "-c", script], cwd=PAGE.parents[2], capture_output=True, check=True)

    assert PAGE.read_text(encoding="utf-8") == told.stdout.decode(), "docs/reference/cli.md is stale: make fix"
