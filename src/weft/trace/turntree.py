"""The tree of turns that imported requests are, as far as it is known: looked up once, then remembered.

A request is walked down along the turns that are there, and what is missing of it is added. What it said besides its
messages holds at its last turn; where that turn is another request's, at a silent turn below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft import jsontext
from weft.store import (
    JSON_TYPE,
    TURN,
    Draft,
    FrameStore,
    FrameWriter,
    Standing,
    capture_of,
    keep_capture,
    payload_is_there,
    silent,
    standing,
)
from weft.trace.asked import Asked, Said, hash_of

__all__ = ["REQUEST_TOPIC", "ImportedRequest", "TurnTree"]

REQUEST_TOPIC = "weft.request"  # frames whose payload is what a request said besides its messages
_UNSAID: Mapping[str, Any] = {"request": None, "marks": [], "forms": []}  # what holds where nothing is said
_CAPTURED = tuple(_UNSAID)


@dataclass(frozen=True, slots=True)
class ImportedRequest:
    """What became of one record: the turn it ends in, and how many turns were new."""

    line: int
    id: str
    turn_id: str | None = None
    new_turns: int = 0
    problem: str | None = None  # why it was not imported


@dataclass(frozen=True, slots=True)
class _Place:
    """A turn that is there, and the captured options that hold at it."""

    seq: int
    id: str
    options: Mapping[str, Any]


_NOWHERE = _Place(0, "", {})


class TurnTree:
    """The tree as far as it is known: looked up once, then remembered."""

    def __init__(self, echoes: Mapping[bytes, Said], now_ms: int) -> None:
        self._echoes, self._now_ms = echoes, now_ms
        self._below: dict[tuple[int, str, bytes, bytes], list[_Place]] = {}
        self._answers: dict[str, _Place] = {}  # by the provider's id of the response
        self._specs: set[bytes] = set()
        self._known: list[str] = []  # turns of requests that were imported before
        self._is_sound = True  # everything remembered is on disk

    def known(self, store: FrameStore, line: int, name: str, digest: bytes) -> ImportedRequest | None:
        """Give the turn of a request that was imported before, with the same content."""
        for found, turn_id in capture_of(store, name):
            if found == digest:
                self._known.append(turn_id)
                return ImportedRequest(line, name, turn_id)
        return None

    def _recall(self, writer: FrameWriter) -> None:
        """Learn which answers the turns of known requests are, for a request that names one."""
        frames = [frame for frame in writer.frames(self._known) if frame is not None]
        spots = writer.spots([frame.id for frame in frames])
        self._known.clear()
        for frame, spot in zip(frames, spots, strict=True):
            message = frame.meta.get("message")
            name = message.get("id") if isinstance(message, Mapping) else None
            if isinstance(name, str) and spot is not None:
                # What holds at it is not looked up: whoever continues it says everything anew.
                self._answers.setdefault(name, _Place(spot.seq, spot.id, dict.fromkeys(_CAPTURED)))

    def keep(self, store: FrameStore, batch: Sequence[Asked]) -> list[ImportedRequest]:
        """Write what is new of some requests, all of it or nothing."""
        answers = dict(self._answers)

        def work(writer: FrameWriter) -> list[ImportedRequest]:
            if not self._is_sound:  # a try before this one came to nothing
                self._below, self._specs, self._answers = {}, set(), dict(answers)
            self._is_sound = False
            return self._write(writer, batch)

        done = store.write(work)
        self._is_sound = True
        return done

    def _write(self, writer: FrameWriter, batch: Sequence[Asked]) -> list[ImportedRequest]:
        done = []
        for at, asked in enumerate(batch):
            end, new = self._follow(writer, asked)
            keep_capture(writer, asked.id, asked.digest, end.id, self._now_ms + at)
            if asked.answer_id is not None:
                self._answers[asked.answer_id] = end
            done.append(ImportedRequest(asked.line, asked.id, end.id, new))
        return done

    def _follow(self, writer: FrameWriter, asked: Asked) -> tuple[_Place, int]:
        """Walk down the tree along a request's turns, adding those that are not there."""
        if asked.follows and asked.follows not in self._answers and self._known:
            self._recall(writer)
        place = self._answers.get(asked.follows, _NOWHERE) if asked.follows else _NOWHERE
        turns, new, so_far = list(asked.turns), 0, b""
        for said in turns:
            so_far = hash_of(so_far, said)
        if asked.answer is not None:
            echo = self._echoes.get(hash_of(so_far, asked.answer))
            turns.append(_as_echoed(asked.answer, echo) if echo is not None else asked.answer)
        for number, said in enumerate(turns):
            wanted = asked.options if number == len(turns) - 1 else None
            found = self._find(writer, place, said, wanted)
            if found is None:
                found, new = self._add(writer, place, said, wanted, asked), new + 1
            place = found
        if not _holds(place, asked.options):  # the turn is another request's, or somebody's: say it beside it
            found = self._find_silent(writer, place, asked.options)
            if found is None:
                found, new = self._add_silent(writer, place, asked), new + 1
            place = found
        return place, new

    def _find(self, writer: FrameWriter, above: _Place, said: Said, wanted: Mapping[str, Any] | None) -> _Place | None:
        shape = jsontext.dumps(_shape(said.extra))
        key = above.seq, said.role, said.digest, shape
        places = self._below.get(key)
        if places is None:
            rows = standing(writer, above.seq or None, said.role, said.digest)
            fitting = [row for row in rows if _shape_of(row) == shape]
            places = self._below[key] = [_Place(row.seq, row.id, _resolved(above, row.options)) for row in fitting]
        if wanted is not None:
            return next((place for place in places if _holds(place, wanted)), None)
        return places[0] if places else None

    def _add(
        self, writer: FrameWriter, above: _Place, said: Said, wanted: Mapping[str, Any] | None, asked: Asked
    ) -> _Place:
        options = self._delta(writer, above, wanted, asked)
        meta: dict[str, Any] = {"role": said.role, "content_type": JSON_TYPE, "options": options}
        parents = writer.spots_at([above.seq]) if above.seq else []
        if parents and parents[0].head is not None and parents[0].head_is_kept:
            meta["head"] = parents[0].head
        meta["continues"] = [spot.id for spot in parents]
        if said.cache:
            meta["cache"] = True
        meta.update(said.extra)
        turn_id, seq, _ = writer.append(Draft(TURN, meta, said.payload, parents))
        place = _Place(seq, turn_id, {**above.options, **options})
        key = above.seq, said.role, said.digest, jsontext.dumps(_shape(said.extra))
        self._below.setdefault(key, []).append(place)
        return place

    def _find_silent(self, writer: FrameWriter, above: _Place, wanted: Mapping[str, Any]) -> _Place | None:
        for row in silent(writer, above.seq):
            place = _Place(row.seq, row.id, _resolved(above, row.options))
            if _holds(place, wanted):
                return place
        return None

    def _add_silent(self, writer: FrameWriter, above: _Place, asked: Asked) -> _Place:
        options = self._delta(writer, above, asked.options, asked)
        meta = {"role": "user", "options": options, "continues": [above.id]}
        turn_id, seq, _ = writer.append(Draft(TURN, meta, None, writer.spots_at([above.seq])))
        return _Place(seq, turn_id, {**above.options, **options})

    def _delta(
        self, writer: FrameWriter, above: _Place, wanted: Mapping[str, Any] | None, asked: Asked
    ) -> dict[str, Any]:
        """Give the captured options that do not hold above; the spec they name is kept, once."""
        if wanted is None:
            return {}
        options = {key: value for key, value in wanted.items() if above.options.get(key, _UNSAID[key]) != value}
        if "request" in options:
            digest = hashlib.sha256(asked.spec).digest()
            if digest not in self._specs:
                if not payload_is_there(writer, digest):
                    writer.append(Draft(REQUEST_TOPIC, {"content_type": JSON_TYPE}, asked.spec))
                self._specs.add(digest)
        return options


def _holds(place: _Place, wanted: Mapping[str, Any]) -> bool:
    return all(place.options.get(key, _UNSAID[key]) == wanted[key] for key in _CAPTURED)


def _resolved(above: _Place, options: str | None) -> Mapping[str, Any]:
    if options is None:
        return above.options
    own = jsontext.loads(options)
    return {**above.options, **{key: own[key] for key in _CAPTURED if key in own}}


def _shape(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Give what tells turns of equal content apart: whose it is, and how it is annotated."""
    message = extra.get("message")
    shape: dict[str, Any] = {"provider": message.get("provider") if isinstance(message, Mapping) else None}
    if "annotation" in extra:
        shape["annotation"] = extra["annotation"]
    return shape


def _shape_of(row: Standing) -> bytes:
    return jsontext.dumps(_shape(jsontext.loads(row.extra) if row.extra else {}))


def _as_echoed(answer: Said, echo: Said) -> Said:
    """Write an answer as its client sends it back, so that the next request finds it; what was said of it stays."""
    message = {**answer.extra.get("message", {}), **echo.extra.get("message", {})}
    own = {key: value for key, value in answer.extra.items() if key != "annotation"}
    extra = {**own, **echo.extra, "message": message}
    return Said("assistant", echo.payload, echo.digest, echo.means, extra, echo.cache)
