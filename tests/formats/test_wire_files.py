"""JSON, NDJSON and TOML files of wire messages (message-codecs.md, section 7)."""

from __future__ import annotations

import io
import json as stdlib_json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import json_values
from tests.support.wire_messages import wire_messages
from weft.canon import UNTIMED, Message, Part, Transcript
from weft.errors import CodecError
from weft.formats import Source, convert, format_by_name, json, ndjson, toml, unaccounted
from weft.formats.wiremessages import ABSENT, session_of

USER = {"role": "user", "content": "tide?"}
ANSWER = {"role": "assistant", "content": "06:10", "id": "a1"}


def test_json_is_a_bare_list_or_an_object_with_metadata() -> None:
    assert json.encode([USER]) == '[{"role":"user","content":"tide?"}]'
    assert json.encode([], {"title": "ü"}) == '{"metadata":{"title":"ü"},"messages":[]}'
    assert json.decode('{"metadata":null,"messages":[]}') == {"messages": [], "metadata": None}
    assert json.decode(b"[]") == {"messages": []}
    assert json.decode([USER]) == {"messages": [USER]}


def test_one_object_is_one_message() -> None:
    """Acceptance case 7."""
    assert json.decode('{"role":"user","content":"x"}') == {"messages": [{"role": "user", "content": "x"}]}
    assert toml.decode('role = "user"\ncontent = "x"') == {"messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize("given_one", ['"x"', "3", "null", "true"])
def test_any_other_value_is_a_type_error(given_one: str) -> None:
    with pytest.raises(TypeError):
        json.decode(given_one)


def test_what_is_no_message_is_named_by_its_path() -> None:
    """W-2, in files."""
    bad = [USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "x", "arguments": 1}]}]
    for encoded in (stdlib_json.dumps(bad), stdlib_json.dumps({"messages": bad})):
        with pytest.raises(CodecError, match=r"messages\[1\].tool_calls\[0\].arguments"):
            json.decode(encoded)
        with pytest.raises(CodecError, match=r"messages\[1\].tool_calls\[0\].arguments"):
            json.FORMAT.load(encoded)
    with pytest.raises(CodecError, match=r"line 2"):
        ndjson.decode('{"role":"user","content":""}\n{"role":1,"content":""}')


def test_ndjson_is_a_message_a_line_with_metadata_first() -> None:
    text = '{"metadata":{"title":"harbour"}}\n{"role":"user","content":"tide?"}\n' + stdlib_json.dumps(ANSWER)

    decoded = ndjson.decode(f"\n  {text}  \n\n")

    assert decoded == {"metadata": {"title": "harbour"}, "messages": [USER, ANSWER]}
    assert ndjson.encode(decoded["messages"], decoded["metadata"]).splitlines()[0] == '{"metadata":{"title":"harbour"}}'
    assert not ndjson.encode([USER]).endswith("\n")


@pytest.mark.parametrize("falsy", [0, "", False, None, [], {}])
def test_ndjson_keeps_falsy_metadata(falsy: Any) -> None:
    """W-36, acceptance case 8."""
    assert ndjson.decode(ndjson.encode([USER], falsy)) == {"metadata": falsy, "messages": [USER]}


def test_ndjson_takes_metadata_from_the_first_line_alone() -> None:
    line = '{"role":"user","content":"x","metadata":1}'
    assert ndjson.decode(line) == {"messages": [{"role": "user", "content": "x", "metadata": 1}]}
    with pytest.raises(CodecError, match="line 2"):
        ndjson.decode(f'{line}\n{{"metadata":1}}')


def test_ndjson_lines_are_objects_and_text() -> None:
    """Acceptance case 9."""
    with pytest.raises(TypeError, match="line 1"):
        ndjson.decode("[1]")
    with pytest.raises(TypeError):
        ndjson.decode(b"{}")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        toml.decode(b"")  # type: ignore[arg-type]
    with pytest.raises(CodecError, match="line 2"):
        ndjson.decode('{"role":"user","content":""}\n{')


def test_toml_has_no_null() -> None:
    """W-37."""
    decoded = toml.decode(toml.encode([{**USER, "name": None, "tool_calls": None}]))
    assert decoded == {"messages": [USER]}
    for messages, metadata, place in (
        ([], {"a": [1, None]}, r"metadata.a\[1\]"),
        ([], None, "metadata"),
        ([{**USER, "extra": {"x": [None]}}], ABSENT, r"messages\[0\].extra.x\[0\]"),
    ):
        with pytest.raises(ValueError, match=place):
            toml.encode(messages, metadata)


def test_toml_keeps_integers_and_reads_times_as_text() -> None:
    """W-37."""
    decoded = toml.decode(
        '[metadata]\nat = 2026-03-01T09:00:00Z\nday = 2026-03-01\nn = 3\nf = 3.0\n[[messages]]\nrole="u"\ncontent=""'
    )

    assert decoded["metadata"] == {"at": "2026-03-01T09:00:00+00:00", "day": "2026-03-01", "n": 3, "f": 3.0}
    assert [type(decoded["metadata"][key]) for key in "nf"] == [int, float]
    big = {"n": 2**70, "x": 1e300, "y": 1e22, "z": -0.0}
    assert toml.decode(toml.encode([], big))["metadata"] == big


@pytest.mark.parametrize("text", ["a\nb", '"""', 'x"""\n"', "\r\n", "\\", "\x00\x1f\x7f", "\n", '"', "ends\n", "\ttab"])
def test_toml_texts_come_back_as_they_were(text: str) -> None:
    """W-37, W-38, J-11."""
    messages = [{"role": text, "content": text, "extra": {text: text}}]
    assert toml.decode(toml.encode(messages, {text: [text]})) == {"messages": messages, "metadata": {text: [text]}}


def test_what_is_no_toml_is_named_by_its_line() -> None:
    for text in (
        "x = 1\n= 2",
        'x = "',
        "[[messages]]\nrole = 1",
        "x = " + "[" * 2000,
        "x = " + "9" * 5000,
        "messages = 1",
    ):
        with pytest.raises(CodecError):
            toml.FORMAT.load(text)
    with pytest.raises(CodecError, match="line 2"):
        toml.decode("x = 1\n= 2")
    with pytest.raises(ValueError, match="half a character"):
        toml.encode([{"role": "user", "content": "\ud800"}])


def _without_null(value: Any) -> bool:
    if isinstance(value, dict):
        return all(item is not None and _without_null(item) for item in value.values())
    return all(item is not None and _without_null(item) for item in value) if isinstance(value, list) else True


@given(st.lists(wire_messages, max_size=3), json_values(max_leaves=5) | st.just(ABSENT))
def test_files_read_back_as_they_were(messages: list[dict[str, Any]], metadata: Any) -> None:
    """W-38, and W-3: bytes are written as base64 and come back as text."""
    texts = [stdlib_json.loads(stdlib_json.dumps(_as_text(message))) for message in messages]
    expected = {"messages": texts} if metadata is ABSENT else {"messages": texts, "metadata": metadata}

    assert json.decode(json.encode(messages, metadata)) == expected
    assert ndjson.decode(ndjson.encode(messages, metadata)) == expected
    if metadata is not None and _without_null(texts) and _without_null(metadata):
        assert toml.decode(toml.encode(messages, metadata)) == expected


def _as_text(value: Any) -> Any:
    from base64 import b64encode

    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


@given(st.lists(wire_messages, max_size=3), json_values(max_leaves=5) | st.just(ABSENT))
def test_reading_and_writing_pieces_gives_the_same_file(messages: list[dict[str, Any]], metadata: Any) -> None:
    """R-12 for files: what was read is written as it was."""
    for module in (json, ndjson):
        text = module.encode(messages, metadata)
        written, ledger = module.FORMAT.dump(module.FORMAT.load(text))

        assert module.decode(written.decode()) == module.decode(text)
        assert ledger.count == 0


def test_what_stands_beside_messages_is_kept_in_json() -> None:
    text = '{"model":"mint-1","messages":[{"role":"user","content":"x"}],"metadata":{"title":"t","n":1},"n":2}'

    transcript = json.FORMAT.load(text)

    assert transcript.session.title == "t"
    assert transcript.session.extras == {"metadata": {"n": 1}, "json": {"model": "mint-1", "n": 2}}
    assert json.FORMAT.load(json.FORMAT.dump(transcript)[0]) == transcript


def test_facts_of_a_session_are_metadata_only_where_they_are_written_as_we_would() -> None:
    odd = {"title": 3, "created": "yesterday", "tools": "none", "updated": "2026-03-01", "id": ""}

    transcript = json.FORMAT.load(json.encode([USER], odd))

    assert transcript.session.extras == {"metadata": odd}
    assert json.decode(json.FORMAT.dump(transcript)[0].decode())["metadata"] == odd


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("inf"), "not a JSON number"),
        ({1, 2}, "no form for set"),
        ("\ud800", "half a character"),
        ({"\ud800": 1}, "half a character"),
        ([10**5000], "too many digits"),
    ],
)
def test_what_toml_has_no_form_for_is_refused_by_its_place(value: Any, why: str) -> None:
    """W-37, J-10: as a value it is an error."""
    with pytest.raises(ValueError, match=why) as caught:
        toml.encode([], {"a": [value]})
    assert "metadata.a[0]" in str(caught.value) or why == "half a character"


def test_times_given_as_such_are_written_as_toml_has_them() -> None:
    """W-37."""
    at = datetime(2026, 3, 1, 9, tzinfo=UTC)

    assert toml.decode(toml.encode([], {"at": at, "day": at.date()}))["metadata"] == {
        "at": "2026-03-01T09:00:00+00:00",
        "day": "2026-03-01",
    }


@pytest.mark.parametrize("metadata", [None, [1, None], "half \ud800", {"a": None, "b": {"c": [None]}}, {"\ud800": 1}])
def test_metadata_that_toml_cannot_say_is_told_of(metadata: Any) -> None:
    """W-37: in a file it is left out and noted, so that a conversion goes on."""
    kind = format_by_name("toml")
    given_one = Transcript.of([Message("user", (Part("text", "x"),), timestamp=UNTIMED)], session_of(metadata))

    written, ledger = kind.dump(given_one)

    assert ledger.count > 0
    assert unaccounted(given_one, kind.load(written), ledger.losses) == []


def test_what_cannot_be_json_is_an_error_of_codecs() -> None:
    """J-04: not a number is no JSON."""
    for encode in (json.encode, ndjson.encode):
        with pytest.raises(CodecError):
            encode([{"role": "user", "content": "", "extra": {"x": float("nan")}}])
    with pytest.raises(CodecError, match="not JSON"):
        json.decode("[")


@pytest.mark.parametrize(
    ("text", "why"),
    [('{"messages":1}', "list"), ('{"messages":[],"messages":[]}', "twice"), ("3", "list or an object")],
)
def test_json_that_is_no_file_of_messages_is_refused(text: str, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        format_by_name("json").load(text)


def test_metadata_after_the_messages_is_metadata_and_told_of_where_it_comes_too_late() -> None:
    """A file is written as it is read; what its end says of all of it has no place in the lines before."""
    text = '{"messages":[{"role":"user","content":"x"}],"metadata":{"title":"Tides","more":1}}'
    sink = io.BytesIO()

    assert format_by_name("json").load(text).session.title == "Tides"
    ledger = convert(Source.of(text), sink, format_by_name("ndjson"), of=format_by_name("json"))

    assert sink.getvalue() == b'{"role":"user","content":"x"}'
    assert {loss.place for loss in ledger.losses} == {"session.title", "session.extras"}


def test_a_fact_that_metadata_says_otherwise_is_told_of() -> None:
    """Two names for one place: metadata as it was read wins, and the account says so."""
    kind = format_by_name("json")
    for metadata in ({"title": 5}, {"title": "Ebb"}, {"model": "m"}):
        given_one = Transcript((), replace(session_of(ABSENT), title="Tides", extras={"metadata": metadata}))
        written, ledger = kind.dump(given_one)

        assert unaccounted(given_one, kind.load(written), ledger.losses) == []
        assert stdlib_json.loads(written)["metadata"] == {"title": "Tides", **metadata}


def test_a_session_beside_metadata_that_is_no_object_is_told_of() -> None:
    session = replace(session_of([1, 2]), title="Tides", extras={"metadata": [1, 2], "codex": {"x": 1}})
    kind = format_by_name("json")

    written, ledger = kind.dump(Transcript((), session))

    assert stdlib_json.loads(written) == {"metadata": [1, 2], "messages": []}
    assert {loss.place for loss in ledger.losses} == {"session.title", "session.extras.codex"}


@pytest.mark.parametrize("name", ["json", "ndjson", "toml", "stf"])
def test_a_name_that_is_no_text_is_left_out_and_told(name: str) -> None:
    """Notes of a message may come from anywhere: what a wire message has no form for makes no message unwritable."""
    kind = format_by_name(name)
    note = Part("annotation", json={"name": [1]})
    given_one = Transcript.of([Message("user", [Part("text", "hi"), note], timestamp=UNTIMED)])

    data, ledger = kind.dump(given_one)

    assert kind.load(data).entries[0].message.parts[0] == Part("text", "hi")
    assert unaccounted(given_one, kind.load(data), ledger.losses) == []
    assert ledger.losses
