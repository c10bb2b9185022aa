"""The methods of a Context (model.md section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import assistant, text, thinking, user
from weft.canon import Context, Cursor, Message, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

A, B = user("a"), assistant("b")
CHANGES: list[tuple[str, Callable[..., Any]]] = [
    ("append", lambda context, **how: context.append(B, **how)),
    ("extend", lambda context, **how: context.extend([B, A], **how)),
    ("extend with nothing", lambda context, **how: context.extend([], **how)),
    ("with_cursor", lambda context, **how: context.with_cursor(Cursor("r2"), **how)),
    ("with_usage", lambda context, **how: context.with_usage(Usage(1, 2, 3), **how)),
    ("clear", lambda context, **how: context.clear(**how)),
]
EXPECTED: dict[str, tuple[Any, ...]] = {
    "append": ((A, B), Cursor("r1"), (Usage(9),)),
    "extend": ((A, B, A), Cursor("r1"), (Usage(9),)),
    "extend with nothing": ((A,), Cursor("r1"), (Usage(9),)),
    "with_cursor": ((A,), Cursor("r2"), (Usage(9),)),
    "with_usage": ((A,), Cursor("r1"), (Usage(9), Usage(1, 2, 3))),
    "clear": ((), Cursor(), ()),
}


def a_context() -> Context:
    return Context((A,), Cursor("r1"), (Usage(9),))


def contents(context: Context) -> tuple[Any, ...]:
    return context.messages, context.cursor, context.usage_log


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=[name for name, _ in CHANGES])
def test_a_change_gives_a_new_context_and_leaves_the_old_one(name: str, change: Callable[..., Any]) -> None:
    """M-11: and M-12, the store is shared along the chain."""
    context = a_context()

    changed = change(context)

    assert contents(changed) == EXPECTED[name]
    assert contents(context) == contents(a_context())
    assert changed is not context
    assert changed.blob_store is context.blob_store


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=[name for name, _ in CHANGES])
def test_a_change_in_place_gives_nothing_back(name: str, change: Callable[..., Any]) -> None:
    """M-11: and the store stays [M-12]."""
    context = a_context()
    store = context.blob_store

    answer = change(context, inplace=True)

    assert answer is None
    assert contents(context) == EXPECTED[name]
    assert context.blob_store is store


def test_acceptance_2_saying_something_in_place_gives_nothing_back() -> None:
    """M-11: acceptance case 2."""
    context = Context().user("a")

    answer = context.user("b", inplace=True)

    assert answer is None
    assert [message.parts for message in context] == [(text("a"),), (text("b"),)]


def test_extending_with_nothing_gives_an_equal_context_that_is_another() -> None:
    context = a_context()

    same = context.extend(())

    assert same == context
    assert same is not context


def test_all_contexts_of_a_chain_share_one_store() -> None:
    """M-12."""
    start = Context()
    end = start.user("a").assistant("b").with_cursor(Cursor("r")).with_usage(Usage()).clone().clear()

    ref = end.blob_store.put_blob(b"late")

    assert start.blob_store.get_blob(ref) == b"late"


def test_contexts_of_different_chains_do_not_share_a_store() -> None:
    assert Context().blob_store is not Context().blob_store


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("hello", (text("hello"),)),
        ("", (text(""),)),
        (thinking("hm"), (thinking("hm"),)),
        ([text("a"), thinking("b")], (text("a"), thinking("b"))),
        ((text("a"),), (text("a"),)),
        ([], ()),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_content_is_text_or_a_part_or_parts(role: str, content: Any, parts: Any) -> None:
    """M-13: an empty sequence is a message without parts, an empty text a part without words."""
    context = getattr(Context(), role)(content)

    assert context.messages == (Message(context.messages[0].role, parts, timestamp=context.messages[0].timestamp),)
    assert context.messages[0].role == role


def test_acceptance_3_content_of_the_wrong_kind_is_named_by_its_place() -> None:
    """M-13: acceptance case 3, TypeError with type and index."""
    with pytest.raises(TypeError, match=r"content\[1\] must be a Part, not str"):
        Context().user([text("x"), "y"])  # type: ignore[list-item]


@pytest.mark.parametrize("content", [None, 7, b"bytes"])
def test_content_that_is_no_sequence_is_refused(content: Any) -> None:
    """M-13."""
    with pytest.raises(TypeError, match=f"content must be a sequence of Parts, not {type(content).__name__}"):
        Context().assistant(content)


def test_the_last_message_is_the_newest_of_all_or_of_one_role() -> None:
    first, second, third = user("1"), assistant("2"), user("3")
    context = Context([first, second, third])

    assert (context.last(), context.last(role="user"), context.last(role="assistant")) == (third, third, second)
    assert (context.last(role="tool"), Context().last()) == (None, None)


def test_a_context_is_as_long_as_its_messages_and_goes_through_them_oldest_first() -> None:
    context = Context([A, B, A])

    assert (len(context), list(context)) == (3, [A, B, A])


def test_piping_calls_with_the_context_first() -> None:
    def count(context: Context, more: int, *, times: int) -> int:
        return (len(context) + more) * times

    assert a_context().pipe(count, 4, times=2) == 10


def test_piping_passes_on_arguments_of_any_name() -> None:
    """Section 3: `func(self, *args, **kwargs)`, also when a keyword is called `func` or `self`."""

    def told(context: Context, /, **kwargs: int) -> dict[str, int]:
        return kwargs | {"messages": len(context)}

    assert a_context().pipe(told, func=1, self=2) == {"func": 1, "self": 2, "messages": 1}


@pytest.mark.parametrize("inplace", [False, True])
def test_whether_a_change_is_in_place_may_be_known_only_when_it_runs(inplace: bool) -> None:
    """M-11: the type checker, too, takes a flag that is not written out."""
    context = a_context()
    answers: list[Context | None] = [
        context.append(A, inplace=inplace),
        context.extend([A], inplace=inplace),
        context.user("a", inplace=inplace),
        context.assistant("b", inplace=inplace),
        context.with_cursor(Cursor(), inplace=inplace),
        context.with_usage(Usage(), inplace=inplace),
        context.clear(inplace=inplace),
    ]

    assert [answer is None for answer in answers] == [inplace] * 7
