"""Wire messages: what is one, small tools for them, and their way to canon and back."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import assistant, text, thinking, tool, tool_call, tool_result, user
from tests.support.wire_messages import wire_messages
from weft.blobs import InMemoryBlobStore
from weft.canon import Context, ExcludedItem, Message, Part
from weft.errors import CodecError
from weft.wire.messages import (
    append,
    check_message,
    check_messages,
    concat,
    decode_message,
    decode_messages,
    encode_message,
    encode_messages,
    map_ids,
    map_text,
    provider_entry,
    strip_ids,
    to_text,
    to_text_list,
    without_bytes,
)

PICTURE = {"type": "image", "url": "https://example.org/quay.png"}
PNG = b"\x89PNG"


def words(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def has_bytes(value: Any) -> bool:
    match value:
        case bytes():
            return True
        case dict():
            return any(map(has_bytes, value.values()))
        case list():
            return any(map(has_bytes, value))
    return False


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


SIGNED = {"type": "thinking", "thinking": "T", "signature": "c2ln"}
ODD_CALL = {"name": "tide", "arguments": '{ "port": 1 }', "call_id": "c"}


def signed(kind: str, index: int = 0) -> dict[str, Any]:
    return {"thought_signatures": ["s"], "signature_parts": [{"kind": kind, "index": index}]}


class TestSchema:
    def test_every_field_may_be_there_or_null_or_not_and_unknown_keys_pass(self) -> None:
        """W-1: optional fields may be absent or None, unknown keys are kept, any role is a role."""
        messages = [
            {"role": "critic", "content": "Too long."},
            {"role": "", "content": [], "reasoning": None, "tool_calls": None, "id": None, "mood": "calm"},
            {
                "role": "assistant",
                "content": [words("See:"), PICTURE, {"type": "audio", "data": b"\x00"}, {"type": "file"}],
                "reasoning": [words("hm")],
                "refusal": "no",
                "tool_calls": [{"name": "tide", "arguments": "{}", "id": "k", "call_id": None, "extra": 3}],
                "extra": ["anything"],
            },
        ]

        assert check_messages(messages) is messages

    @pytest.mark.parametrize(
        ("wrong", "where"),
        [
            ("x", "messages"),
            ([None], "messages[0]"),
            ([{"content": "x"}], "messages[0].role"),
            ([{"role": 1, "content": "x"}], "messages[0].role"),
            ([{"role": "user"}], "messages[0].content"),
            ([{"role": "user", "content": None}], "messages[0].content"),
            ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
            ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
            ([{"role": "user", "content": [{"type": "video"}]}], "messages[0].content[0].type"),
            ([{"role": "user", "content": [{"type": "image", "url": 1}]}], "messages[0].content[0].url"),
            ([{"role": "user", "content": [{"type": "file", "data": 1}]}], "messages[0].content[0].data"),
            ([{"role": "user", "content": "", "reasoning": 1}], "messages[0].reasoning"),
            ([{"role": "user", "content": "", "refusal": [{}]}], "messages[0].refusal[0].type"),
            ([{"role": "user", "content": "", "name": 1}], "messages[0].name"),
            ([{"role": "user", "content": "", "tool_calls": {}}], "messages[0].tool_calls"),
            ([{"role": "user", "content": "", "tool_calls": [{"arguments": ""}]}], "messages[0].tool_calls[0].name"),
            (
                [{"role": "user", "content": ""}] * 3
                + [{"role": "assistant", "content": "", "tool_calls": [{"name": "tide", "arguments": {}}]}],
                "messages[3].tool_calls[0].arguments",
            ),
        ],
    )
    def test_a_complaint_names_the_place(self, wrong: Any, where: str) -> None:
        """W-2: validation errors name the path."""
        with pytest.raises(CodecError) as caught:
            check_messages(wrong)

        assert caught.value.where == where

    def test_one_message_can_be_checked_alone(self) -> None:
        """W-2."""
        with pytest.raises(CodecError, match=r"^message\.content: must be a string or a list of parts, not null$"):
            check_message({"role": "user", "content": None})

    def test_bytes_are_written_as_base64_for_text_formats(self) -> None:
        """W-3."""
        given = [words("a"), {"type": "image", "data": PNG}]

        assert without_bytes(given) == [words("a"), {"type": "image", "data": "iVBORw=="}]
        assert without_bytes("text") == "text"


class TestHelpers:
    @pytest.mark.parametrize(
        ("content", "whole", "texts"),
        [
            (None, None, None),
            ("ab", "ab", ["ab"]),
            ([words("a"), PICTURE, words("b")], "ab", ["a", "b"]),
            ([], "", []),
        ],
    )
    def test_content_gives_its_text(self, content: Any, whole: Any, texts: Any) -> None:
        """W-1: texts joined with nothing, other parts skipped, absent stays absent."""
        assert to_text(content) == whole
        assert to_text_list(content) == texts

    def test_contents_are_put_together(self) -> None:
        """W-1: strings make a string; anything else makes one list, without empty strings."""
        assert concat("a", None, "b") == "ab"
        assert concat() == ""
        assert concat("a", [PICTURE], "", "b") == [words("a"), PICTURE, words("b")]

    def test_a_list_grows_when_it_is_appended_to(self) -> None:
        """W-1: `append` keeps extending the first value."""
        target: list[dict[str, Any]] = [PICTURE]

        assert append(target, "a", [words("b")]) is target
        assert target == [PICTURE, words("a"), words("b")]
        assert append("a", "b") == "ab"
        assert append("", [PICTURE]) == [PICTURE]

    def test_ids_are_stripped_and_mapped(self) -> None:
        """W-1: ids of a message and of its calls; unknown ones are kept by a table."""
        message = {
            "role": "assistant",
            "content": "",
            "id": "a1",
            "call_id": None,
            "tool_calls": [{"name": "tide", "arguments": "{}", "id": "k7", "call_id": "c"}],
        }

        stripped = strip_ids(message)
        mapped = map_ids(message, {"k7": "k8"})

        call = {"name": "tide", "arguments": "{}"}
        assert stripped == {"role": "assistant", "content": "", "call_id": None, "tool_calls": [call]}
        assert mapped == {**message, "tool_calls": [{**call, "id": "k8", "call_id": "c"}]}
        assert strip_ids({"role": "user", "content": "x"}) == {"role": "user", "content": "x"}

    def test_text_is_mapped_in_a_string_and_in_each_text_part(self) -> None:
        """W-1."""
        assert map_text("ab", str.upper) == "AB"
        assert map_text([words("a"), PICTURE], str.upper) == [words("A"), PICTURE]

    def test_a_providers_entry_is_found_or_made(self) -> None:
        """W-1: other providers' entries stay."""
        message: dict[str, Any] = {"role": "user", "content": ""}

        provider_entry(message, "claude")["is_error"] = True
        provider_entry(message, "gemini")

        assert message["extra"] == {"claude": {"is_error": True}, "gemini": {}}
        for extra, where in ((1, "extra"), ({"claude": 1}, r"extra\.claude")):
            with pytest.raises(CodecError, match=f"^{where}: must be an object"):
                provider_entry({"role": "user", "content": "", "extra": extra}, "claude")


class TestThereAndBack:
    @given(wire_messages)
    def test_wire_to_canon_to_wire_is_the_identity(self, message: dict[str, Any]) -> None:
        """R-12: for every valid wire message, which is not changed; also by way of the context's own file form."""
        before = copy.deepcopy(message)
        blobs = InMemoryBlobStore()

        canonical = decode_message(message, blobs)

        assert message == before
        assert encode_message(canonical, blobs) == [message]
        if not has_bytes([message.get("reasoning"), message.get("refusal")]):
            kept = json.loads(json.dumps(Context((canonical,), blob_store=blobs).to_dict()))
            again = Context.from_dict(kept, blob_store=blobs).messages[0]
            assert encode_message(again, blobs) == [message]

    @pytest.mark.parametrize(
        "fields",
        [
            {"reasoning": "X", "extra": {"claude": {"thinking_blocks": [SIGNED]}}},
            {"extra": {"claude": {"thinking_blocks": [SIGNED]}}},
            {"reasoning": "T", "extra": {"claude": {"thinking_blocks": [SIGNED]}, "gemini": signed("thought")}},
            {"extra": {"claude": {"thinking_blocks": [{"type": "thinking"}], "is_error": True}}},
            {"extra": {"gemini": {"thought_signatures": ["s"]}}, "tool_calls": [ODD_CALL]},
            {"extra": {"gemini": signed("function_call")}, "tool_calls": [ODD_CALL]},
            {"extra": {"gemini": signed("text", 3)}},
            {"extra": {"gemini": signed("text", 1) | {"part_lengths": {"text": [1, 1]}}}, "content": "ab"},
            {"extra": {"gemini": signed("text", 1) | {"part_lengths": {"text": [1, 9]}}}, "content": "ab"},
            {"extra": {"gemini": signed("refusal")}, "refusal": "no"},
            {"extra": {"gemini": {"thought_signatures": ["a", "b"], "signature_parts": [{}]}}},
            {"extra": {"gemini": {"thought_signatures": [1]}}},
            {"role": "tool", "content": [{"type": "image", "data": b"x"}, {"type": "text", "text": "", "source": 1}]},
            {"role": "tool", "id": "i"},
            {"tool_calls": []},
        ],
    )
    def test_odd_ones_come_back_too(self, fields: dict[str, Any]) -> None:
        """R-12: texts that do not fit their blocks, signatures of nothing, lists where a string would do."""
        message = {"role": "assistant", "content": "x", **fields}
        blobs = InMemoryBlobStore()

        assert encode_message(decode_message(message, blobs), blobs) == [message]

    def test_each_field_has_its_canonical_place(self) -> None:
        """R-11, R-12: the table of README section 3."""
        block = {"type": "thinking", "thinking": "Ask.", "signature": "c2ln"}
        message = {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning": "Ask.",
            "refusal": "Not that.",
            "tool_calls": [{"name": "tide", "id": "k7", "arguments": '{"port": "Oban"}'}],
            "id": "a1",
            "name": "Ada",
            "extra": {"claude": {"thinking_blocks": [block]}, "other": 1},
        }

        canonical = decode_message(message)

        origin = {"provider": "anthropic", "dialect": "anthropic"}
        assert canonical == Message(
            "assistant",
            (
                Part("thinking", "Ask.", json=origin, provider_raw=block),
                text("Let me look."),
                Part("refusal", "Not that."),
                Part(
                    "tool_call",
                    tool_call_id="k7",
                    tool_name="tide",
                    tool_args={"port": "Oban"},
                    provider_raw={"arguments": '{"port": "Oban"}'},
                ),
                Part("annotation", json={"name": "Ada", "extra": {"other": 1}}),
            ),
            id="a1",
            timestamp=canonical.timestamp,
        )

    def test_a_tool_message_is_one_result(self) -> None:
        """R-12: name and call id are the result's; a failed tool is marked."""
        message = {
            "role": "tool",
            "call_id": "k7",
            "name": "tide",
            "content": "closed",
            "extra": {"claude": {"is_error": True}},
        }

        (part,) = decode_message(message).parts

        assert part == Part(
            "tool_result", tool_call_id="k7", tool_name="tide", tool_output="closed", provider_raw={"is_error": True}
        )

    def test_bytes_go_to_the_store_and_the_rest_stays_beside_them(self) -> None:
        """R-12: `url`, `file_id`, `name`, `format` in provider_raw, `data` into a blob."""
        blobs = InMemoryBlobStore()
        content = [
            {"type": "image", "data": PNG, "format": "webp"},
            {"type": "image", "url": "data:image/gif;base64,iVBORw=="},
            {"type": "audio", "data": "iVBORw=="},
            {"type": "file", "data": "iVBOR\nw", "name": "plan.pdf"},
            {"type": "file", "data": "iVBORw==", "format": "csv", "file_id": "f1"},
            {"type": "file", "data": "not base64!", "format": "application/x-chart"},
        ]

        parts = decode_message({"role": "user", "content": content}, blobs).parts

        assert [part.blob and part.blob.media_type for part in parts] == [
            "image/webp",
            "image/gif",
            "audio/wav",
            "application/pdf",
            "text/csv",
            None,
        ]
        assert all(blobs.get_blob(part.blob) == PNG for part in parts if part.blob)
        assert [part.provider_raw for part in parts] == [
            {"format": "webp"},
            None,
            None,
            {"name": "plan.pdf"},
            {"format": "csv", "file_id": "f1"},
            {"format": "application/x-chart"},
        ]

    def test_an_edited_part_wins_over_what_was_kept(self) -> None:
        """R-12: marks say how a thing was written, never what it says."""
        message = {
            "role": "assistant",
            "content": [words("a")],
            "reasoning": [words("b")],
            "refusal": [words("c")],
            "tool_calls": [{"name": "tide", "arguments": '{ "port": 1 }'}],
        }
        *_, marks = decode_message(message).parts
        edited = assistant(thinking("B"), text("A"), Part("refusal", "C"), tool_call("tide", {"port": 2}), marks)

        (written,) = encode_message(edited, InMemoryBlobStore())

        call = {"name": "tide", "arguments": '{"port":2}', "id": "t1"}
        assert written == {
            "role": "assistant",
            "content": [words("A")],
            "reasoning": "B",
            "refusal": "C",
            "tool_calls": [call],
        }

    def test_several_results_in_one_message_are_several_wire_messages(self) -> None:
        """R-12: what else is there comes first; attributes of the whole go with the first."""
        one = tool_result("6.2 m", call_id="k1")
        two = tool_result({"depth": 7}, call_id="k2")
        note = Part("annotation", json={"extra": {"boat": 1}})

        assert encode_messages([tool(one, two)]) == [
            {"role": "tool", "call_id": "k1", "content": "6.2 m"},
            {"role": "tool", "call_id": "k2", "content": '{"depth":7}'},
        ]
        assert encode_messages([tool("Both:", one, two, note)]) == [
            {"role": "tool", "content": "Both:", "extra": {"boat": 1}},
            {"role": "tool", "call_id": "k1", "content": "6.2 m"},
            {"role": "tool", "call_id": "k2", "content": '{"depth":7}'},
        ]

    def test_the_caching_hint_is_wefts_own_entry(self) -> None:
        """R-11: annotation `cache` is `extra.weft.cache`."""
        message = {"role": "user", "content": "long", "extra": {"weft": {"cache": True}}}

        (_, marks) = decode_message(message).parts

        assert marks == Part("annotation", json={"cache": True})

    def test_what_only_a_provider_understands_rides_in_its_entry(self) -> None:
        """R-12, M-56: blocks of every dialect find their way back into parts."""
        sealed = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}
        packed = {"type": "compaction", "content": "x"}
        search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
        code = {"executableCode": {"code": "1"}}
        bare = {"thoughtSignature": "s"}
        message = assistant(
            Part("thinking", json={"dialect": "openai_responses"}, provider_raw=sealed),
            Part("thinking", "plain", json={"dialect": "openai_chat"}, provider_raw={"reasoning_content": "plain"}),
            Part("thinking", json={"dialect": "gemini"}, provider_raw=bare),
            Part("provider", json={"dialect": "anthropic"}, provider_raw=search),
            Part("provider", json={"dialect": "gemini"}, provider_raw=code),
            Part("compaction", provider_raw=packed),
            provider="anthropic",
        )

        (written,) = encode_message(message, InMemoryBlobStore())
        again = decode_message(written)

        assert written["extra"] == {
            "openai_responses": {"thinking_blocks": [sealed]},
            "gemini": {"other_parts": [bare, code]},
            "claude": {"other_blocks": [search, packed]},
        }
        assert [part.provider_raw for part in again.parts if part.type != "annotation"] == [
            sealed,
            None,
            search,
            packed,
            bare,
            code,
        ]

    def test_media_of_a_provider_is_written_so_that_anyone_can_read_it(self) -> None:
        """W-18 (decode): pictures as data URLs, the rest as data with its media type."""
        blobs = InMemoryBlobStore()
        picture = Part("image", blob=blobs.put_blob(PNG, media_type="image/png"))
        film = Part("video", blob=blobs.put_blob(PNG, media_type="video/mp4"), json={"name": "quay.mp4"})
        unnamed = Part("image", blob=blobs.put_blob(PNG))
        remote = Part("file", provider_raw={"file_url": "https://example.org/a.pdf", "filename": "a.pdf"})

        assert encode_messages([user(picture, film, unnamed, remote)], blobs)[0]["content"] == [
            {"type": "image", "url": "data:image/png;base64,iVBORw=="},
            {"type": "file", "data": "iVBORw==", "format": "video/mp4", "name": "quay.mp4"},
            {"type": "image", "url": "data:image/png;base64,iVBORw=="},
            {"type": "file", "url": "https://example.org/a.pdf", "name": "a.pdf"},
        ]

    def test_losses_are_listed_and_strict_raises(self) -> None:
        """R-3: what has no place in a wire message is reported."""
        cited = Part("text", "See.", provider_raw={"type": "text", "text": "See.", "citations": [{}]})
        messages = [user("x"), assistant(cited, Part("provider", provider_raw={"odd": 1}), Part("hologram"))]
        losses: list[ExcludedItem] = []

        written = encode_messages(messages, losses=losses)

        assert written[1] == {"role": "assistant", "content": "See."}
        assert [item.description for item in losses] == [f"messages[1].parts[{p}]" for p in range(3)]
        with pytest.raises(CodecError, match=r"^messages\[1\]\.parts\[0\]: .* \(3 losses in all\)"):
            encode_messages(messages, strict=True)
        assert encode_messages([user("x", Part("json", json={"a": 1}))], strict=True)[0]["content"] == [
            words("x"),
            words('{"a":1}'),
        ]

    def test_marks_that_are_not_ours_do_no_harm(self) -> None:
        """R-12: an annotation or `json` of a message made by hand may hold anything."""
        odd = {"reasoning": 5, "refusal": {"a": 1}, "fields": 3, "absent": "x", "extra": 1, "content_form": []}
        message = assistant(Part("text", "a", json={"wire": 4}), tool_call("dig"), Part("annotation", json=odd))

        (written,) = encode_message(message, InMemoryBlobStore())

        call = {"name": "dig", "arguments": "{}", "id": "t1"}
        assert written == {"role": "assistant", "content": "a", "tool_calls": [call], "extra": 1}

    def test_an_empty_result_and_a_providers_blocks_become_text(self) -> None:
        """R-8, R-12: only content parts stay a list."""
        blocks = [{"type": "image", "source": {"type": "url", "url": "u"}}]

        written = encode_messages([tool(tool_result(None)), tool(tool_result(blocks)), tool(tool_result([words("a")]))])

        assert [message["content"] for message in written] == [
            "",
            '[{"type":"image","source":{"type":"url","url":"u"}}]',
            [words("a")],
        ]

    def test_an_extra_nested_a_thousand_deep_comes_back(self) -> None:
        """J-05: depth is no reason to fail."""
        message = {"role": "user", "content": "x", "extra": nested(1500)}
        blobs = InMemoryBlobStore()

        (written,) = encode_messages(decode_messages([message], blobs), blobs)

        depth, value = 0, written["extra"]
        while value:
            value, depth = value["a"], depth + 1
        assert depth == 1500
