"""From the name of an output to its sink: `.jsonl`, `.jsonl.zst`, or the address of a store."""

from __future__ import annotations

import re
from pathlib import Path

from weft.trace.jsonl import JsonLinesSink
from weft.trace.sink import Sink

__all__ = ["open_sink", "recover_file"]

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_sink(output: str) -> Sink:
    """Open what `--output` names: a file, or else a store (a folder, there or to be made, or a URL)."""
    if _ADDRESS.match(output) is None and not output.endswith("/") and not Path(output).is_dir():
        return JsonLinesSink(Path(output))
    from weft.trace.storesink import StoreSink  # noqa: PLC0415 - a file needs no store

    return StoreSink(output)


def recover_file(path: Path) -> int:
    """Write what a killed recording left beside a trace into it, before it is read [X-06]; give how many that were.

    One look for a folder, where there is none. A trace that may not be written to is read as it is.
    """
    if not path.with_name(f"{path.name}.journal").is_dir():
        return 0
    from weft.trace.journal import recover  # noqa: PLC0415 - nearly never needed

    try:
        sink = JsonLinesSink(path)
        try:
            return recover(sink)
        finally:
            sink.close()
    except OSError:
        return 0
