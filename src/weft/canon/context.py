"""Context: a conversation as one value.

Every method gives back a new Context and leaves the old one as it was, unless `inplace=True` asks otherwise;
all Contexts of one chain share one blob store [M-11, M-12].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, final, overload

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import serde
from weft.canon.part import Message, Part, Role
from weft.canon.usage import Cursor, Usage
from weft.closed import closed

__all__ = ["Context"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_EMPTY_CURSOR = Cursor()
_set = object.__setattr__


class _OpenContext:
    """The slots of a Context, before it is closed (see weft.canon.part for why)."""

    __slots__ = ("blob_store", "cursor", "messages", "usage_log")


@closed
@final
@dataclass(frozen=True, slots=True)
class Context(_OpenContext):
    """Messages, oldest first, with the cursor, the usage of each call and the store of their blobs."""

    messages: tuple[Message, ...] = ()
    cursor: Cursor = _EMPTY_CURSOR
    usage_log: tuple[Usage, ...] = ()
    blob_store: BlobStore = field(default_factory=InMemoryBlobStore)

    __hash__ = None  # type: ignore[assignment]  # a Context can change in place, so it is no key [M-10]

    if TYPE_CHECKING:  # what may be given is wider than what is kept

        def __init__(
            self,
            messages: Iterable[Message] = (),
            cursor: Cursor = _EMPTY_CURSOR,
            usage_log: Iterable[Usage] = (),
            blob_store: BlobStore = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Take messages and usage as tuples of the right things [M-6]."""
        _set(self, "messages", _tuple_of(self.messages, Message, "Context.messages"))
        _set(self, "usage_log", _tuple_of(self.usage_log, Usage, "Context.usage_log"))
        if not isinstance(self.cursor, Cursor):
            raise TypeError(f"Context.cursor must be a Cursor, not {type(self.cursor).__name__}")

    @overload
    def append(self, message: Message, *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def append(self, message: Message, *, inplace: Literal[True]) -> None: ...
    @overload
    def append(self, message: Message, *, inplace: bool) -> Context | None: ...
    def append(self, message: Message, *, inplace: bool = False) -> Context | None:
        """Add one message."""
        if type(message) is not Message:
            raise TypeError(f"Context.append takes a Message, not {type(message).__name__}")
        return self._add(message, inplace)

    @overload
    def extend(self, messages: Iterable[Message], *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def extend(self, messages: Iterable[Message], *, inplace: Literal[True]) -> None: ...
    @overload
    def extend(self, messages: Iterable[Message], *, inplace: bool) -> Context | None: ...
    def extend(self, messages: Iterable[Message], *, inplace: bool = False) -> Context | None:
        """Add messages in order."""
        added = _tuple_of(messages, Message, "messages")
        return self._next((*self.messages, *added), self.cursor, self.usage_log, inplace)

    @overload
    def user(self, content: str | Part | Sequence[Part], *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def user(self, content: str | Part | Sequence[Part], *, inplace: Literal[True]) -> None: ...
    @overload
    def user(self, content: str | Part | Sequence[Part], *, inplace: bool) -> Context | None: ...
    def user(self, content: str | Part | Sequence[Part], *, inplace: bool = False) -> Context | None:
        """Add a user message."""
        return self._say("user", content, inplace)

    @overload
    def assistant(self, content: str | Part | Sequence[Part], *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def assistant(self, content: str | Part | Sequence[Part], *, inplace: Literal[True]) -> None: ...
    @overload
    def assistant(self, content: str | Part | Sequence[Part], *, inplace: bool) -> Context | None: ...
    def assistant(self, content: str | Part | Sequence[Part], *, inplace: bool = False) -> Context | None:
        """Add an assistant message."""
        return self._say("assistant", content, inplace)

    @overload
    def with_cursor(self, cursor: Cursor, *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def with_cursor(self, cursor: Cursor, *, inplace: Literal[True]) -> None: ...
    @overload
    def with_cursor(self, cursor: Cursor, *, inplace: bool) -> Context | None: ...
    def with_cursor(self, cursor: Cursor, *, inplace: bool = False) -> Context | None:
        """Put another cursor in place of this one."""
        if not isinstance(cursor, Cursor):
            raise TypeError(f"Context.with_cursor takes a Cursor, not {type(cursor).__name__}")
        return self._next(self.messages, cursor, self.usage_log, inplace)

    @overload
    def with_usage(self, usage: Usage, *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def with_usage(self, usage: Usage, *, inplace: Literal[True]) -> None: ...
    @overload
    def with_usage(self, usage: Usage, *, inplace: bool) -> Context | None: ...
    def with_usage(self, usage: Usage, *, inplace: bool = False) -> Context | None:
        """Add what a call used."""
        if not isinstance(usage, Usage):
            raise TypeError(f"Context.with_usage takes a Usage, not {type(usage).__name__}")
        return self._next(self.messages, self.cursor, (*self.usage_log, usage), inplace)

    @overload
    def clear(self, *, inplace: Literal[False] = False) -> Context: ...
    @overload
    def clear(self, *, inplace: Literal[True]) -> None: ...
    @overload
    def clear(self, *, inplace: bool) -> Context | None: ...
    def clear(self, *, inplace: bool = False) -> Context | None:
        """Forget messages, cursor and usage; the blob store stays."""
        return self._next((), _EMPTY_CURSOR, (), inplace)

    def clone(self) -> Context:
        """Give an equal Context on the same store."""
        return self._new(self.messages, self.cursor, self.usage_log)

    def pipe(self, func: Callable[Concatenate[Context, _P], _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call `func` with this Context first: for chains that read left to right."""
        return func(self, *args, **kwargs)

    def last(self, *, role: Role | None = None) -> Message | None:
        """Give the newest message, or the newest of one role."""
        for message in reversed(self.messages):
            if role is None or message.role == role:
                return message
        return None

    def __len__(self) -> int:
        """Count the messages."""
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        """Go through the messages, oldest first."""
        return iter(self.messages)

    def to_dict(self, *, include_blob_payloads: bool = False) -> dict[str, Any]:
        """Write the conversation as plain JSON containers, with the blobs' bytes if asked [M-14 to M-16]."""
        store = self.blob_store if include_blob_payloads else None
        return serde.context_to_dict(self.messages, self.cursor, self.usage_log, store)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], *, blob_store: BlobStore | None = None) -> Context:
        """Read what `to_dict` wrote; what does not fit is named by its path [M-17 to M-20]."""
        messages, cursor, usage_log, payloads = serde.context_from_dict(value, has_store=blob_store is not None)
        if payloads is not None:
            blob_store = InMemoryBlobStore.from_preloaded(payloads)
        return cls(messages, cursor, usage_log, InMemoryBlobStore() if blob_store is None else blob_store)

    def _say(self, role: Role, content: str | Part | Sequence[Part], inplace: bool) -> Context | None:
        return self._add(Message(role, _parts_of(content)), inplace)

    def _add(self, message: Message, inplace: bool) -> Context | None:
        messages = self.messages + (message,)  # noqa: RUF005 - a star would copy them twice
        if not inplace:
            return self._new(messages, self.cursor, self.usage_log)
        _set(self, "messages", messages)
        return None

    def _next(
        self, messages: tuple[Message, ...], cursor: Cursor, usage_log: tuple[Usage, ...], inplace: bool
    ) -> Context | None:
        if not inplace:
            return self._new(messages, cursor, usage_log)
        _set(self, "messages", messages)
        _set(self, "cursor", cursor)
        _set(self, "usage_log", usage_log)
        return None

    def _new(self, messages: tuple[Message, ...], cursor: Cursor, usage_log: tuple[Usage, ...]) -> Context:
        """Build from what has been checked already: looking at every message again would make a chain quadratic."""
        context: Any = _OpenContext()
        context.messages = messages
        context.cursor = cursor
        context.usage_log = usage_log
        context.blob_store = self.blob_store
        context.__class__ = Context
        return context  # type: ignore[no-any-return]  # it is a Context since the line above


_T = TypeVar("_T")


def _tuple_of(values: Iterable[_T], kind: type[_T], name: str) -> tuple[_T, ...]:
    if type(values) is not list and (isinstance(values, (str, bytes)) or not isinstance(values, Iterable)):
        raise TypeError(f"{name} must be a sequence of {kind.__name__}s, not {type(values).__name__}")
    taken = tuple(values)
    for value in taken:
        if type(value) is not kind and not isinstance(value, kind):  # asked twice, as the first answer is the cheaper
            index = next(index for index, value in enumerate(taken) if not isinstance(value, kind))
            raise TypeError(f"{name}[{index}] must be a {kind.__name__}, not {type(taken[index]).__name__}")
    return taken


def _parts_of(content: str | Part | Sequence[Part]) -> tuple[Part, ...]:
    """Read the content of a message: text, one Part, or several [M-13]."""
    if isinstance(content, str):
        return (Part("text", content),)
    if isinstance(content, Part):
        return (content,)
    return _tuple_of(content, Part, "content")
