"""The command line: one module per command, found by name in `weft.cli.app`.

`main` is the program. It answers `--version` by itself: a script that only asks for the version should not wait for
click, nor for anything else beyond the standard library.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from weft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 done, 1 a weft error, 2 misuse."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args in (["--version"], ["version"]):
        sys.stdout.write(f"weft {__version__}\n")
        return 0
    # Loading a few hundred modules makes much and leaves no garbage; looking for it meanwhile costs 5 % of a start.
    gc.set_threshold(100_000, 20, 20)
    from weft.cli.app import run

    return run(args)
