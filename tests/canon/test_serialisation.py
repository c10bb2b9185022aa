"""Contexts and specs as plain data and back (model.md section 4)."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOON, a_spec, assistant, image, tool, tool_call, tool_result, user
from tests.support.strategies import contexts, json_values
from weft.blobs import BlobReference, InMemoryBlobStore
from weft.canon import (
    AdapterId,
    Context,
    Cursor,
    ExcludedItem,
    Instructions,
    Part,
    RequestPlan,
    RunSpec,
    ToolSpecification,
    Usage,
)
from weft.errors import BlobIntegrityError, BlobNotFoundError, ContextError

REF: dict[str, Any] = {"id": "b1", "sha256": "f" * 64, "media_type": None, "kind": "file", "size": 0}
MISSING = object()


def same(context: Context, other: Context) -> bool:
    """Equal apart from the store."""
    return (context.messages, context.cursor, context.usage_log) == (other.messages, other.cursor, other.usage_log)


def test_a_context_is_written_as_in_the_model() -> None:
    """M-14: a Part writes what is set, all others write every field."""
    context = Context([user("ahoy", at=datetime(2026, 3, 1, 9, tzinfo=UTC))], usage_log=[Usage(3, 2, 5)])

    assert context.to_dict() == {
        "messages": [
            {
                "role": "user",
                "parts": [{"type": "text", "text": "ahoy"}],
                "id": None,
                "provider": None,
                "turn_id": None,
                "timestamp": "2026-03-01T09:00:00+00:00",
            }
        ],
        "cursor": {"last_response_id": None, "conversation_id": None, "session_id": None},
        "usage_log": [{"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "provider_usage": {}}],
    }


def test_a_part_writes_all_that_is_set_in_plain_containers() -> None:
    """M-14: and an empty text or mapping is set."""
    ref = BlobReference("b1", "f" * 64, None, "file", 0)
    part = Part("x", "", {"a": (1,)}, ref, "c", "n", {}, (1, {"b": ()}), {"r": [2]})

    written = Context([user(part)]).to_dict()["messages"][0]["parts"][0]

    assert written == {
        "type": "x",
        "text": "",
        "json": {"a": [1]},
        "blob": REF,
        "tool_call_id": "c",
        "tool_name": "n",
        "tool_args": {},
        "tool_output": [1, {"b": []}],
        "provider_raw": {"r": [2]},
    }


@given(contexts)
def test_what_is_written_is_json(context: Context) -> None:
    """M-14: plain JSON containers, nothing that only Python knows."""
    written = context.to_dict()

    assert json.loads(json.dumps(written)) == written


def test_a_blob_is_written_as_its_reference_without_bytes() -> None:
    """M-15."""
    context = Context()
    ref = context.blob_store.put_blob(b"bytes", media_type="image/png", kind="image")

    written = context.user(image(ref)).to_dict()

    assert written["messages"][0]["parts"] == [
        {
            "type": "image",
            "blob": {"id": ref.id, "sha256": ref.sha256, "media_type": "image/png", "kind": "image", "size": 5},
        }
    ]
    assert "blob_payloads" not in written


def test_acceptance_4_payloads_are_written_once_each_in_the_order_of_first_use() -> None:
    """M-16: acceptance case 4."""
    context = Context()
    unused, first, second = (context.blob_store.put_blob(data) for data in (b"unused", b"same", b"same"))
    context = context.user([image(first), image(second)]).assistant(image(first))

    written = context.to_dict(include_blob_payloads=True)

    assert [(payload["ref"]["id"], payload["data_b64"]) for payload in written["blob_payloads"]] == [
        (first.id, "c2FtZQ=="),
        (second.id, "c2FtZQ=="),
    ]
    assert context.blob_store.has_blob(unused)


def test_payloads_of_a_context_without_blobs_are_an_empty_list() -> None:
    """M-16."""
    assert Context().to_dict(include_blob_payloads=True)["blob_payloads"] == []


def test_a_blob_that_is_missing_cannot_be_included() -> None:
    """M-16: ContextError naming the id, the cause chained."""
    context = Context().user(image(BlobReference("gone", "f" * 64, None, "image", 1)))

    with pytest.raises(ContextError, match="gone") as caught:
        context.to_dict(include_blob_payloads=True)

    assert isinstance(caught.value.__cause__, BlobNotFoundError)


def test_a_blob_that_is_corrupt_cannot_be_included() -> None:
    """M-16."""
    ref = BlobReference("bad", "f" * 64, None, "image", 1)
    context = Context(blob_store=InMemoryBlobStore.from_preloaded({"bad": (ref, b"x")})).user(image(ref))

    with pytest.raises(ContextError, match="bad") as caught:
        context.to_dict(include_blob_payloads=True)

    assert isinstance(caught.value.__cause__, BlobIntegrityError)


def test_payloads_fill_a_store_of_their_own() -> None:
    """M-17: hydrated from `blob_payloads`."""
    context = Context()
    ref = context.blob_store.put_blob(b"bytes")
    written = context.user(image(ref)).to_dict(include_blob_payloads=True)

    read = Context.from_dict(json.loads(json.dumps(written)))

    assert read.blob_store.get_blob(ref) == b"bytes"
    assert read.to_dict(include_blob_payloads=True) == written


def test_a_store_that_is_given_is_used() -> None:
    """M-17: without payloads; and with neither, the store is new and empty."""
    store = InMemoryBlobStore()

    assert Context.from_dict({}, blob_store=store).blob_store is store
    assert Context.from_dict({}).blob_store.list_blobs() == ()


@pytest.mark.parametrize("payloads", [[], ["no payload"]])
def test_payloads_and_a_store_together_are_refused(payloads: list[Any]) -> None:
    """M-17: before they are looked at."""
    with pytest.raises(ValueError, match=r"^Context\.blob_payloads"):
        Context.from_dict({"blob_payloads": payloads}, blob_store=InMemoryBlobStore())


def test_a_blob_named_twice_is_included_as_first_named() -> None:
    """M-16: one per id, in the order of first use."""
    context = Context()
    ref = context.blob_store.put_blob(b"bytes", media_type="image/png")
    context = context.user([image(ref), image(replace(ref, media_type=None))])

    written = context.to_dict(include_blob_payloads=True)

    assert [payload["ref"]["media_type"] for payload in written["blob_payloads"]] == ["image/png"]


@pytest.mark.parametrize("field", ["json", "tool_args", "tool_output", "provider_raw"])
def test_a_value_that_contains_itself_is_named_by_its_path(field: str) -> None:
    """M-20: it was never JSON."""
    circle: dict[str, Any] = {}
    circle["again"] = [circle]

    with pytest.raises(ValueError, match=rf"^Context\.messages\[0\]\.parts\[0\]\.{field} contains itself"):
        Context.from_dict({"messages": [{"role": "tool", "parts": [{"type": "x", field: circle}]}]})


@given(contexts)
def test_reading_what_was_written_gives_an_equal_context(context: Context) -> None:
    """M-18: directly, and by way of JSON text."""
    written = context.to_dict()

    assert same(Context.from_dict(written), context)
    assert same(Context.from_dict(json.loads(json.dumps(written))), context)


@given(st.lists(st.binary(max_size=40), max_size=4))
def test_blobs_survive_being_written_and_read(payloads: list[bytes]) -> None:
    """M-16 to M-18, with the bytes."""
    context = Context()
    refs = [context.blob_store.put_blob(data) for data in payloads]
    context.user([image(ref) for ref in refs], inplace=True)

    read = Context.from_dict(context.to_dict(include_blob_payloads=True))

    assert same(read, context)
    assert [read.blob_store.get_blob(ref) for ref in refs] == payloads


def test_integer_keys_come_back_as_text_and_tuples_stay_tuples() -> None:
    """M-18."""
    context = Context([tool(tool_result({1: (2, [3])}))])

    read = Context.from_dict(context.to_dict())

    assert read.messages[0].parts[0].tool_output == {"1": (2, (3,))}
    assert same(read, context)


def test_what_was_read_is_detached_from_what_was_given() -> None:
    """M-4 holds for `from_dict` too."""
    written = Context([assistant(tool_call("dig", {"a": [1]}))]).to_dict()
    read = Context.from_dict(written)

    written["messages"][0]["parts"][0]["tool_args"]["a"].append(2)

    assert read.messages[0].parts[0].tool_args == {"a": (1,)}


def test_what_is_missing_is_empty_and_what_is_unknown_is_ignored() -> None:
    """M-19."""
    assert same(Context.from_dict({}), Context())
    assert same(Context.from_dict({"cursor": None}), Context())
    assert same(
        Context.from_dict(
            {
                "version": 7,
                "messages": [{"role": "user", "parts": [], "timestamp": "2026-03-01T12:00:00Z", "mood": "good"}],
                "cursor": {"session_id": "s", "x": 1},
                "usage_log": [{"y": 2}],
            }
        ),
        Context([user()], Cursor(session_id="s"), [Usage()]),
    )


@pytest.mark.parametrize("message", [{}, {"timestamp": None}])
def test_a_message_without_a_time_is_of_now(message: dict[str, Any]) -> None:
    """M-19."""
    before = datetime.now(UTC)

    read = Context.from_dict({"messages": [{"role": "user", "parts": []} | message]})

    assert before <= read.messages[0].timestamp <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-03-01T12:00:00", NOON),
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T14:30:00+02:30", NOON),
        ("2026-03-01T12:00:00.000001+00:00", NOON + timedelta(microseconds=1)),
        ("2026-03-01", NOON - timedelta(hours=12)),
    ],
)
def test_a_time_without_a_zone_is_in_utc(written: str, moment: datetime) -> None:
    """M-19."""
    read = Context.from_dict({"messages": [{"role": "user", "parts": [], "timestamp": written}]})

    assert read.messages[0].timestamp == moment
    assert read.messages[0].timestamp.tzinfo is not None


class _Moment(datetime):
    """A datetime that someone derived."""


@pytest.mark.parametrize("kind", [datetime, _Moment])
@pytest.mark.parametrize("moment", [(1, 1, 1), (2026, 3, 1, 9, 5, 7, 30), (9999, 12, 31, 23, 59, 59, 999_999)])
@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("UTC")], ids=str)
def test_a_time_is_written_as_python_writes_it(kind: Any, moment: tuple[int, ...], zone: Any) -> None:
    """M-14: ISO-8601, whatever writes it."""
    at = kind(*moment).replace(tzinfo=zone)

    assert Context([user("a", at=at)]).to_dict()["messages"][0]["timestamp"] == at.isoformat()


def test_a_time_keeps_its_zone() -> None:
    zone = timezone(timedelta(hours=-3))
    context = Context([user("a", at=datetime(2026, 3, 1, 9, tzinfo=zone))])

    written = context.to_dict()

    assert written["messages"][0]["timestamp"] == "2026-03-01T09:00:00-03:00"
    assert same(Context.from_dict(written), context)


def valid() -> dict[str, Any]:
    """A context with something of everything, as plain data."""
    context = Context(
        [
            user("a"),
            assistant(tool_call("dig", {"deep": [1]})),
            tool(tool_result(["out"]), Part("file", blob=BlobReference("b1", "f" * 64, None, "file", 0))),
        ],
        Cursor("r"),
        [Usage(1, 2, 3)],
    )
    return context.to_dict()


MISFITS = [
    ("Context", (), []),
    ("Context", (), None),
    ("Context.messages", ("messages",), {}),
    ("Context.messages", ("messages",), None),
    ("Context.usage_log", ("usage_log",), None),
    ("Context.messages", ("messages",), "text"),
    ("Context.messages[1]", ("messages", 1), "text"),
    ("Context.messages[1].role", ("messages", 1, "role"), "wizard"),
    ("Context.messages[1].role", ("messages", 1, "role"), MISSING),
    ("Context.messages[1].role", ("messages", 1, "role"), ["user"]),
    ("Context.messages[0].id", ("messages", 0, "id"), 7),
    ("Context.messages[0].provider", ("messages", 0, "provider"), True),
    ("Context.messages[0].turn_id", ("messages", 0, "turn_id"), {}),
    ("Context.messages[0].timestamp", ("messages", 0, "timestamp"), 0),
    ("Context.messages[0].parts", ("messages", 0, "parts"), MISSING),
    ("Context.messages[0].parts", ("messages", 0, "parts"), "text"),
    ("Context.messages[0].parts[0]", ("messages", 0, "parts", 0), "text"),
    ("Context.messages[2].parts[0].type", ("messages", 2, "parts", 0, "type"), 7),
    ("Context.messages[2].parts[0].type", ("messages", 2, "parts", 0, "type"), ""),
    ("Context.messages[2].parts[0].type", ("messages", 2, "parts", 0, "type"), MISSING),
    ("Context.messages[0].parts[0].text", ("messages", 0, "parts", 0, "text"), ["a"]),
    ("Context.messages[0].parts[0].json", ("messages", 0, "parts", 0, "json"), [1]),
    ("Context.messages[0].parts[0].provider_raw", ("messages", 0, "parts", 0, "provider_raw"), "x"),
    ("Context.messages[1].parts[0].tool_args", ("messages", 1, "parts", 0, "tool_args"), "{}"),
    ("Context.messages[1].parts[0].tool_name", ("messages", 1, "parts", 0, "tool_name"), 1),
    ("Context.messages[1].parts[0].tool_call_id", ("messages", 1, "parts", 0, "tool_call_id"), 1.5),
    ("Context.messages[2].parts[1].blob", ("messages", 2, "parts", 1, "blob"), "b1"),
    ("Context.messages[2].parts[1].blob.id", ("messages", 2, "parts", 1, "blob", "id"), ""),
    ("Context.messages[2].parts[1].blob.sha256", ("messages", 2, "parts", 1, "blob", "sha256"), ""),
    ("Context.messages[2].parts[1].blob.kind", ("messages", 2, "parts", 1, "blob", "kind"), ""),
    ("Context.messages[2].parts[1].blob.media_type", ("messages", 2, "parts", 1, "blob", "media_type"), 1),
    ("Context.messages[2].parts[1].blob.size", ("messages", 2, "parts", 1, "blob", "size"), True),
    ("Context.messages[2].parts[1].blob.size", ("messages", 2, "parts", 1, "blob", "size"), "3"),
    ("Context.cursor", ("cursor",), "r"),
    ("Context.cursor.session_id", ("cursor", "session_id"), 1),
    ("Context.usage_log", ("usage_log",), {}),
    ("Context.usage_log[0]", ("usage_log", 0), 7),
    ("Context.usage_log[0].input_tokens", ("usage_log", 0, "input_tokens"), True),
    ("Context.usage_log[0].output_tokens", ("usage_log", 0, "output_tokens"), 1.0),
    ("Context.usage_log[0].total_tokens", ("usage_log", 0, "total_tokens"), "3"),
    ("Context.usage_log[0].provider_usage", ("usage_log", 0, "provider_usage"), [1]),
    ("Context.blob_payloads", ("blob_payloads",), {}),
    ("Context.blob_payloads[0]", ("blob_payloads",), ["x"]),
    ("Context.blob_payloads[0].ref", ("blob_payloads",), [{"data_b64": ""}]),
    ("Context.blob_payloads[0].ref.size", ("blob_payloads",), [{"ref": REF | {"size": None}, "data_b64": ""}]),
    ("Context.blob_payloads[0].data_b64", ("blob_payloads",), [{"ref": REF}]),
    ("Context.blob_payloads[0].data_b64", ("blob_payloads",), [{"ref": REF, "data_b64": b""}]),
]


def put(value: Any, steps: tuple[str | int, ...], new: Any) -> Any:
    """Replace what is at the end of a path, or remove it."""
    if not steps:
        return new
    value = copy.deepcopy(value)
    place = value
    for step in steps[:-1]:
        place = place[step]
    if new is MISSING:
        del place[steps[-1]]
    else:
        place[steps[-1]] = new
    return value


@pytest.mark.parametrize(("path", "steps", "wrong"), MISFITS, ids=lambda case: case if isinstance(case, str) else "")
def test_what_does_not_fit_is_named_by_its_path(path: str, steps: tuple[str | int, ...], wrong: Any) -> None:
    """M-20: TypeError, the path in front."""
    with pytest.raises(TypeError) as caught:
        Context.from_dict(put(valid(), steps, wrong))

    assert str(caught.value).split(" ", 1)[0] == path


@pytest.mark.parametrize("wrong", ["", "yesterday", "2026-13-01", "2026-03-01T25:00", "\ud800", "x" * 100])
def test_a_time_that_is_none_is_a_value_error(wrong: str) -> None:
    """M-20."""
    with pytest.raises(ValueError, match=r"^Context\.messages\[0\]\.timestamp must be an ISO-8601 string") as caught:
        Context.from_dict(put(valid(), ("messages", 0, "timestamp"), wrong))

    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("wrong", ["A", "AA=", "AA==\n", "AA-_", "ÄÄÄÄ", "=", "A A="])
def test_j06_payloads_must_be_strict_base64(wrong: str) -> None:
    """M-20: ValueError; J-06: never guessed."""
    payload = {"ref": REF, "data_b64": wrong}

    with pytest.raises(ValueError, match=r"^Context\.blob_payloads\[0\]\.data_b64 is not base64"):
        Context.from_dict({"blob_payloads": [payload]})


def test_payloads_must_be_the_bytes_their_reference_names() -> None:
    """M-20: ValueError with both digests."""
    with pytest.raises(ValueError, match=r"^Context\.blob_payloads\[0\]\.data_b64 has sha256 e3b0c442.* says ffff"):
        Context.from_dict({"blob_payloads": [{"ref": REF, "data_b64": ""}]})


def places(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path into a value."""
    found = [above] if above else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in children:
        found += places(inner, (*above, step))
    return found


def complaint(written: Any) -> str | None:
    """What is said of a value that does not fit, None if it fits; any other error is a failure of the test."""
    try:
        Context.from_dict(written)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


@given(st.data())
def test_whatever_is_wrong_the_error_is_declared_and_has_a_path(data: st.DataObject) -> None:
    """M-20: any value in any place reads, or is a TypeError or ValueError whose path starts with Context."""
    written = valid()
    for _ in range(data.draw(st.integers(1, 3))):
        if spots := places(written):
            written = put(written, data.draw(st.sampled_from(spots)), data.draw(json_values() | st.just(MISSING)))

    said = complaint(written)

    assert said is None or said.startswith("Context")


def nested(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "wrong", [nested(5_000), 10**5_000, "x" * 1_000_000], ids=["deep", "a long int", "a long text"]
)
@pytest.mark.parametrize(
    ("place", "name"),
    [("message", "role"), ("message", "timestamp"), ("part", "type"), ("part", "tool_args"), ("usage", "input_tokens")],
)
def test_a_monstrous_value_is_refused_like_any_other(place: str, name: str, wrong: Any) -> None:
    """M-20: the message does not print what cannot be printed, nor a megabyte of it."""
    part = {"type": "x", "text": "a"} | ({name: wrong} if place == "part" else {})
    message = {"role": "user", "parts": [part]} | ({name: wrong} if place == "message" else {})
    usage = {name: wrong} if place == "usage" else {}

    said = complaint({"messages": [message], "usage_log": [usage]})

    fits = (name, type(wrong)) in {("type", str), ("input_tokens", int)}
    assert (said is None) == fits
    assert said is None or (said.startswith("Context.") and f"{name} must be " in said and len(said) < 300)


FULL_SPEC = RunSpec(
    "openai",
    "responses.create",
    "gpt",
    api_version="v1",
    instructions=Instructions("be kind", "be brief"),
    max_output_tokens=10,
    temperature=0.5,
    top_p=1.0,
    seed=7,
    tools=(ToolSpecification("dig", "", {"type": "object", "required": ["a"]}),),
    tool_choice={"type": "function", "any": [1]},
    response_schema={"type": "object"},
    response_modalities=("text", "audio"),
    extra_body={"a": {"b": [1]}},
    extra_headers={"x": "1"},
    extra_query={"q": "2"},
    base_url="http://localhost",
)


def test_a_spec_writes_every_field() -> None:
    """M-21."""
    assert FULL_SPEC.to_dict() == {
        "provider": "openai",
        "endpoint": "responses.create",
        "model": "gpt",
        "api_version": "v1",
        "instructions": {"system": "be kind", "developer": "be brief"},
        "max_output_tokens": 10,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 7,
        "tools": [{"name": "dig", "description": "", "input_schema": {"type": "object", "required": ["a"]}}],
        "tool_choice": {"type": "function", "any": [1]},
        "response_schema": {"type": "object"},
        "response_modalities": ["text", "audio"],
        "extra_body": {"a": {"b": [1]}},
        "extra_headers": {"x": "1"},
        "extra_query": {"q": "2"},
        "base_url": "http://localhost",
    }


@pytest.mark.parametrize("spec", [FULL_SPEC, a_spec(), a_spec(tool_choice="auto")], ids=["full", "bare", "choice"])
def test_reading_a_spec_that_was_written_gives_an_equal_one(spec: RunSpec) -> None:
    """M-21: by way of JSON text."""
    assert RunSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_only_who_and_what_is_called_is_required_of_a_spec() -> None:
    """M-21: the rest has its defaults, and an int is taken for a float."""
    read = RunSpec.from_dict({"provider": "p", "endpoint": "e", "model": "m", "temperature": 1, "tools": None})

    assert read == RunSpec("p", "e", "m", temperature=1.0)
    assert type(read.temperature) is float


TOOL = {"name": "dig", "description": "", "input_schema": {}}


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("RunSpec.provider", {"provider": ""}),
        ("RunSpec.endpoint", {"endpoint": None}),
        ("RunSpec.model", {"model": 7}),
        ("RunSpec.api_version", {"api_version": 1}),
        ("RunSpec.instructions", {"instructions": "be kind"}),
        ("RunSpec.instructions.system", {"instructions": {"system": 1}}),
        ("RunSpec.instructions.developer", {"instructions": {"developer": []}}),
        ("RunSpec.max_output_tokens", {"max_output_tokens": True}),
        ("RunSpec.max_output_tokens", {"max_output_tokens": 1.5}),
        ("RunSpec.temperature", {"temperature": False}),
        ("RunSpec.temperature", {"temperature": "hot"}),
        ("RunSpec.temperature", {"temperature": 10**400}),
        ("RunSpec.top_p", {"top_p": []}),
        ("RunSpec.seed", {"seed": "7"}),
        ("RunSpec.tools", {"tools": {}}),
        ("RunSpec.tools[1]", {"tools": [TOOL, "dig"]}),
        ("RunSpec.tools[0].name", {"tools": [TOOL | {"name": ""}]}),
        ("RunSpec.tools[0].description", {"tools": [TOOL | {"description": None}]}),
        ("RunSpec.tools[0].input_schema", {"tools": [TOOL | {"input_schema": None}]}),
        ("RunSpec.response_schema", {"response_schema": []}),
        ("RunSpec.response_modalities", {"response_modalities": "text"}),
        ("RunSpec.response_modalities[1]", {"response_modalities": ["text", 7]}),
        ("RunSpec.extra_body", {"extra_body": [1]}),
        ("RunSpec.extra_headers", {"extra_headers": "x"}),
        ("RunSpec.extra_headers['x']", {"extra_headers": {"x": 1}}),
        ("RunSpec.extra_query['q']", {"extra_query": {"q": None}}),
        ("RunSpec.base_url", {"base_url": 1}),
    ],
)
def test_a_spec_that_does_not_fit_is_named_by_its_path(path: str, change: dict[str, Any]) -> None:
    """M-21: all violations are TypeErrors with a path."""
    with pytest.raises(TypeError) as caught:
        RunSpec.from_dict(a_spec().to_dict() | change)

    assert str(caught.value).split(" ", 1)[0] == path


@pytest.mark.parametrize(
    ("read", "wrong", "path"),
    [
        (RunSpec.from_dict, None, "RunSpec"),
        (Instructions.from_dict, [], "Instructions"),
        (AdapterId.from_dict, "p/e", "AdapterId"),
        (AdapterId.from_dict, {"provider": "", "endpoint": "e"}, "AdapterId.provider"),
        (AdapterId.from_dict, {"provider": "p"}, "AdapterId.endpoint"),
        (AdapterId.from_dict, {"provider": "p", "endpoint": "e", "api_version": 1}, "AdapterId.api_version"),
        (ExcludedItem.from_dict, 7, "ExcludedItem"),
        (ExcludedItem.from_dict, {"description": "", "reason": ""}, "ExcludedItem.description"),
        (ExcludedItem.from_dict, {"description": "seed"}, "ExcludedItem.reason"),
        (RequestPlan.from_dict, [], "RequestPlan"),
        (RequestPlan.from_dict, {}, "RequestPlan.request"),
        (RequestPlan.from_dict, {"request": []}, "RequestPlan.request"),
        (RequestPlan.from_dict, {"request": {}, "included": "all"}, "RequestPlan.included"),
        (RequestPlan.from_dict, {"request": {}, "warnings": ["a", 1]}, "RequestPlan.warnings[1]"),
        (RequestPlan.from_dict, {"request": {}, "excluded": {}}, "RequestPlan.excluded"),
        (RequestPlan.from_dict, {"request": {}, "excluded": None}, "RequestPlan.excluded"),
        (RequestPlan.from_dict, {"request": {}, "extra": None}, "RequestPlan.extra"),
        (RequestPlan.from_dict, {"request": {}, "excluded": [{"reason": ""}]}, "RequestPlan.excluded[0].description"),
        (RequestPlan.from_dict, {"request": {}, "token_estimate": True}, "RequestPlan.token_estimate"),
        (RequestPlan.from_dict, {"request": {}, "extra": []}, "RequestPlan.extra"),
    ],
)
def test_the_small_types_name_what_does_not_fit(read: Any, wrong: Any, path: str) -> None:
    """M-22: and M-21 for the instructions."""
    with pytest.raises(TypeError) as caught:
        read(wrong)

    assert str(caught.value).split(" ", 1)[0] == path


@pytest.mark.parametrize(
    "value",
    [
        Instructions(),
        Instructions("s", "d"),
        AdapterId("p", "e"),
        AdapterId("p", "e", "v"),
        ExcludedItem("seed", ""),
        RequestPlan({}),
        RequestPlan(
            {"a": [1, {"b": None}]},
            included=("1 messages",),
            excluded=(ExcludedItem("seed", "none"),),
            must_roundtrip=("context.messages[0].parts[0]",),
            warnings=("w",),
            errors=("e",),
            token_estimate=3,
            extra={"base_url": "x"},
        ),
    ],
    ids=repr,
)
def test_the_small_types_come_back_equal(value: Any) -> None:
    """M-22: by way of JSON text."""
    assert type(value).from_dict(json.loads(json.dumps(value.to_dict()))) == value


def test_a_plan_needs_only_its_request() -> None:
    """M-22: the others default to empty."""
    assert RequestPlan.from_dict({"request": {"a": (1,)}}) == RequestPlan({"a": [1]})


def test_what_a_plan_writes_is_not_what_it_holds() -> None:
    plan = RequestPlan({"a": [1]}, extra={"b": {}})

    written = plan.to_dict()
    written["request"]["a"].append(2)
    written["extra"]["b"]["c"] = 1

    assert plan == RequestPlan({"a": [1]}, extra={"b": {}})
