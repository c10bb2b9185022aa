"""`python -m weft.trace.finishing PART`, the output's name on stdin: write the record of one large exchange, and end.

The recorder starts it for what would hold up the traffic beside it; `recover` does the same after a kill.
"""

from __future__ import annotations

import sys
from pathlib import Path

from weft.trace.journal import read_part
from weft.trace.opening import open_sink
from weft.trace.record import is_recorded

__all__ = ["main"]


def main() -> int:
    """Write the record and remove the part."""
    path = Path(sys.argv[1])
    sink = open_sink(sys.stdin.read())
    try:
        capture = read_part(path)
        if is_recorded(capture.meta, capture.request_body, capture.frames):
            sink.write([capture])
        path.unlink()
    finally:
        sink.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
