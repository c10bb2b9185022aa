"""Part: one block of content. Message: a role and its parts.

Both are made by the thousand, so they are built in a way a frozen dataclass cannot be: fields are assigned on an
open twin with the same slots, which then takes the closed class. That is a quarter of the cost of assigning
through `object.__setattr__` (see docs/explanation/performance.md), and what comes out is an ordinary frozen,
slotted dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, Self, TypeVar, final

from weft.blobs import BlobReference
from weft.canon.freezing import Frozen, freeze, freeze_mapping, thaw
from weft.closed import closed

__all__ = ["ROLES", "Message", "Part", "Role", "frozen_part", "remembered"]

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: frozenset[str] = frozenset({"system", "developer", "user", "assistant", "tool"})

_T = TypeVar("_T")

_now = datetime.now


class _OpenPart:
    """The slots of a Part, before it is closed."""

    __slots__ = (
        "_memo",
        "blob",
        "json",
        "provider_raw",
        "text",
        "tool_args",
        "tool_call_id",
        "tool_name",
        "tool_output",
        "type",
    )


@closed
@final
@dataclass(frozen=True, slots=True, init=False)
class Part(_OpenPart):
    """One block of content.

    `type` is open; usual values are text, json, image, audio, video, file, tool_call, tool_result, thinking,
    compaction, refusal, provider (a block only its provider understands) and annotation (attributes of the
    message, never content). `provider_raw` keeps the provider's own block for exact round trips.
    """

    type: str
    text: str | None = None
    json: Mapping[str, Any] | None = None
    blob: BlobReference | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_args: Mapping[str, Any] | None = None
    tool_output: Any = None
    provider_raw: Mapping[str, Any] | None = None

    def __new__(
        cls,
        type: str,
        text: str | None = None,
        json: Mapping[str, Any] | None = None,
        blob: BlobReference | None = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        tool_args: Mapping[str, Any] | None = None,
        tool_output: Any = None,
        provider_raw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Take the fields as given and freeze the ones that could change [M-3]."""
        part: Any = _OpenPart()
        part.type = type
        part.text = text
        part.json = None if json is None else freeze_mapping(json, "Part.json")
        part.blob = blob
        part.tool_call_id = tool_call_id
        part.tool_name = tool_name
        if tool_output is None or tool_output.__class__ is str:
            part.tool_output = tool_output
        else:
            part.tool_output = freeze(tool_output, "Part.tool_output")
        if provider_raw is None:
            part.tool_args = None if tool_args is None else freeze_mapping(tool_args, "Part.tool_args")
            part.provider_raw = None
        else:
            part.provider_raw = raw = freeze_mapping(provider_raw, "Part.provider_raw")
            part.tool_args = None if tool_args is None else _freeze_beside(raw, provider_raw, tool_args)
        part.__class__ = cls
        return part  # type: ignore[no-any-return]  # it is a `cls` since the line above

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by building anew: proxies cannot be pickled."""
        return Part, (
            self.type,
            self.text,
            thaw(self.json),
            self.blob,
            self.tool_call_id,
            self.tool_name,
            thaw(self.tool_args),
            thaw(self.tool_output),
            thaw(self.provider_raw),
        )


def _freeze_beside(raw: Frozen, provider_raw: Mapping[str, Any], tool_args: Mapping[str, Any]) -> Frozen:
    """Freeze a call's arguments, or share them with `raw`, the provider's block just frozen, if that is their home."""
    if type(tool_args) is dict and len(raw) == len(provider_raw):  # shorter if two keys have one name
        for key, value in provider_raw.items():
            if value is tool_args and type(key) is str:
                shared: Frozen = raw[key]
                return shared
    return freeze_mapping(tool_args, "Part.tool_args")


def frozen_part(
    type: str,
    text: str | None = None,
    *,
    json: Frozen | None = None,
    blob: BlobReference | None = None,
    tool_call_id: str | None = None,
    tool_name: str | None = None,
    tool_args: Frozen | None = None,
    tool_output: Any = None,
    provider_raw: Frozen | None = None,
) -> Part:
    """Build a Part from values that are frozen already and shared with no one who could change them."""
    part: Any = _OpenPart()
    part.type = type
    part.text = text
    part.json = json
    part.blob = blob
    part.tool_call_id = tool_call_id
    part.tool_name = tool_name
    part.tool_args = tool_args
    part.tool_output = tool_output
    part.provider_raw = provider_raw
    part.__class__ = Part
    return part  # type: ignore[no-any-return]  # it is a Part since the line above


class _OpenMessage:
    """The slots of a Message, before it is closed."""

    __slots__ = ("_memo", "id", "parts", "provider", "role", "timestamp", "turn_id")


@closed
@final
@dataclass(frozen=True, slots=True, init=False)
class Message(_OpenMessage):
    """A role and its parts. `id` is the provider's name for it, `turn_id` the stored turn it came from."""

    role: Role
    parts: tuple[Part, ...]
    id: str | None = None
    provider: str | None = None
    turn_id: str | None = None
    timestamp: datetime = field(default_factory=partial(_now, UTC))

    def __new__(
        cls,
        role: Role,
        parts: Iterable[Part],
        id: str | None = None,
        provider: str | None = None,
        turn_id: str | None = None,
        timestamp: datetime | None = None,
    ) -> Self:
        """Take the parts as a tuple; without a timestamp, the message is of now."""
        if type(parts) is not tuple:
            parts = tuple(parts) if type(parts) is list else _tuple_of_parts(parts)
        for part in parts:
            if type(part) is not Part:
                index = next(index for index, part in enumerate(parts) if type(part) is not Part)
                raise TypeError(f"Message.parts[{index}] must be a Part, not {type(part).__name__}")
        message: Any = _OpenMessage()
        message.role = role
        message.parts = parts
        message.id = id
        message.provider = provider
        message.turn_id = turn_id
        message.timestamp = _now(UTC) if timestamp is None else timestamp
        message.__class__ = cls
        return message  # type: ignore[no-any-return]  # it is a `cls` since the line above

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by building anew."""
        return Message, (self.role, self.parts, self.id, self.provider, self.turn_id, self.timestamp)


def _tuple_of_parts(parts: object) -> tuple[Part, ...]:
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
        raise TypeError(f"Message.parts must be a sequence of Parts, not {type(parts).__name__}")
    return tuple(parts)


def remembered(value: Any, make: Callable[[Any], _T]) -> _T:
    """Give what `make` says of a part, message or spec, asking it once: none can change, and all are resent for ever.

    There is one such place in each: a part keeps its arguments' text, a message what `plan` asks of every message, a
    spec its tools as they were written.
    """
    try:
        return value._memo  # type: ignore[no-any-return]  # noqa: SLF001 - the slot is for this
    except AttributeError:
        made = make(value)
        object.__setattr__(value, "_memo", made)
        return made
