from __future__ import annotations

import subprocess
import sys

from tools.formats_reference import PAGE


def test_the_reference_of_formats_is_up_to_date() -> None:
    """In a process of its own: other tests add formats to the registry."""
    script = "import sys; from tools.formats_reference import page; sys.stdout.buffer.write(page().encode())"

    told = subprocess.run([sys.executable, "-c", script], cwd=PAGE.parents[2], capture_output=True, check=True)

    assert PAGE.read_text(encoding="utf-8") == told.stdout.decode(), "docs/reference/formats.md is stale: make fix"
