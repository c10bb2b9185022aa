"""Recorded requests as turns: prefixes stored once, forks as branches, each request with a name to continue from.

Every message becomes a turn, found again if it is there already below the same turns. A request ends in the turn of its
answer. What else it said (tools, settings: the RunSpec) is content of its own, kept once and named by `options.request`
of that turn; where its cache marks were and how the client spelled it are small options beside it. So continuing the
turn sends what the captured program would have sent, to the same provider or any other (`weft.trace.continuing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft import jsontext
from weft.canon import Message, thaw
from weft.errors import UsageError, WeftError
from weft.store import (
    JSON_TYPE,
    TURN,
    Draft,
    FrameStore,
    FrameWriter,
    Standing,
    address_of,
    capture_of,
    keep_capture,
    payload_is_there,
    silent,
    standing,
)
from weft.threads import TurnDraft, turns_from_messages
from weft.trace.opened import Opened, error_of, open_record
from weft.wire import FAITHFUL, forms_of, message_from_reply, note_parts, take_off

__all__ = ["REQUEST_TOPIC", "ImportReport", "ImportedRequest", "import_exchanges"]

REQUEST_TOPIC = "weft.request"  # frames whose payload is what a request said besides its messages
UNNAMED = "?"  # stands for a model that the request leaves to its address
_BATCH = 64
_CHAINED = "previous_response_id"


@dataclass(frozen=True, slots=True)
class ImportedRequest:
    """What became of one record: the turn it ends in, and how many turns were new."""

    line: int
    id: str
    turn_id: str | None = None
    new_turns: int = 0
    problem: str | None = None  # why it was not imported


@dataclass(slots=True)
class ImportReport:
    """What became of all of them."""

    requests: list[ImportedRequest] = field(default_factory=list)

    @property
    def imported(self) -> int:
        """How many became turns, or were turns already."""
        return sum(one.turn_id is not None for one in self.requests)

    @property
    def new_turns(self) -> int:
        """How many turns were written."""
        return sum(one.new_turns for one in self.requests)

    @property
    def problems(self) -> list[ImportedRequest]:
        """Those that could not be imported."""
        return [one for one in self.requests if one.problem is not None]


@dataclass(slots=True)
class _Said:
    """One message as its turn will be."""

    role: str
    payload: bytes
    digest: bytes
    means: bytes  # equal for messages that say the same, however they are written
    extra: Mapping[str, Any]
    cache: bool


@dataclass(slots=True)
class _Asked:
    """One record on its way in."""

    line: int
    id: str
    turns: list[_Said]
    answer: _Said | None
    options: dict[str, Any]
    spec: bytes
    follows: str | None  # the response it continues, by the provider's memory
    answer_id: str | None
    digest: bytes


def import_exchanges(
    store: FrameStore, records: Iterable[Mapping[str, Any] | tuple[int, Mapping[str, Any]]], *, now_ms: int
) -> ImportReport:
    """Turn recorded requests into turns; those that are turns already are left as they are.

    A record may come with its line number. One that is no conversation is reported and left out.
    """
    report = ImportReport()
    asked: list[_Asked | ImportedRequest] = []
    memory = _Memory()
    writing = _Writing(memory.echoes, now_ms)
    for number, given in enumerate(records, 1):
        line, record = given if isinstance(given, tuple) else (number, given)
        name = record.get("id")
        name = name if isinstance(name, str) and name else f"r{line - 1}"
        try:
            digest = _digest(record)
            asked.append(writing.known(store, line, name, digest) or _asked(line, name, record, memory, digest))
        except (WeftError, RecursionError, ValueError) as error:
            why = error_of(record)
            asked.append(ImportedRequest(line, name, problem=f"{error}" + (f" ({why})" if why else "")))
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        todo = [one for one in part if isinstance(one, _Asked)]
        fresh = iter(writing.keep(store, todo) if todo else ())
        report.requests += [next(fresh) if isinstance(one, _Asked) else one for one in part]
    return report


def _digest(record: Mapping[str, Any]) -> bytes:
    """Hash what a request is imported by: if it is the same, there is nothing to do."""
    return hashlib.sha256(jsontext.dumps([record.get(key) for key in _IMPORTED])).digest()


_IMPORTED = ("request", "response", "provider", "path")


# -- reading -----------------------------------------------------------------------------------------------------------


class _Memory:
    """Messages met so far, each once; and how clients echo answers, by everything before and what it means."""

    def __init__(self) -> None:
        self._said: dict[tuple[Any, ...], _Said] = {}
        self.echoes: dict[bytes, _Said] = {}

    def said(self, draft: TurnDraft) -> _Said:
        payload = jsontext.dumps(draft.blocks)
        digest = hashlib.sha256(payload).digest()
        extra = {key: value for key, value in draft.extra.items() if key != "message"}
        provider = (draft.extra.get("message") or {}).get("provider")
        if provider is not None:
            extra["message"] = {"provider": provider}
        key = draft.role, digest, draft.cache, jsontext.dumps(extra)
        found = self._said.get(key)
        if found is None:
            means = _meaning(draft) if draft.role == "assistant" else digest
            found = self._said[key] = _Said(draft.role, payload, digest, means, extra, draft.cache)
        return found

    def listen(self, turns: Sequence[_Said]) -> bytes:
        """Note how the answers in a request are written; give the hash of all of it."""
        so_far = b""
        for said in turns:
            so_far = _hash(so_far, said)
            if said.role == "assistant":
                self.echoes.setdefault(so_far, said)
        return so_far


def _hash(before: bytes, said: _Said) -> bytes:
    return hashlib.blake2b(before + said.role.encode() + said.means, digest_size=16).digest()


def _meaning(draft: TurnDraft) -> bytes:
    """Hash what an answer says: its texts, and its calls; not its thinking, which few clients send back."""
    told: list[Any] = []
    for block in draft.blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                if text:
                    told.append(text)
            case {"type": "tool_use"}:
                told.append([block.get("id"), block.get("name"), block.get("input")])
            case {"type": "thinking" | "redacted_thinking"}:
                pass
            case _:
                told.append({key: value for key, value in block.items() if key not in ("provider_raw", "origin")})
    return hashlib.sha256(jsontext.dumps(told)).digest()


def _asked(line: int, name: str, record: Mapping[str, Any], memory: _Memory, digest: bytes) -> _Asked:
    body = record.get("request")
    if not isinstance(body, Mapping):
        raise UsageError("the request is no JSON object")
    clean, marks = take_off(body)
    opened = open_record({**record, "request": clean})
    drafts, lost = turns_from_messages(note_parts(opened.messages), opened.blobs)
    if lost:
        raise UsageError(f"{lost[0].description}: {lost[0].reason}")
    written = opened.dialect.encode_request(opened.messages, opened.spec, opened.blobs, FAITHFUL).body
    turns = [memory.said(draft) for draft in drafts]
    memory.listen(turns)
    answer, answer_id = _answer(opened, memory)
    if not turns and answer is None:
        raise UsageError("the request has no messages")
    follows = opened.spec.extra_body.get(_CHAINED)
    spec = opened.spec.to_dict()
    spec["model"] = spec["model"] or UNNAMED
    if isinstance(follows, str):
        spec["extra_body"].pop(_CHAINED)
    about = {"dialect": opened.dialect.name, "provider": record.get("provider"), "spec": spec}
    said = jsontext.dumps({key: value for key, value in about.items() if value is not None})
    options: dict[str, Any] = {"request": address_of(hashlib.sha256(said).digest())}
    options["marks"] = marks
    # As pairs: lists are replaced by later ones, objects would be merged with them [T-43].
    options["forms"] = [[key, value] for key, value in forms_of(clean, thaw(written)).items()]
    chained = follows if isinstance(follows, str) else None
    return _Asked(line, name, turns, answer, options, said, chained, answer_id, digest)


def _answer(opened: Opened, memory: _Memory) -> tuple[_Said | None, str | None]:
    """Give the answer as a turn, with what its provider said about it."""
    reply = opened.reply
    if reply is None or reply.message is None:
        return None, None
    heard = reply.message
    said = Message(
        heard.role, heard.parts, provider=opened.messages[-1].provider if opened.messages else heard.provider
    )
    drafts, lost = turns_from_messages([said], opened.blobs)
    if lost or len(drafts) != 1:
        return None, reply.id
    told = memory.said(drafts[0])
    about = message_from_reply(opened.dialect.name, reply, opened.blobs, model=opened.spec.model)
    about.pop("content", None)
    if reply.id is not None:
        about.setdefault("id", reply.id)
    extra = {**told.extra, "message": {**about, **told.extra.get("message", {})}}
    if not reply.finished:
        extra |= {"unfinished": True, "error": reply.notes[-1] if reply.notes else "the answer was cut short"}
    return _Said("assistant", told.payload, told.digest, told.means, extra, told.cache), reply.id


# -- writing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A turn that is there, and the captured options that hold at it."""

    seq: int
    id: str
    options: Mapping[str, Any]


_NOWHERE = _Place(0, "", {})
_CAPTURED = ("request", "marks", "forms")


class _Writing:
    """The tree as far as it is known: looked up once, then remembered."""

    def __init__(self, echoes: Mapping[bytes, _Said], now_ms: int) -> None:
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

    def keep(self, store: FrameStore, batch: Sequence[_Asked]) -> list[ImportedRequest]:
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

    def _write(self, writer: FrameWriter, batch: Sequence[_Asked]) -> list[ImportedRequest]:
        done = []
        for at, asked in enumerate(batch):
            end, new = self._follow(writer, asked)
            keep_capture(writer, asked.id, asked.digest, end.id, self._now_ms + at)
            if asked.answer_id is not None:
                self._answers[asked.answer_id] = end
            done.append(ImportedRequest(asked.line, asked.id, end.id, new))
        return done

    def _follow(self, writer: FrameWriter, asked: _Asked) -> tuple[_Place, int]:
        """Walk down the tree along a request's turns, adding those that are not there."""
        if asked.follows and asked.follows not in self._answers and self._known:
            self._recall(writer)
        place = self._answers.get(asked.follows, _NOWHERE) if asked.follows else _NOWHERE
        turns, new, so_far = list(asked.turns), 0, b""
        for said in turns:
            so_far = _hash(so_far, said)
        if asked.answer is not None:
            echo = self._echoes.get(_hash(so_far, asked.answer))
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

    def _find(self, writer: FrameWriter, above: _Place, said: _Said, wanted: Mapping[str, Any] | None) -> _Place | None:
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
        self, writer: FrameWriter, above: _Place, said: _Said, wanted: Mapping[str, Any] | None, asked: _Asked
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

    def _add_silent(self, writer: FrameWriter, above: _Place, asked: _Asked) -> _Place:
        options = self._delta(writer, above, asked.options, asked)
        meta = {"role": "user", "options": options, "continues": [above.id]}
        turn_id, seq, _ = writer.append(Draft(TURN, meta, None, writer.spots_at([above.seq])))
        return _Place(seq, turn_id, {**above.options, **options})

    def _delta(
        self, writer: FrameWriter, above: _Place, wanted: Mapping[str, Any] | None, asked: _Asked
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


_UNSAID: Mapping[str, Any] = {"request": None, "marks": [], "forms": []}


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


def _as_echoed(answer: _Said, echo: _Said) -> _Said:
    """Write an answer as its client sends it back, so that the next request finds it; what was said of it stays."""
    message = {**answer.extra.get("message", {}), **echo.extra.get("message", {})}
    own = {key: value for key, value in answer.extra.items() if key != "annotation"}
    extra = {**own, **echo.extra, "message": message}
    return _Said("assistant", echo.payload, echo.digest, echo.means, extra, echo.cache)
