"""What every framing gives: frames with the same few attributes, from parsers with the same two methods.

A framing cuts a byte stream into frames and knows nothing of what is inside them; a dialect's `StreamDecoder`
reads the frames and knows nothing of how they were cut. This file is the seam. The parsers themselves are
beside it (`sse.py`, `eventstream.py`, `ndjson.py`, `jsonarray.py`), and `framing.py` finds one by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.errors import WireError

__all__ = ["DEFAULT_MAX_BYTES", "FrameParser", "JsonFrame", "LateFailure", "WireFrame"]

DEFAULT_MAX_BYTES = 16 * 1024 * 1024
"""How much of one unfinished frame a parser holds (hardening S-07); what goes beyond is dropped and marked."""

_F = TypeVar("_F")


class WireFrame(Protocol):
    """One frame of any framing, as a `StreamDecoder` sees it."""

    @property
    def event(self) -> str:
        """The frame's type where the framing names one, else a constant of the framing."""

    @property
    def data(self) -> bytes:
        """The payload, ready for `orjson.loads` where the dialect speaks JSON."""

    @property
    def truncated(self) -> bool:
        """Whether the stream ended inside this frame: it is kept to be seen, not to be applied as a whole one."""

    @property
    def oversize(self) -> bool:
        """Whether the frame was larger than the parser's bound and only its beginning is here."""


class FrameParser(Protocol):
    """Bytes in, frames out, the same frames however the bytes are cut."""

    def feed(self, chunk: bytes, /) -> Sequence[WireFrame]:
        """Take the next bytes; give the frames they complete."""

    def close(self) -> Sequence[WireFrame]:
        """Say that the stream has ended; give what was left, marked."""


class JsonFrame(NamedTuple):
    """One JSON value as its raw bytes: a line of NDJSON, or an element of a JSON array."""

    data: bytes
    truncated: bool = False
    oversize: bool = False

    @property
    def event(self) -> str:
        """JSON framings do not name their frames."""
        return ""


class LateFailure:
    """How a parser fails: it first hands out every whole frame before the break, then raises.

    Raising at once would lose the good frames of the same chunk, and a reader who got smaller chunks would see
    more than one who got larger ones.
    """

    __slots__ = ("_failure", "_told")

    def __init__(self) -> None:
        """Begin without a failure."""
        self._failure: WireError | None = None
        self._told = False

    def _check(self) -> None:
        if self._failure is not None:
            self._told = True
            raise self._failure

    def _settle(self, frames: list[_F]) -> list[_F]:
        if not frames:
            self._check()
        return frames

    def _check_untold(self) -> None:
        """For `close()`: raise only what no `feed()` has raised before, so that closing after an error is safe."""
        if not self._told:
            self._check()
