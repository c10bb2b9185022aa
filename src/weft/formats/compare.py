"""What differs between two transcripts, by place, and whether an account of losses explains all of it.

Entries are lined up by what they say, so one that is missing does not make all after it different. Ids are compared as
what they point at: a format that has no ids changes no shape. An id that is a number is a place, not a name. What a
format adds for itself, notes beside an entry and lines around them, changes nothing of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, NamedTuple

from weft.canon import Entry, Part, Session, Transcript, Usage, session_to_dict, thaw
from weft.formats.ledger import Loss
from weft.jsontext import dumps

_WHOLE = re.compile(r"entries\[(\d+)\]")
_PART_FIELDS = ("type", "text", "json", "tool_call_id", "tool_name", "tool_args", "tool_output", "provider_raw")
_BLOB_FIELDS = ("sha256", "media_type", "kind", "size")

__all__ = [
    "Difference",
    "alike",
    "differences",
    "entry_differences",
    "gist",
    "session_differences",
    "unaccounted",
]


class Difference(NamedTuple):
    """A place, what it held, and what it holds now."""

    place: str
    before: Any
    after: Any


def unaccounted(before: Transcript, after: Transcript, losses: Iterable[Loss]) -> list[Difference]:
    """Give the differences that no loss names: the place itself, or something it is in.

    Entries that the account says are gone, or became several, are lined up as such.
    """
    given = list(losses)
    places = {loss.place for loss in given}
    whole = {int(found[1]): loss.fate for loss in given if (found := _WHOLE.fullmatch(loss.place))}
    counts = {at: 0 if fate == "lost" else _results(before.entries[at]) for at, fate in whole.items()}
    best: list[Difference] = []
    for lengths in (None, counts):
        best = [
            each
            for each in differences(before, after, lengths)
            if not any(_covers(place, each.place) for place in places)
        ]
        if not best:
            break
    return best


def _results(entry: Entry) -> int:
    """Count the messages an entry is where each tool result is one of its own."""
    kinds = [part.type for part in entry.message.parts if part.type != "annotation"]
    results = kinds.count("tool_result")
    return max(1, results + (len(kinds) > results)) if results > 1 else 1


def _covers(place: str, inner: str) -> bool:
    return inner == place or (inner.startswith(place) and inner[len(place)] in ".[")


def differences(before: Transcript, after: Transcript, counts: Mapping[int, int] | None = None) -> Iterator[Difference]:
    """Give what differs, field by field. `counts` says of entries how many they have become, none or several."""
    yield from session_differences(before.session, after.session)
    twins = yield from _entries(before, after, counts or {})
    yield from _shape(before, after, twins)
    strays = [(stray.format, stray.text) for stray in after.strays]
    for number, stray in enumerate(before.strays):
        if (stray.format, stray.text) in strays:
            strays.remove((stray.format, stray.text))
        else:
            yield Difference(f"strays[{number}]", stray.text, None)


def session_differences(before: Session, after: Session) -> Iterator[Difference]:
    """Compare what is said of the whole."""
    one, other = session_to_dict(before), session_to_dict(after)
    for key in dict.fromkeys((*one, *other)):
        yield from _fields(f"session.{key}", one.get(key), other.get(key))


def _entries(
    before: Transcript, after: Transcript, counts: Mapping[int, int]
) -> Generator[Difference, None, dict[int, int]]:
    """Line the entries up and compare those that belong together; return which do, by index."""
    there = [index for index in range(len(before.entries)) for _ in range(counts.get(index, 1))]
    twins: dict[int, int] = {}
    if len(there) == len(after.entries):  # nothing is missing, so each is what it became
        for i, (index, other) in enumerate(zip(there, after.entries, strict=True)):
            twins[index] = i
            yield from entry_differences(f"entries[{index}]", before.entries[index], other)
        return twins
    left, right = [gist(before.entries[index]) for index in there], [gist(entry) for entry in after.entries]
    steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for tag, i1, i2, j1, j2 in steps:
        if i2 - i1 == j2 - j1:
            for i, j in zip(there[i1:i2], range(j1, j2), strict=True):
                twins[i] = j  # of several, the last: it is the one that is continued
                yield from entry_differences(f"entries[{i}]", before.entries[i], after.entries[j])
            continue
        for i in range(i1, i2):
            yield Difference(f"entries[{there[i]}]", left[i], None)
        if tag == "insert":
            yield Difference("entries", None, f"{j2 - j1} more at [{j1}]")
    return twins


def gist(entry: Entry) -> bytes:
    """Give what entries are lined up by: what an entry says, without what is said about it."""
    parts = [
        [part.type, part.text, part.tool_call_id, part.tool_name, part.tool_args, part.tool_output]
        for part in _spoken(entry)
    ]
    return dumps([entry.message.role, parts])


def alike(one: Entry, other: Entry) -> bool:
    """Tell whether two entries have the same gist."""
    if one.message.role != other.message.role:
        return False
    mine, theirs = _spoken(one), _spoken(other)
    return len(mine) == len(theirs) and all(map(_are_alike, mine, theirs))


def _spoken(entry: Entry) -> list[Part]:
    # Without what many formats leave out: attributes, and reasoning, which only its maker takes back.
    return [part for part in entry.message.parts if part.type not in ("annotation", "thinking")]


def _are_alike(one: Part, other: Part) -> bool:
    return (
        one.type == other.type
        and one.text == other.text
        and one.tool_call_id == other.tool_call_id
        and one.tool_name == other.tool_name
        and _same(one.tool_args, other.tool_args)
        and _same(one.tool_output, other.tool_output)
    )


def entry_differences(place: str, before: Entry, after: Entry) -> Iterator[Difference]:
    """Compare two entries but for what they continue. Most of both is the same, so only what differs is written out."""
    if before.id != after.id and not before.id.isdecimal():
        yield Difference(f"{place}.id", before.id, after.id)
    one, other = before.message, after.message
    if one.role != other.role:
        yield Difference(f"{place}.message.role", one.role, other.role)
    yield from _parts(f"{place}.message.parts", one.parts, other.parts)
    for name in ("id", "provider", "turn_id"):
        if (said := getattr(one, name)) != (found := getattr(other, name)):
            yield Difference(f"{place}.message.{name}", said, found)
    if one.timestamp != other.timestamp:
        yield from _fields(f"{place}.message.timestamp", _said_time(before), _said_time(after))
    for name in ("model", "finish_reason"):
        if (said := getattr(before, name)) != (found := getattr(after, name)):
            yield Difference(f"{place}.{name}", said, found)
    if before.usage is not after.usage and not _is_same_usage(before.usage, after.usage):
        yield from _fields(f"{place}.usage", _said_usage(before.usage), _said_usage(after.usage))
    if before.plain_extras is not None and after.plain_extras is not None:
        yield from _notes(f"{place}.extras", before.plain_extras, after.plain_extras)
    else:
        yield from _notes(f"{place}.extras", before.extras, after.extras)


def _parts(place: str, before: Sequence[Part], after: Sequence[Part]) -> Iterator[Difference]:
    if len(before) + 1 == len(after) and _is_own_note(after[-1]):
        after = after[:-1]
    if len(before) != len(after):
        yield Difference(place, [part.type for part in before], [part.type for part in after])
        return
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        for name in _PART_FIELDS:
            said, found = getattr(one, name), getattr(other, name)
            if said is not found and not _same(said, found):
                if name == "provider_raw":  # what another provider says in its own words is one thing to lose
                    yield Difference(f"{place}[{index}].{name}", said or None, found or None)
                else:
                    yield from _fields(f"{place}[{index}].{name}", thaw(said), thaw(found))
        if one.blob is not other.blob and _blob(one) != _blob(other):
            yield from _fields(f"{place}[{index}].blob", _blob(one), _blob(other))


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON: 1, 1.0 and true are three."""
    kind = one.__class__
    if kind is not other.__class__:
        return False
    if kind is MappingProxyType or kind is dict:
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if kind is tuple or kind is list:
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _is_own_note(part: Part) -> bool:
    """Tell whether a part says no more than how a dialect spelt the message."""
    return part.type == "annotation" and part.json is not None and part.json.keys() == {"extra"}


def _blob(part: Part) -> dict[str, Any] | None:
    """Give a blob by its digest, for its id is the store's."""
    return None if part.blob is None else {name: getattr(part.blob, name) for name in _BLOB_FIELDS}


def _said_time(entry: Entry) -> str | None:
    return None if entry.timestamp is None else entry.timestamp.isoformat()


def _is_same_usage(one: Usage | None, other: Usage | None) -> bool:
    return (
        one is not None
        and other is not None
        and one.input_tokens == other.input_tokens
        and one.output_tokens == other.output_tokens
        and one.total_tokens == other.total_tokens
        and _same(one.provider_usage, other.provider_usage)
    )


def _said_usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    counts = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "total_tokens")}
    return {**counts, "provider_usage": thaw(usage.provider_usage)}


def _shape(before: Transcript, after: Transcript, twins: Mapping[int, int]) -> Iterator[Difference]:
    """Compare what points where: parents, heads, the current entry."""
    mine = {entry.id: index for index, entry in enumerate(before.entries)}
    other = {entry.id: index for index, entry in enumerate(after.entries)}
    for i, j in twins.items():
        given = before.entries[i].parent_ids
        parents = [twins.get(mine[parent], "gone") if parent in mine else parent for parent in given]
        found = [other.get(parent, parent) for parent in after.entries[j].parent_ids]
        if parents != found:
            yield Difference(f"entries[{i}].parent_ids", parents, found)
    for name, target in before.heads.items():
        there = after.heads.get(name)
        if there is None or twins.get(mine[target]) != other[there]:
            yield Difference(f"heads[{name!r}]", target, there)
    for name in after.heads.keys() - before.heads.keys():
        yield Difference("heads", None, name)
    current = None if before.current is None else twins.get(mine[before.current])
    if current != (None if after.current is None else other[after.current]):
        yield Difference("current", before.current, after.current)


def _fields(place: str, before: Any, after: Any) -> Iterator[Difference]:
    """Compare two values of plain data, as deep as they go."""
    if place == "session.extras":
        yield from _notes(place, before or {}, after or {})
        return
    if before.__class__ is dict or after.__class__ is dict:
        before, after = ({} if side is None else side for side in (before, after))
        if not before or not after:  # gone, or new: one thing, whatever is in it
            if before or after:
                yield Difference(place, before or None, after or None)
            return
    if place.endswith(".provider_usage"):  # likewise
        if not _same(before, after):
            yield Difference(place, before, after)
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _fields(f"{place}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _fields(f"{place}[{index}]", one, other)
    elif before.__class__ is not after.__class__ or before != after:
        yield Difference(place, before, after)


def _notes(place: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Compare what formats say beside the rest: one difference a format, and what one adds of its own is none."""
    for name, said in before.items():
        if said != after.get(name):
            yield Difference(f"{place}.{name}", said, after.get(name))
