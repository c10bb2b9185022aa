"""A capture: an exchange while it is under way, and the record it becomes.

The traffic's side calls `request_data`, `response_head`, `response_data`, `frame` and `end`; each keeps a reference to
bytes that are there anyway and returns. Everything that takes time (decoding, masking, parsing, writing) happens on the
recorder's side, in its own threads: `drain` gives what has arrived since the last time, cleaned.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from weft.trace.exchange import Exchange, Reason, new_exchange_id, timestamp_now
from weft.trace.masking import Masker
from weft.trace.record import record_line
from weft.trace.strand import Strand

if TYPE_CHECKING:
    from pathlib import Path

    from weft.trace.recorder import Recorder

__all__ = ["FRAME", "REQUEST", "RESPONSE", "Capture", "Keep", "Meta"]

REQUEST, RESPONSE, FRAME = 0, 1, 2
Keep = Callable[[bytes, str], Mapping[str, Any]]
"""Keeps bytes of a media type that a JSON text cannot hold, and gives the reference to write instead."""


@dataclass(slots=True)
class Meta:
    """What is known of an exchange besides its bodies. Holds no secret: it is written as it is."""

    id: str = field(default_factory=new_exchange_id)
    timestamp: str = field(default_factory=timestamp_now)
    duration_ms: int = 0
    method: str = "POST"
    path: str = "/"
    status: int | None = None
    provider: str | None = None
    turn_id: str | None = None
    key_id: str | None = None
    request_type: str = ""
    request_encoding: str = ""
    response_type: str = ""
    response_encoding: str = ""
    reason: Reason | None = None
    error: str | None = None
    drained: bool = False
    notes: list[str] = field(default_factory=list)


class Capture:
    """One exchange being recorded."""

    __slots__ = (
        "_arrived",
        "_ended",
        "_limit",
        "_recorder",
        "_redacts",
        "_seen",
        "_started",
        "_strands",
        "backlog",
        "drained_bytes",
        "frames",
        "is_counted_lost",
        "is_lost",
        "is_sealed",
        "kept_bytes",
        "lock",
        "masker",
        "meta",
        "part",
        "request_body",
        "response_body",
    )

    def __init__(
        self, meta: Meta, masker: Masker, recorder: Recorder | None, *, limit_bytes: int, redacts: bool = False
    ) -> None:
        """Begin. A capture without a recorder is one read back from a journal."""
        self.meta = meta
        self.masker = masker
        self.kept_bytes = 0  # taken from the traffic and not yet drained
        self.is_lost = False  # something of it is missing because recording could not keep up
        self.is_counted_lost = False
        self.is_sealed = False  # nothing more will be drained
        self.drained_bytes = 0  # of those kept, drained and still in memory
        self.lock = threading.Lock()  # between the recorder's threads; the traffic never waits for it
        self.part: Path | None = None  # the journal's file of it, if it lasted long enough to have one
        self.backlog: list[tuple[int, Any]] = []  # drained, and not yet taken by the journal
        self.request_body = b""  # decoded and masked, once it is finished
        self.response_body = b""
        self.frames: list[Mapping[str, Any]] = []
        self._arrived: deque[tuple[int, bytes, int]] = deque()
        self._strands: list[Strand | None] = [None, None]
        self._started = perf_counter()
        self._recorder = recorder
        self._limit = limit_bytes
        self._seen = [0, 0]  # bytes taken of each direction
        self._redacts = redacts
        self._ended = False

    def __repr__(self) -> str:
        return f"<Capture {self.meta.id} {self.meta.method} {self.meta.path}>"

    @property
    def id(self) -> str:
        """Name the exchange."""
        return self.meta.id

    @property
    def age_seconds(self) -> float:
        """Tell how long ago it began."""
        return perf_counter() - self._started

    @property
    def is_ended(self) -> bool:
        """Tell whether the traffic is done with it."""
        return self._ended

    # -- the traffic's side ----------------------------------------------------------------------------------------

    def request_data(self, data: bytes) -> None:
        """Take a piece of the request's body."""
        self._take(REQUEST, data, 0)

    def response_head(self, status: int, media_type: str, encoding: str) -> None:
        """Take the response's beginning."""
        meta = self.meta
        meta.status, meta.response_type, meta.response_encoding = status, media_type, encoding

    def response_data(self, data: bytes) -> None:
        """Take a piece of the response's body."""
        self._take(RESPONSE, data, 0)

    def frame(self, *, from_client: bool, is_text: bool, payload: bytes) -> None:
        """Take a WebSocket message."""
        elapsed_ms = int((perf_counter() - self._started) * 1000)
        self._take(FRAME, payload, elapsed_ms * 4 + from_client * 2 + is_text)

    def note(self, text: str) -> None:
        """Say something about it that a reader should know."""
        self.meta.notes.append(text)

    def end(self, reason: Reason | None = None, error: str | None = None, *, drained: bool = False) -> None:
        """Finish: complete, or incomplete for a reason. Only the first call counts."""
        if self._ended:
            return
        meta = self.meta
        meta.duration_ms = int((perf_counter() - self._started) * 1000)
        meta.reason, meta.drained = reason, drained
        meta.error = self.masker.mask(error.encode()).decode() if error else None
        self._ended = True
        if self._recorder is not None:
            self._recorder.finished(self)

    def discard(self) -> None:
        """Finish without a record: it turned out to be nothing that is recorded [C-8]."""
        if not self._ended:
            self._ended = True
            if self._recorder is not None:
                self._recorder.discarded(self)

    def _take(self, kind: int, data: bytes, mark: int) -> None:
        if self._ended or self.is_lost or not data:
            return
        if kind != FRAME:
            seen, limit = self._seen[kind], self._limit
            if seen + len(data) > limit:
                if seen > limit:
                    return
                data = data[: limit - seen + 1]  # one byte too many, by which the strand sees that there was more
            self._seen[kind] = seen + len(data)
        recorder = self._recorder
        if recorder is not None and not recorder.admit(self, len(data)):
            self.is_lost = True
            self.note("recording could not keep up: the rest is missing")
            return
        self._arrived.append((kind, data, mark))

    # -- the recorder's side (with the lock held) --------------------------------------------------------------------

    def drain(self, *, is_last: bool = False) -> tuple[int, list[tuple[int, Any]]]:
        """Give the number of bytes that arrived since the last time, and what of them may be written now."""
        arrived = self._arrived
        pieces: list[list[bytes]] = [[], []]
        frames: list[tuple[int, Any]] = []
        taken = 0
        while arrived:
            kind, data, mark = arrived.popleft()
            taken += len(data)
            if kind == FRAME:
                frames.append((FRAME, self._frame(data, mark)))
            else:
                pieces[kind].append(data)
        clean: list[tuple[int, Any]] = []
        for kind in (REQUEST, RESPONSE):
            if pieces[kind] or (is_last and self._strands[kind] is not None):
                got = pieces[kind]
                data = self._strand(kind).feed(got[0] if len(got) == 1 else b"".join(got), is_last=is_last)
                if data:
                    clean.append((kind, data))
        if is_last:
            for kind, name in ((REQUEST, "request"), (RESPONSE, "response")):
                if (strand := self._strands[kind]) is not None:
                    self.meta.notes += [f"{name}: {note}" for note in strand.notes]
        return taken, clean + frames

    def absorb(self, clean: list[tuple[int, Any]]) -> None:
        """Take cleaned pieces as the bodies: of a capture that never went through the journal, or back from it."""
        for kind, data in clean:
            if kind == REQUEST:
                self.request_body = self.request_body + data if self.request_body else data
            elif kind == RESPONSE:
                self.response_body = self.response_body + data if self.response_body else data
            else:
                self.frames.append(data)

    def as_pieces(self) -> list[tuple[int, Any]]:
        """Give the bodies as `absorb` takes them."""
        pieces: list[tuple[int, Any]] = [(FRAME, frame) for frame in self.frames]
        if self.request_body:
            pieces.append((REQUEST, self.request_body))
        if self.response_body:
            pieces.append((RESPONSE, self.response_body))
        return pieces

    def line(self, keep: Keep | None = None) -> bytes:
        """Give the record as one line of JSON, its end included."""
        return record_line(self.meta, self.request_body, self.response_body, self.frames, keep)

    def exchange(self, keep: Keep | None = None) -> Exchange:
        """Give the record as a value."""
        from weft.jsontext import loads  # noqa: PLC0415

        return Exchange.from_record(loads(self.line(keep)))

    def _strand(self, kind: int) -> Strand:
        strand = self._strands[kind]
        if strand is None:
            encoding = self.meta.request_encoding if kind == REQUEST else self.meta.response_encoding
            strand = self._strands[kind] = Strand(self.masker, encoding, self._limit, redacts=self._redacts)
        return strand

    def _frame(self, data: bytes, mark: int) -> dict[str, Any]:
        frame: dict[str, Any] = {"from": "client" if mark & 2 else "server", "ms": mark >> 2}
        data = self.masker.mask(data)
        try:
            text = data.decode("utf-8") if mark & 1 else None
        except UnicodeDecodeError:
            text = None
        if text is not None:
            if self._redacts:
                from weft.secrets import redact_text  # noqa: PLC0415

                text = redact_text(text)
            frame["text"] = text
        else:
            from base64 import b64encode  # noqa: PLC0415

            frame["base64"] = b64encode(data).decode()
        return frame
