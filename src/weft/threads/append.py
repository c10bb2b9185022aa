"""Adding a turn: what is stored for what was asked.

Everything that depends on other turns (parents, the newest turn, bookmarks) is looked up inside the write, so two
writers never decide on the same old state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weft import jsontext
from weft.errors import BookmarkConflictError, InvalidContentError, UsageError
from weft.ids import is_turn_id
from weft.store import JSON_TYPE, TURN, Columns, Draft, Flag, FrameReader, FrameWriter, Spot, address_of
from weft.threads.blocks import blocks_from
from weft.threads.headish import Headish, as_list, check_bookmark_name, find, find_all

__all__ = ["ROLES", "Addition", "Stored", "add", "addition_from", "check_move"]

ROLES = ("user", "assistant", "system")


@dataclass(slots=True)
class Addition:
    """One turn to add: its payload, and what was said about it."""

    payload: bytes | None
    role: str = "user"
    continues: Sequence[Headish] = ()
    respond: bool = False
    options: dict[str, Any] | None = field(default_factory=dict)
    bookmark: str | None = None
    cache: bool = False
    move_bookmark: bool = False
    content_type: str | None = JSON_TYPE
    extra: Mapping[str, Any] | None = None
    is_linked: bool = True  # False for documents, which have no `continues` at all


class Stored(NamedTuple):
    """What add-turn gives back [T-22], and the turn's sequence number."""

    id: str
    hash: str | None
    meta: dict[str, Any]
    seq: int


def addition_from(
    content: Any,
    *,
    continues: Headish | Sequence[Headish] | None = None,
    respond: bool | None = None,
    servers: Sequence[str] | None = None,
    search: bool | None = None,
    bookmark: str | None = None,
    provider_ptr: str | None = None,
    tool_mode: str | None = None,
    json: bool | None = None,
    cache: bool | None = None,
    role: str | None = None,
    move_bookmark: bool | None = None,
    **unknown: Any,
) -> Addition:
    """Check add-turn's content and parameters, and bring them together."""
    if unknown:
        raise UsageError(f"unknown parameters: {', '.join(sorted(unknown))}")
    if role is not None and role not in ROLES:
        raise UsageError(f"role is one of {', '.join(ROLES)}, not {role!r}")
    if json or content.__class__ is not str:
        content = blocks_from(content, is_json=_flag(json, "json"))
    else:
        content = ({"type": "text", "text": content},)
    try:
        payload = jsontext.dumps(content)
    except (TypeError, ValueError) as error:
        raise InvalidContentError(f"invalid content: it cannot be written as JSON ({error})") from error
    options = (
        {}
        if servers is None and search is None and provider_ptr is None and tool_mode is None
        else _options(servers, search, provider_ptr=provider_ptr, tool_mode=tool_mode)
    )
    return Addition(
        payload,
        role or "user",
        () if continues is None else (continues,) if isinstance(continues, str) else as_list(continues),
        _flag(respond, "respond"),
        options,
        None if bookmark is None else check_bookmark_name(bookmark),
        _flag(cache, "cache"),
        _flag(move_bookmark, "move_bookmark"),
    )


def _options(servers: Any, search: Any, **texts: Any) -> dict[str, Any]:
    """Collect the options that were given; an explicit False or [] turns an inherited one off [T-17]."""
    options: dict[str, Any] = {}
    if servers is not None:
        if not isinstance(servers, (list, tuple)) or not all(isinstance(name, str) for name in servers):
            raise UsageError("servers is a list of names")
        options["servers"] = list(servers)
    if search is not None:
        options["search"] = _flag(search, "search")
    for name, value in texts.items():
        if value is not None:
            if not isinstance(value, str):
                raise UsageError(f"{name} is a text, not {type(value).__name__}")
            options[name] = value
    return options


def _flag(value: Any, name: str) -> bool:
    if value is None or value is False:
        return False
    if value is True:
        return True
    raise UsageError(f"{name} is true or false, not {value!r}")


def add(writer: FrameWriter, turn: Addition) -> Stored:
    """Append a turn inside a write."""
    parents = _parents(writer, turn)
    head = turn.bookmark
    if head is not None:
        check_move(writer, head, parents, may_move=turn.move_bookmark)
    elif parents:
        head = _inherited(writer, turn, parents[-1])
    meta: dict[str, Any] = {"role": turn.role}
    if turn.content_type is not None:
        meta["content_type"] = turn.content_type
    if turn.options is not None:
        meta["options"] = turn.options
    if head is not None:
        meta["head"] = head
    if turn.is_linked:
        meta["continues"] = [parent.id for parent in parents]
    if turn.cache:
        meta["cache"] = True
    columns = None
    if turn.extra:
        meta.update(turn.extra)
    elif turn.content_type == JSON_TYPE and turn.is_linked and turn.options is not None:
        # Nearly every turn: its columns are known here and need not be worked out from the meta.
        flags = Flag.JSON | Flag.CACHE if turn.cache else Flag.JSON
        options = jsontext.dumps_text(turn.options) if turn.options else None
        columns = Columns(turn.role, options, head, flags, None)
    turn_id, seq, digest = writer.append(Draft(TURN, meta, turn.payload, parents, (), None, columns))
    return Stored(turn_id, address_of(digest), meta, seq)


def _inherited(writer: FrameReader, turn: Addition, last: Spot) -> str | None:
    """Give the bookmark of the last entry of `continues`; only that entry is asked [T-23].

    A turn may have got a second name by hand (`set_bookmark`); then the one it was called by is the one carried on.
    """
    name = turn.continues[-1] if turn.continues and not turn.respond else ""
    if name and not is_turn_id(name):
        # It may also be a recorded request's name, which nothing carries on, or that of a turn listed before.
        holder = None if name == last.head else writer.bookmark_spot(name)
        if name == last.head or (holder is not None and holder.seq == last.seq):
            return name
    return last.head if last.head_is_kept else None


def _parents(writer: FrameReader, turn: Addition) -> list[Spot]:
    headishes = turn.continues
    if turn.respond:
        latest = writer.latest_turn_id()
        if latest is None:
            raise UsageError("there is nothing to respond to: the store has no turns yet")
        headishes = [*headishes, latest]
    if not headishes:
        return []
    if len(headishes) == 1:
        return [find(writer, headishes[0])]
    spots = find_all(writer, headishes)
    return list({spot.seq: spot for spot in spots}.values())  # the first place of each is kept [T-19]


def check_move(writer: FrameReader, name: str, parents: Sequence[Spot], *, may_move: bool) -> None:
    """Refuse to take a name away from another branch, unless that is what was asked for [T-26]."""
    if may_move:
        return
    holder = writer.bookmark_spot(name)
    if holder is None or writer.descends([parent.seq for parent in parents], holder.seq):
        return
    raise BookmarkConflictError(
        f"bookmark {name!r} is on turn {holder.id}, which this turn does not continue; "
        "choose another name, or say move_bookmark to take it along"
    )
