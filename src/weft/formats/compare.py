"""What differs between two transcripts, by place, and whether an account of losses explains all of it.

Entries are lined up by what they say, so one that is missing does not make all after it different. Ids are compared as
what they point at: a format that has no ids changes no shape. An id that is a number is a place, not a name. What a
format adds for itself, notes beside an entry and lines around them, changes nothing of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from weft.canon import Entry, Transcript, entry_to_dict, session_to_dict
from weft.formats.ledger import Loss
from weft.jsontext import dumps

_EXTRAS = re.compile(r"session\.extras|entries\[\d+\]\.extras")
_WHOLE = re.compile(r"entries\[(\d+)\]")

__all__ = ["Difference", "differences", "unaccounted"]


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
    yield from _fields("session", session_to_dict(before.session), session_to_dict(after.session))
    twins = yield from _entries(before, after, counts or {})
    yield from _shape(before, after, twins)
    strays = [(stray.format, stray.text) for stray in after.strays]
    for number, stray in enumerate(before.strays):
        if (stray.format, stray.text) in strays:
            strays.remove((stray.format, stray.text))
        else:
            yield Difference(f"strays[{number}]", stray.text, None)


def _entries(
    before: Transcript, after: Transcript, counts: Mapping[int, int]
) -> Generator[Difference, None, dict[int, int]]:
    """Line the entries up and compare those that belong together; return which do, by index."""
    there = [index for index in range(len(before.entries)) for _ in range(counts.get(index, 1))]
    left, right = [_key(before.entries[index]) for index in there], [_key(entry) for entry in after.entries]
    twins: dict[int, int] = {}
    if len(left) == len(right):  # nothing is missing, so each is what it became
        steps = [("replace", 0, len(left), 0, len(right))]
    else:
        steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()  # type: ignore[assignment]
    for tag, i1, i2, j1, j2 in steps:
        if i2 - i1 == j2 - j1:
            for i, j in zip(there[i1:i2], range(j1, j2), strict=True):
                twins[i] = j  # of several, the last: it is the one that is continued
                yield from _entry(f"entries[{i}]", before.entries[i], after.entries[j])
            continue
        for i in range(i1, i2):
            yield Difference(f"entries[{there[i]}]", left[i], None)
        if tag == "insert":
            yield Difference("entries", None, f"{j2 - j1} more at [{j1}]")
    return twins


def _key(entry: Entry) -> bytes:
    said = _said(entry)
    # Without what many formats leave out: attributes, and reasoning, which only its maker takes back.
    parts = [part for part in said["message"]["parts"] if part["type"] not in ("annotation", "thinking")]
    return dumps([said["message"].get("role"), [_gist(part) for part in parts]])


def _gist(part: Mapping[str, Any]) -> Any:
    """Give what a part says, without what is said about it."""
    return [part.get(key) for key in ("type", "text", "tool_call_id", "tool_name", "tool_args", "tool_output")]


def _said(entry: Entry) -> dict[str, Any]:
    """Give an entry as plain data; a blob by its digest, for its id is the store's."""
    said = entry_to_dict(entry)
    for part in said["message"]["parts"]:
        if "blob" in part:
            del part["blob"]["id"]
    return said


def _entry(place: str, before: Entry, after: Entry) -> Iterator[Difference]:
    one, other = _said(before), _said(after)
    for said in (one, other):
        said.pop("parent_ids", None)
    if before.id.isdecimal():
        one.pop("id")
        other.pop("id")
    yield from _fields(place, one, other)


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
    if _EXTRAS.fullmatch(place):
        yield from _notes(place, before or {}, after or {})
        return
    if before.__class__ is dict or after.__class__ is dict:
        before, after = ({} if side is None else side for side in (before, after))
    if isinstance(before, dict) and isinstance(after, dict) and (before or after):
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
