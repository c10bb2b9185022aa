"""A recording to look into, whether it is a file or a session of a store: records by request, and the cooked form.

The cooked form is kept up to date while the recording grows: `refresh` reads and cooks what is new, and nothing else.
Opening one cooks it from the start, which costs little more than reading it (docs/explanation/performance.md).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import finalize

from weft import jsontext
from weft.errors import UnknownBookmarkError
from weft.store import Exchanges, FrameStore, SessionRow
from weft.threads import Store
from weft.trace.cooked import Cooked, CookedRequest, Place, Problem
from weft.trace.cooker import Cooker
from weft.trace.decoding import is_packed
from weft.trace.following import FileFollower
from weft.trace.keeping import find_exchange, find_session
from weft.trace.records import read_records

__all__ = ["Recording", "SessionRecording", "TraceFile", "find_recording", "recording_of", "recordings"]


class Recording(ABC):
    """Requests that were recorded together."""

    def __init__(self, name: str, *, format: str = "auto", links: bool = False) -> None:
        """Begin without having read anything."""
        self.name = name
        self._cooker = Cooker(format=format, links=links)
        self._cooked: Cooked | None = None
        self._by_id: dict[str, CookedRequest] = {}

    @abstractmethod
    def _new_lines(self) -> Iterator[tuple[Place, bytes]]:
        """Give the lines that were not given before."""

    @abstractmethod
    def line_at(self, place: Place) -> bytes:
        """Give the line of a record again."""

    @property
    def problems(self) -> list[Problem]:
        """What could not be read."""
        return self._cooker.problems

    def refresh(self) -> int:
        """Cook what is new; give how many requests that were."""
        before = len(self._cooker)
        for place, line in self._new_lines():
            self._cooker.add(line, place)
        if len(self._cooker) != before:
            self._cooked = None
        return len(self._cooker) - before

    def cooked(self) -> Cooked:
        """Give the cooked form as of the last `refresh`."""
        if self._cooked is None:
            self._cooked = self._cooker.cooked()
            self._by_id = {request.id: request for request in self._cooked.requests}
        return self._cooked

    def request(self, text: str) -> CookedRequest:
        """Find a request by its id, or the beginning of it."""
        requests = self.cooked().requests
        if text in self._by_id:
            return self._by_id[text]
        near = [request for request in requests if request.id.startswith(text)] if len(text) >= 2 else []
        if len(near) == 1:
            return near[0]
        if near:
            listed = ", ".join(request.id for request in near[:4])
            raise UnknownBookmarkError(f"{text!r} is the beginning of more than one request: {listed}")
        raise UnknownBookmarkError(f"no request of {self.name} is called {text!r}\n  see all: weft trace ls")

    def line(self, request: CookedRequest) -> bytes:
        """Give the record of a request, as it is written."""
        assert request.place is not None  # noqa: S101  # every request here came from a line
        return self.line_at(request.place)

    def record(self, request: CookedRequest) -> dict[str, Any]:
        """Give the record of a request."""
        record: dict[str, Any] = jsontext.loads(self.line(request))
        return record


class SessionRecording(Recording):
    """A session of a store. Several readers may follow it while a proxy records."""

    def __init__(self, frames: FrameStore, session: SessionRow, *, format: str = "auto", links: bool = False) -> None:
        """Look at one session."""
        super().__init__(session.id, format=format, links=links)
        self.session = session
        self._exchanges = Exchanges(frames)
        self._last = 0

    def _new_lines(self) -> Iterator[tuple[Place, bytes]]:
        while rows := self._exchanges.rows(self.session.number, after=self._last, limit=256):
            for row, line in zip(rows, self._exchanges.lines(rows), strict=True):
                self._last = row.number
                yield Place(self.name, row.number, 0, len(line)), line

    def line_at(self, place: Place) -> bytes:
        """Give the line of a record again."""
        rows = self._exchanges.numbered([place.line])
        if not rows:
            raise UnknownBookmarkError(f"exchange {place.line} of session {self.name} was removed")
        return next(self._exchanges.lines(rows))


class TraceFile(Recording):
    """A trace file, plain or in zstd, or a JSON list of records."""

    def __init__(self, path: str | os.PathLike[str], *, format: str = "auto", links: bool = False) -> None:
        """Look at one file."""
        super().__init__(os.fspath(path), format=format, links=links)
        self.path = Path(path)
        self._follower = FileFollower(self.path) if is_packed(self.path) else None
        self._next = 0  # where what is not read yet begins
        self._count = 0
        self._spool: IO[bytes] | None = None  # lines of a file in which they have no place of their own
        self.torn: Problem | None = None  # a last line that is not whole, or not yet

    def _new_lines(self) -> Iterator[tuple[Place, bytes]]:
        self.torn = None
        if self._follower is not None:
            for line in self._follower.poll():
                self._count += 1
                yield self._spooled(line, self._count), line
            if self._follower.problem:
                self.torn = Problem(Place(self.name, self._count + 1), self._follower.problem, torn=True)
            return
        before = self._count
        if self._spool is not None or (self._next and self.path.stat().st_size <= self._next):
            return  # one JSON value does not grow
        for place, line in read_records(self.path, self._report, offset=self._next):
            number = before + place.line
            if not place.size:
                yield self._spooled(line, number), line
                continue
            self._count, self._next = number, place.offset + place.size
            yield Place(self.name, number, place.offset, place.size), line

    def _spooled(self, line: bytes, number: int) -> Place:
        """Put a line where it can be read again: unpacking or parsing a file for each of its records takes for ever."""
        if self._spool is None:
            self._spool = TemporaryFile()  # noqa: SIM115
            finalize(self, self._spool.close)
        at = self._spool.seek(0, os.SEEK_END)
        self._spool.write(line)
        return Place(self.name, number, at, len(line))

    def _report(self, problem: Problem) -> None:
        if problem.torn:
            self.torn = problem
        else:
            self.problems.append(problem)

    def line_at(self, place: Place) -> bytes:
        """Give the line of a record again, from its place."""
        if self._spool is not None:
            self._spool.seek(place.offset)
            return self._spool.read(place.size)
        with self.path.open("rb") as file:
            file.seek(place.offset)
            return file.read(place.size)


def recordings(store: Store) -> list[SessionRecording]:
    """List the recorded sessions of a store, oldest first; none is read yet."""
    return [SessionRecording(store.frames, session) for session in Exchanges(store.frames).sessions()]


def find_recording(store: Store, text: str | None) -> SessionRecording:
    """Find a recorded session by the beginning of its id; without one, the newest."""
    return SessionRecording(store.frames, find_session(Exchanges(store.frames), text))


def recording_of(store: Store, request: str) -> SessionRecording | None:
    """Find the session that a request was recorded in, by the request's id or the beginning of it."""
    exchanges = Exchanges(store.frames)
    row = find_exchange(exchanges, request)
    if row is None:
        return None
    return next(
        SessionRecording(store.frames, session) for session in exchanges.sessions() if session.number == row.session
    )
