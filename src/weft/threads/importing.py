"""Bringing in what was said elsewhere: messages as a chain of turns, and whole frames with their own ids.

Messages are matched against what is stored: an agent that resends its whole history with every request finds all of it
there, and only what is new is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import Message
from weft.errors import BlobIntegrityError, BookmarkConflictError, InvalidContentError, UsageError
from weft.ids import content_address, is_turn_id, normal_id
from weft.store import JSON_TYPE, TURN, Draft, FrameReader, FrameStore, FrameWriter, Spot
from weft.threads.append import ROLES, check_move
from weft.threads.blocks import blocks_from
from weft.threads.bookmarks import point
from weft.threads.convert import TurnDraft, turns_from_messages
from weft.threads.headish import Headish, check_bookmark_name, find

__all__ = ["Chain", "add_chain", "continues_of", "import_frames", "import_messages", "joined", "prepared", "stored"]

_LAST_ID = "f5lxx1zz5epymff6c7g53tq0w"  # of the last millisecond but one that an id can name, in the year 10889


def import_messages(
    store: FrameStore,
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    parent: Headish | None = None,
    blobs: BlobStore | None = None,
    bookmark: str | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
) -> list[str]:
    """Store messages as a chain after `parent`; give the turn ids of all of them, found or new.

    A turn that is there already is used again if it has the same parent, role and content, and nothing else to say.
    `facts` has for each message what its turn is to say in `meta.message` (model, usage); that does not count there.
    """
    if bookmark is not None:
        check_bookmark_name(bookmark)
    chain = prepared(messages, blobs, facts)
    if bookmark is None and (known := stored(store, chain, parent)) is not None:
        return known
    return store.write(lambda writer: add_chain(writer, chain, parent, bookmark))


class Chain(NamedTuple):
    """Messages made ready: what each turn is to hold, and what those that may be there already are found by."""

    drafts: Sequence[TurnDraft]
    payloads: Sequence[bytes]
    wanted: Sequence[tuple[str, bytes]]


def prepared(
    messages: Iterable[Message | Mapping[str, Any]],
    blobs: BlobStore | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
) -> Chain:
    """Make messages ready to be stored, which may take long, before the store is asked to wait."""
    drafts = _drafts(list(messages), blobs)
    for draft, said in zip(drafts, facts or (), strict=facts is not None):
        if said:
            draft.extra["message"] = {**draft.extra.get("message", {}), **said}
    payloads = [jsontext.dumps(draft.blocks) for draft in drafts]
    wanted = [(draft.role, hashlib.sha256(payload).digest()) for draft, payload in zip(drafts, payloads, strict=True)]
    for index, draft in enumerate(drafts):
        if draft.cache or draft.extra.keys() - {"message", "annotation"}:
            wanted = wanted[:index]  # such a turn says more than its content, so it is never taken for another
            break
    return Chain(drafts, payloads, wanted)


def joined(chains: Iterable[Chain]) -> Chain:
    """Put chains one after the other."""
    drafts: list[TurnDraft] = []
    payloads: list[bytes] = []
    wanted: list[tuple[str, bytes]] = []
    for chain in chains:
        if len(wanted) == len(drafts):  # else what comes is after one that is never taken for another
            wanted += chain.wanted
        drafts += chain.drafts
        payloads += chain.payloads
    return Chain(drafts, payloads, wanted)


def stored(reader: FrameReader, chain: Chain, parent: Headish | None = None) -> list[str] | None:
    """Give the turns of a chain if all of them are there, after `parent`; else None."""
    known = reader.matching_chain(None if parent is None else find(reader, parent).seq, chain.wanted)
    if len(known) < len(chain.drafts):
        return None
    there = _alike(reader, reader.spots_at(known), chain.drafts)
    return [spot.id for spot in there] if len(there) == len(chain.drafts) else None


def add_chain(
    writer: FrameWriter, chain: Chain, parent: Headish | None = None, bookmark: str | None = None
) -> list[str]:
    """Write what is not there yet of a chain; give the turn ids of all of it."""
    start = None if parent is None else find(writer, parent)
    found = writer.matching_chain(None if start is None else start.seq, chain.wanted)
    above = _alike(writer, writer.spots_at(found), chain.drafts)
    ids = [spot.id for spot in above]
    last: Spot | None = above[-1] if above else start
    for number in range(len(ids), len(chain.drafts)):
        draft = chain.drafts[number]
        parents = [] if last is None else [last]
        meta: dict[str, Any] = {"role": draft.role, "content_type": JSON_TYPE, "options": {}}
        head = last.head if last is not None and last.head_is_kept else None
        if number == len(chain.drafts) - 1 and bookmark is not None:
            check_move(writer, bookmark, parents, may_move=False)
            head = bookmark
        if head is not None:
            meta["head"] = head
        meta["continues"] = [spot.id for spot in parents]
        if draft.cache:
            meta["cache"] = True
        meta.update(draft.extra)
        turn_id, _, _ = writer.append(Draft(TURN, meta, chain.payloads[number], parents))
        ids.append(turn_id)
        last = writer.spots([turn_id])[0]
    if bookmark is not None and last is not None and last.head != bookmark:
        holder = writer.bookmark_spot(bookmark)
        if holder is not None and holder.seq != last.seq:
            raise BookmarkConflictError(f"bookmark {bookmark!r} is on turn {holder.id}, another branch")
        point(writer, bookmark, last.seq, last.id)
    return ids


def _alike(reader: FrameReader, spots: Sequence[Spot], drafts: Sequence[TurnDraft]) -> list[Spot]:
    """Give the turns up to the first whose annotation is another than the one that is to be stored."""
    alike: list[Spot] = []
    for spot, draft in zip(spots, drafts, strict=False):
        if "annotation" in draft.extra:
            frame = reader.frames([spot.id])[0]
            if frame is None or frame.meta.get("annotation") != draft.extra["annotation"]:
                break
        alike.append(spot)
    return alike


def _drafts(messages: Sequence[Message | Mapping[str, Any]], blobs: BlobStore | None) -> list[TurnDraft]:
    canonical = [message for message in messages if isinstance(message, Message)]
    if len(canonical) == len(messages):
        drafts, excluded = turns_from_messages(canonical, blobs)
        if excluded:
            raise UsageError(f"{excluded[0].description}: {excluded[0].reason}")
        return drafts
    if canonical:
        raise UsageError("messages are Messages or records with role and content, not both")
    return [_draft(message) for message in messages]


def _draft(record: Any) -> TurnDraft:
    if not isinstance(record, Mapping):
        raise UsageError(f"messages are Messages or records with role and content, not {type(record).__name__}")
    role = record.get("role", "user")
    if role not in ROLES:
        raise UsageError(f"role is one of {', '.join(ROLES)}, not {role!r}")
    draft = TurnDraft(role)
    content = record.get("content")
    draft.blocks = blocks_from(content, is_json=not isinstance(content, str))
    draft.cache = record.get("cache") is True
    return draft


# -- whole frames --------------------------------------------------------------------------------------------------


def import_frames(store: FrameStore, frames: Iterable[tuple[Mapping[str, Any], bytes | None]]) -> int:
    """Take in frames of another store with their ids and their payloads; give how many were new.

    Nothing is required of them but an id: parents may be missing or come later, bookmarks may stand in `continues`,
    circles are possible. What leads nowhere is linked as soon as what it names arrives.
    """
    checked: dict[str, tuple[dict[str, Any], bytes | None]] = {}
    for given, payload in frames:
        frame = _checked(given, payload)
        checked.setdefault(frame["id"], (frame, payload))  # the first of an id is the one, as in the store

    def write(writer: FrameWriter) -> int:
        known = writer.frames(list(checked))
        count = 0
        for (frame, payload), there in zip(checked.values(), known, strict=True):
            if there is not None:
                continue
            entries = continues_of(frame["meta"], frame["id"]) if frame["topic"] == TURN else []
            writer.append(Draft(frame["topic"], frame["meta"], payload, (), list(enumerate(entries)), id=frame["id"]))
            count += 1
        if count:
            writer.note("out_of_order", "1")
            _relink(writer)
        return count

    return store.write(write)


def continues_of(meta: Mapping[str, Any], frame_id: str) -> list[str]:
    """Read `continues` in any of its three forms [T-13]."""
    value = meta.get("continues")
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return list(value)
    raise InvalidContentError(f"turn {frame_id}: the value of continues is invalid: {value!r}")


def _checked(frame: Mapping[str, Any], payload: bytes | None) -> dict[str, Any]:
    frame_id, topic, meta = frame.get("id"), frame.get("topic"), frame.get("meta")
    if not isinstance(frame_id, str) or not is_turn_id(frame_id):
        raise UsageError(f"a frame's id has 25 letters and digits, not {frame_id!r}")
    if normal_id(frame_id) > _LAST_ID:
        raise UsageError(f"frame {frame_id}: no id would be left for turns after it")
    if not isinstance(topic, str) or not topic:
        raise UsageError(f"frame {frame_id} has no topic")
    if meta is not None and not isinstance(meta, Mapping):
        raise UsageError(f"frame {frame_id}: meta is {type(meta).__name__}, not an object")
    address = frame.get("hash")
    if address is not None and payload is None:
        raise UsageError(f"frame {frame_id}: its content ({address}) is not given with it")
    if address is not None and payload is not None and address != content_address(payload):
        raise BlobIntegrityError(f"of frame {frame_id}", str(address), content_address(payload))
    return {"id": normal_id(frame_id), "topic": topic, "meta": dict(meta or {})}


def _relink(writer: FrameWriter) -> None:
    """Lead every entry that leads nowhere to its turn, if that is there now; names as of the referring turn [T-34]."""
    links = writer.unresolved()
    if not links:
        return
    referring = {spot.seq: spot for spot in writer.spots_at(sorted({link.child for link in links}))}
    for link in links:
        ref = link.ref or ""
        if is_turn_id(ref):
            found = writer.spots([normal_id(ref)])[0]
        else:
            found = writer.bookmark_spot(ref, before_id=referring[link.child].id)
        if found is not None:
            writer.relink(link._replace(parent=found.seq))
