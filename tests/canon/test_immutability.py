"""The rules of model.md section 2: what is frozen, what is refused, what is equal."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import NOON, a_spec, assistant, text, user
from tests.support.strategies import messages
from weft.blobs import BlobEntry, BlobReference, PruneReport
from weft.canon import (
    AdapterCapabilities,
    AdapterId,
    Context,
    Cursor,
    ExcludedItem,
    Instructions,
    Message,
    Part,
    Reply,
    RequestPlan,
    RunSpec,
    ToolSpecification,
    Usage,
    frozen_part,
)

REF = BlobReference("0" * 32, "0" * 64, "image/png", "image", 3)
ONE_OF_EACH: list[Any] = [
    text("a"),
    user("a"),
    ToolSpecification("dig", "digs", {}),
    Cursor(),
    Usage(),
    REF,
    BlobEntry(REF, NOON),
    PruneReport((), 0, 0, 0, False),
    Instructions(),
    AdapterId("p", "e"),
    ExcludedItem("seed", "no such thing"),
    AdapterCapabilities(AdapterId("p", "e"), {}),
    Context(),
    a_spec(),
    RequestPlan({}),
    Reply(),
]
FIELDS = [(value, field.name) for value in ONE_OF_EACH for field in fields(value)]


def named(case: object) -> str:
    return type(case).__name__ if not isinstance(case, str) else case


@pytest.mark.parametrize(("value", "name"), FIELDS, ids=named)
def test_no_field_of_any_type_can_be_assigned_or_deleted(value: Any, name: str) -> None:
    """M-1: FrozenInstanceError, for every field of every type."""
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
    with pytest.raises(FrozenInstanceError):
        delattr(value, name)


@pytest.mark.parametrize("value", ONE_OF_EACH, ids=named)
def test_every_type_has_slots(value: Any) -> None:
    """M-1: frozen dataclasses with slots, so that a misspelt field cannot appear, and is refused like any other."""
    assert not hasattr(value, "__dict__")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'no_such_field'"):
        value.no_such_field = 1
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'no_such_field'"):
        del value.no_such_field


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Part, "type text json blob tool_call_id tool_name tool_args tool_output provider_raw"),
        (Message, "role parts id provider turn_id timestamp"),
        (ToolSpecification, "name description input_schema"),
        (Cursor, "last_response_id conversation_id session_id"),
        (Usage, "input_tokens output_tokens total_tokens provider_usage"),
        (BlobReference, "id sha256 media_type kind size"),
        (BlobEntry, "ref created_at last_accessed_at"),
        (PruneReport, "deleted bytes_freed examined remaining dry_run"),
        (Instructions, "system developer"),
        (AdapterId, "provider endpoint api_version"),
        (ExcludedItem, "description reason"),
        (Context, "messages cursor usage_log blob_store"),
        (
            RunSpec,
            (
                "provider endpoint model api_version instructions max_output_tokens seed temperature top_p tools"
                " tool_choice response_schema response_modalities extra_body extra_headers extra_query base_url"
            ),
        ),
        (RequestPlan, "request included excluded must_roundtrip warnings errors token_estimate extra"),
    ],
    ids=named,
)
def test_fields_have_the_order_of_the_model(kind: Any, expected: str) -> None:
    """Section 1: field order is the positional order (the seed of RunSpec where the table has it, not as in lmctx)."""
    assert [field.name for field in fields(kind)] == expected.split()


def test_parts_and_messages_take_their_fields_by_position() -> None:
    part = Part("file", "t", {"a": 1}, REF, "c1", "dig", {"b": 2}, ["out"], {"raw": 3})
    message = Message("tool", (part,), "m1", "openai", "turn", NOON)

    assert part == Part(
        type="file",
        text="t",
        json={"a": 1},
        blob=REF,
        tool_call_id="c1",
        tool_name="dig",
        tool_args={"b": 2},
        tool_output=("out",),
        provider_raw={"raw": 3},
    )
    assert message == Message(role="tool", parts=[part], id="m1", provider="openai", turn_id="turn", timestamp=NOON)


def test_a_message_without_a_time_is_of_now_in_utc() -> None:
    """Section 1: taken per instance, timezone-aware."""
    before = datetime.now(UTC)
    first, second = Message("user", ()), Message("user", ())
    after = datetime.now(UTC)

    assert before <= first.timestamp <= second.timestamp <= after
    assert first.timestamp.utcoffset() == timedelta(0)


FROZEN = [
    (lambda given: Part("json", json=given), "json"),
    (lambda given: Part("tool_call", tool_args=given), "tool_args"),
    (lambda given: Part("tool_result", tool_output=given), "tool_output"),
    (lambda given: Part("thinking", provider_raw=given), "provider_raw"),
    (lambda given: ToolSpecification("dig", "digs", given), "input_schema"),
    (lambda given: Usage(provider_usage=given), "provider_usage"),
    (lambda given: a_spec(response_schema=given), "response_schema"),
    (lambda given: a_spec(extra_body=given), "extra_body"),
    (lambda given: a_spec(tool_choice=given), "tool_choice"),
    (lambda given: Reply(raw=given), "raw"),
]


@pytest.mark.parametrize(("build", "name"), FROZEN, ids=[name for _, name in FROZEN])
def test_mapping_fields_are_frozen_at_construction(build: Any, name: str) -> None:
    """M-3: and `tool_choice` too, which lmctx leaves as given."""
    value = build({"k": [1, {"n": 2}], 3: None})

    assert getattr(value, name) == {"k": (1, {"n": 2}), "3": None}
    assert type(getattr(value, name)) is MappingProxyType


@pytest.mark.parametrize(("build", "name"), FROZEN, ids=[name for _, name in FROZEN])
def test_what_was_given_can_change_without_the_value_changing(build: Any, name: str) -> None:
    """M-4: the result is detached, and refuses to be written through."""
    given_value: dict[str, Any] = {"k": [1], "m": {"n": 2}}
    value = build(given_value)

    given_value["k"].append(2)
    given_value["m"]["n"] = 3
    given_value["new"] = 4

    assert getattr(value, name) == {"k": (1,), "m": {"n": 2}}
    with pytest.raises(TypeError):
        getattr(value, name)["k"] = 5
    with pytest.raises(TypeError):
        getattr(value, name)["m"]["n"] = 5


@pytest.mark.parametrize("name", ["extra_headers", "extra_query"])
def test_headers_and_query_are_frozen_too(name: str) -> None:
    """M-3, M-4."""
    given_value = {"x": "1"}
    extras: dict[str, Any] = {name: given_value}
    spec = a_spec(**extras)

    given_value["y"] = "2"

    assert getattr(spec, name) == {"x": "1"}
    assert type(getattr(spec, name)) is MappingProxyType


def test_capabilities_are_frozen() -> None:
    """M-3, M-4."""
    levels: dict[str, Any] = {"seed": "yes"}
    notes = {"seed": "since 2024"}
    capabilities = AdapterCapabilities(AdapterId("p", "e"), levels, notes)

    levels["tools"] = "no"
    notes.clear()

    assert (capabilities.fields, capabilities.notes) == ({"seed": "yes"}, {"seed": "since 2024"})
    with pytest.raises(TypeError):
        capabilities.fields["seed"] = "no"  # type: ignore[index]


def test_sequences_become_tuples() -> None:
    """M-3: the second column of the table; and the type checker takes lists, too."""
    tool = ToolSpecification("dig", "digs", {})
    one = user("a")
    spec = RunSpec("p", "e", "m", tools=[tool], response_modalities=["text"])
    context = Context([one], usage_log=[Usage()])

    assert Message("user", iter([text("a")])).parts == (text("a"),)
    assert (spec.tools, spec.response_modalities) == ((tool,), ("text",))
    assert (context.messages, context.usage_log) == ((one,), (Usage(),))


def test_acceptance_1_a_list_given_to_a_part_can_grow_without_the_part() -> None:
    """M-4: acceptance case 1."""
    given_value = {"k": [1]}
    part = Part(type="json", json=given_value)

    given_value["k"].append(2)

    assert part.json is not None
    assert part.json["k"] == (1,)


def test_a_plan_holds_plain_containers_that_can_be_changed() -> None:
    """M-5: mapping to dict, tuple to list, keys to text."""
    inner: dict[str, Any] = {"n": (1, 2)}
    plan = RequestPlan(MappingProxyType({"a": inner, 3: ({"b": ()},)}), extra=MappingProxyType({"t": (1,)}))  # type: ignore[arg-type]

    inner["n"] = (9,)
    plan.request["mine"] = True
    plan.request["a"]["n"].append(3)

    assert plan.request == {"a": {"n": [1, 2, 3]}, "3": [{"b": []}], "mine": True}
    assert plan.extra == {"t": [1]}
    assert (type(plan.request), type(plan.request["a"]), type(plan.extra["t"])) == (dict, dict, list)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: ToolSpecification("n", "d", None), "ToolSpecification.input_schema must be a mapping"),  # type: ignore[arg-type]
        (lambda: ToolSpecification("n", "d", [1]), "ToolSpecification.input_schema must be a mapping"),  # type: ignore[arg-type]
        (lambda: Usage(provider_usage=None), "Usage.provider_usage must be a mapping"),  # type: ignore[arg-type]
        (lambda: Usage(provider_usage=7), "Usage.provider_usage must be a mapping"),  # type: ignore[arg-type]
        (lambda: a_spec(extra_headers={"x-n": 1}), "RunSpec.extra_headers['x-n'] must be a string"),
        (lambda: a_spec(extra_query={"q": None}), "RunSpec.extra_query['q'] must be a string"),
        (lambda: a_spec(extra_body=[1]), "RunSpec.extra_body must be a mapping"),
        (lambda: a_spec(extra_headers="x"), "RunSpec.extra_headers must be a mapping"),
        (lambda: a_spec(response_schema="x"), "RunSpec.response_schema must be a mapping"),
        (lambda: a_spec(tools=None), "RunSpec.tools must be a sequence"),
        (lambda: a_spec(response_modalities="text"), "RunSpec.response_modalities must be a sequence"),
        (lambda: a_spec(tools={"a": 1}), "RunSpec.tools must be a sequence"),
        (lambda: Part("json", json=[1]), "Part.json must be a mapping"),  # type: ignore[arg-type]
        (lambda: Part("tool_call", tool_args="{}"), "Part.tool_args must be a mapping"),  # type: ignore[arg-type]
        (lambda: Part("x", provider_raw=1), "Part.provider_raw must be a mapping"),  # type: ignore[arg-type]
        (lambda: Message("user", None), "Message.parts must be a sequence of Parts"),  # type: ignore[arg-type]
        (lambda: Message("user", 7), "Message.parts must be a sequence of Parts"),  # type: ignore[arg-type]
        (lambda: Message("user", "hello"), "Message.parts must be a sequence of Parts"),  # type: ignore[arg-type]
        (lambda: Message("user", [text("a"), "b"]), "Message.parts[1] must be a Part, not str"),  # type: ignore[list-item]
        (lambda: Message("user", (text("a"), {"type": "text"})), "Message.parts[1] must be a Part, not dict"),  # type: ignore[arg-type]
        (lambda: Context([user("a"), "b"]), "Context.messages[1] must be a Message, not str"),  # type: ignore[list-item]
        (lambda: Context("ab"), "Context.messages must be a sequence of Messages"),  # type: ignore[arg-type]
        (lambda: Context(usage_log=[{}]), "Context.usage_log[0] must be a Usage, not dict"),  # type: ignore[list-item]
        (lambda: Context().append("a"), "Context.append takes a Message, not str"),  # type: ignore[call-overload]
        (lambda: Context([user("a")]).extend([user("a"), 7]), "messages[1] must be a Message, not int"),  # type: ignore[list-item]
        (lambda: Context().with_usage({}), "Context.with_usage takes a Usage, not dict"),  # type: ignore[call-overload]
        (lambda: Context().with_cursor("r1"), "Context.with_cursor takes a Cursor, not str"),  # type: ignore[call-overload]
        (lambda: Context(cursor=None), "Context.cursor must be a Cursor, not NoneType"),  # type: ignore[arg-type]
        (lambda: a_spec(tools=[{"name": "dig"}]), "RunSpec.tools[0] must be a ToolSpecification, not dict"),
        (lambda: a_spec(instructions="be kind"), "RunSpec.instructions must be Instructions, not str"),
        (lambda: RequestPlan(None), "RequestPlan.request must be a mapping"),  # type: ignore[arg-type]
        (lambda: RequestPlan({}, extra=[1]), "RequestPlan.extra must be a mapping"),  # type: ignore[arg-type]
        (lambda: AdapterCapabilities(AdapterId("p", "e"), None), "AdapterCapabilities.fields must be a mapping"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused_at_construction(build: Any, said: str) -> None:
    """M-6: a TypeError that says where."""
    with pytest.raises(TypeError) as caught:
        build()

    assert str(caught.value).startswith(said)


def test_a_role_outside_the_five_is_left_to_those_who_read_and_send() -> None:
    """M-6: the constructor does not check it."""
    role: Any = "wizard"

    assert Message(role, ()).role == role


def test_no_extras_and_none_are_the_same() -> None:
    """M-7."""
    spec = RunSpec("p", "e", "m", extra_body=None, extra_headers=None, extra_query=None)

    assert spec == RunSpec("p", "e", "m")
    assert (spec.extra_body, spec.extra_headers, spec.extra_query) == ({}, {}, {})


def test_a_spec_may_be_built_with_empty_names() -> None:
    """M-8: only `from_dict` rejects them."""
    spec = RunSpec("", "", "")

    assert (spec.provider, spec.endpoint, spec.model) == ("", "", "")
    with pytest.raises(TypeError, match=r"^RunSpec\.provider "):
        RunSpec.from_dict(spec.to_dict())


def test_a_list_and_a_tuple_make_equal_values() -> None:
    """M-9: equality is by value, after freezing."""
    assert Part("json", json={"a": [1, (2,)]}) == Part("json", json={"a": (1, [2])})
    assert user(text("a")) == Message("user", (text("a"),), timestamp=NOON)
    assert Part("text", "a") != Part("text", "b")
    assert Part("text", "a") != Part("thinking", "a")


def test_contexts_are_equal_when_they_share_a_store() -> None:
    """M-9: a store is equal to itself alone."""
    context = Context().user("a")

    assert context.clone() == context
    assert Context() != Context()
    assert Context(blob_store=context.blob_store) == context.clear()


def test_a_context_is_no_key_and_a_part_only_without_mappings() -> None:
    """M-10."""
    assert hash(Part("text", "a", blob=REF, tool_output=["x"])) == hash(Part("text", "a", blob=REF, tool_output=("x",)))
    assert hash(user("a")) == hash(user("a"))
    for unhashable in (Context(), Part("json", json={}), Part("x", tool_args={"a": 1}), RequestPlan({})):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


@given(messages)
def test_messages_survive_pickling_and_copying(message: Message) -> None:
    pickled = pickle.loads(pickle.dumps(message))  # noqa: S301 - our own bytes

    assert pickled == copy.deepcopy(message) == copy.copy(message) == message


FULL: list[Any] = [
    ToolSpecification("dig", "digs", {"required": ["a"]}),
    Usage(1, 2, 3, {"details": [{"cached": 1}]}),
    AdapterCapabilities(AdapterId("p", "e"), {"seed": "yes"}, {"seed": "since 2024"}),
    a_spec(tools=[ToolSpecification("dig", "", {})], tool_choice=[{"any": (1,)}], extra_headers={"x": "1"}),
    Reply((user("a"),), "r1", usage=Usage(1), raw={"a": [1]}, notes=("cut off",)),
]


@pytest.mark.parametrize("value", [value for value in ONE_OF_EACH if not isinstance(value, Context)] + FULL, ids=named)
def test_every_type_survives_pickling_and_copying(value: Any) -> None:
    """A worker process is handed specs, and hands back replies; what is frozen [M-2] must not stand in the way."""
    pickled = pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes

    assert pickled == copy.deepcopy(value) == copy.copy(value) == value
    assert type(pickled) is type(value)


def test_a_context_is_pickled_with_its_store() -> None:
    """M-9: and is another then, as its store is."""
    context = Context(cursor=Cursor("r1")).with_usage(Usage(3))
    ref = context.blob_store.put_blob(b"picture")
    context.user(Part("image", blob=ref), inplace=True)

    pickled = pickle.loads(pickle.dumps(context))  # noqa: S301 - our own bytes

    assert pickled.to_dict(include_blob_payloads=True) == context.to_dict(include_blob_payloads=True)
    assert pickled != context
    assert copy.copy(context) == context


def test_arguments_that_lie_in_the_providers_block_are_frozen_once() -> None:
    """M-2, M-4: shared, since neither can change; and detached from what was given."""
    arguments: dict[str, Any] = {"pier": [1, {"deep": 2}]}
    block: dict[str, Any] = {"type": "tool_use", "input": arguments}
    part = Part("tool_call", tool_args=arguments, provider_raw=block)

    arguments["pier"].append(3)
    block["input"] = None

    assert part.provider_raw == {"type": "tool_use", "input": {"pier": (1, {"deep": 2})}}
    assert part.tool_args is part.provider_raw["input"]


@pytest.mark.parametrize("key", [1, "1"])
def test_arguments_whose_key_is_taken_in_the_block_are_frozen_by_themselves(key: object) -> None:
    """M-2: `1` and `"1"` become one key, which the last of them has."""
    arguments = {"a": [1]}
    block: Any = {key: arguments, ("1" if key == 1 else 1): {"b": 2}}

    part = Part("tool_call", tool_args=arguments, provider_raw=block)

    assert (part.tool_args, part.provider_raw) == ({"a": (1,)}, {"1": {"b": 2}})


def test_a_text_that_is_also_in_the_block_is_still_no_mapping() -> None:
    """M-6."""
    text_args: Any = "{}"

    with pytest.raises(TypeError, match=r"^Part\.tool_args must be a mapping"):
        Part("tool_call", tool_args=text_args, provider_raw={"arguments": text_args})


def test_a_field_that_contains_itself_is_named() -> None:
    """M-2: there is no frozen form of it."""
    circle: dict[str, Any] = {"a": [1]}
    circle["a"].append(circle)

    with pytest.raises(ValueError, match=r"^Part\.json contains itself"):
        Part("json", json=circle)
    with pytest.raises(ValueError, match=r"^Part\.tool_output contains itself"):
        Part("tool_result", tool_output=[circle])


def test_a_part_can_be_copied_with_one_field_changed() -> None:
    part = Part("tool_call", tool_call_id="c1", tool_name="dig", tool_args={"a": [1]})

    changed = replace(part, tool_name="fill")

    assert changed == Part("tool_call", tool_call_id="c1", tool_name="fill", tool_args={"a": [1]})


def test_a_part_built_from_frozen_values_is_an_ordinary_part() -> None:
    frozen = MappingProxyType({"a": 1})
    part = frozen_part("json", "t", json=frozen, tool_output=("x",), provider_raw=frozen)

    assert part == Part("json", "t", json={"a": 1}, tool_output=["x"], provider_raw={"a": 1})
    with pytest.raises(FrozenInstanceError):
        part.text = "b"  # type: ignore[misc]


def test_what_is_printed_names_every_field() -> None:
    assert repr(text("a")) == (
        "Part(type='text', text='a', json=None, blob=None, tool_call_id=None, tool_name=None, tool_args=None,"
        " tool_output=None, provider_raw=None)"
    )
    assert repr(assistant()).startswith("Message(role='assistant', parts=(), id=None, provider=None, turn_id=None, ")
