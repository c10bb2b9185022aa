"""STF, simple text format (message-codecs.md, section 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import json_values
from tests.support.transcripts import awkward_texts
from tests.support.wire_messages import wire_messages
from weft.errors import CodecError, StfSyntaxError
from weft.formats.json5 import Json5Error, loads
from weft.formats.stf import FORMAT, decode, encode
from weft.formats.wiremessages import ABSENT

EXAMPLE = """\
;meta
{title: 'Harbour watch', crew: 3,}
;end
;# who asks
;user name="Ada B" id=u1
When is high water?
;;semicolons start this line
;ai id=a1
;/* dropped
;sys
;@x
;*/
Let me look.
;toolcall name=tide id=k7
{"port": "Oban"}
;end
;tool call_id=k7
06:10
;msg {role: 'tool', call_id: "k8"}
;extra
{gemini: {thought_signatures: ['c2ln']}}
;end
"""


def said(text: str, **options: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = decode(text, **options)["messages"]
    return messages


def test_the_example_of_the_specification_is_read_as_it_says() -> None:
    assert decode(EXAMPLE) == {
        "metadata": {"title": "Harbour watch", "crew": 3},
        "messages": [
            {
                "role": "user",
                "name": "Ada B",
                "id": "u1",
                "content": "When is high water?\n;semicolons start this line",
            },
            {
                "role": "assistant",
                "id": "a1",
                "content": "Let me look.",
                "tool_calls": [{"name": "tide", "id": "k7", "arguments": '{"port": "Oban"}'}],
            },
            {"role": "tool", "call_id": "k7", "content": "06:10"},
            {"role": "tool", "call_id": "k8", "content": "", "extra": {"gemini": {"thought_signatures": ["c2ln"]}}},
        ],
    }


def test_only_newlines_part_lines() -> None:
    """W-39: a carriage return is content like any other; blanks are spaces and tabs."""
    assert said(";user\na\r\nb\x0bc\u2028") == [{"role": "user", "content": "a\r\nb\x0bc\u2028"}]
    assert said(";\t user \t name=x") == [{"role": "user", "name": "x", "content": ""}]


def test_a_line_that_begins_with_a_space_is_data() -> None:
    """W-40."""
    assert said(";user\n ;ai") == [{"role": "user", "content": " ;ai"}]
    with pytest.raises(StfSyntaxError, match="line 1"):
        decode(" ;user")


@pytest.mark.parametrize(
    ("text", "stripped", "kept"),
    [(";user\nHi\n", "Hi", "Hi\n"), (";user\nx\n\n", "x\n", "x\n\n"), (";user\nx", "x", "x"), (";user\n", "", "")],
)
def test_the_last_newline_ends_the_last_line(text: str, stripped: str, kept: str) -> None:
    """W-41."""
    assert said(text)[0]["content"] == stripped
    assert said(text, final_newline="keep")[0]["content"] == kept
    assert encode([{"role": "user", "content": "Hi"}]).endswith("Hi\n")


def test_data_is_joined_by_newlines() -> None:
    """W-42."""
    assert said(";user\n\nx\n\n;ai") == [{"role": "user", "content": "\nx\n"}, {"role": "assistant", "content": ""}]


def test_data_outside_of_messages_needs_a_default_role() -> None:
    """W-43."""
    assert decode("") == decode(" \n\t") == {"messages": []}
    with pytest.raises(StfSyntaxError, match="line 3"):
        decode("\n \nhello")
    assert said("\nhello\n\nyou", default_role="user") == [{"role": "user", "content": "hello\n\nyou"}]


def test_content_goes_on_after_a_field() -> None:
    """W-44, W-45."""
    assert said(";user\na\n;extra\n1\n;end\nb") == [{"role": "user", "content": "ab", "extra": 1}]
    assert said(";user") == [{"role": "user", "content": ""}]


def test_comments_are_ignored_and_nest() -> None:
    """W-46: also what is no command, also inside other commands; they do not part data."""
    text = ";user\na\n;# no\n;// no\n; /* one\n;/* two\n;*/ still\nx\n;Bad\n;user\n;*/\nb"
    assert said(text) == [{"role": "user", "content": "a\nb"}]
    assert said(";user\n;extra\n;# no\n{a:\n;/*\n}\n;*/\n1}\n;end") == [
        {"role": "user", "content": "", "extra": {"a": 1}}
    ]


def test_comments_that_are_not_opened_or_closed_are_errors() -> None:
    """W-47, W-58: with the line that opened them."""
    for text, line in ((";user\n;*/", 2), (";user\n;/*\n;/*\n;*/\nx", 2)):
        with pytest.raises(StfSyntaxError) as caught:
            decode(text)
        assert caught.value.line == line


def test_arguments_are_pairs_or_an_object() -> None:
    """W-48, W-49."""
    assert said(""";user{name:'x',id:"y"}""")[0] == {"role": "user", "name": "x", "id": "y", "content": ""}
    assert said(r""";user name = 'a\tb\'c' id= "\u00e9" call_id=a"b=c""")[0] == {
        "role": "user",
        "name": "a\tb'c",
        "id": "é",
        "call_id": 'a"b=c',
        "content": "",
    }


@pytest.mark.parametrize(
    "line",
    [
        ";user 1=x",
        ";user _a=x",
        ";user name",
        ";user name x",
        ";user name=",
        ";user name= ",
        ";user a=1 a=2",
        ';user name="x',
        ";user name='x\\",
        ";user name=x {}",
        ";user name=x'",
        ';user name="x"id=y',
        ";user {",
        ";user {name:1}",
        ";user {} x",
        ";user [1]",
        ";user {name:null}",
    ],
)
def test_arguments_that_cannot_be_read(line: str) -> None:
    """W-50, W-51, W-58."""
    with pytest.raises(StfSyntaxError) as caught:
        decode(f";user\n{line}")
    assert caught.value.line == 2
    assert caught.value.where == "line 2"


def test_unknown_arguments_are_ignored() -> None:
    """W-51; a role beside a role command too."""
    assert said(";user x=1 role=tool") == [{"role": "user", "content": ""}]
    assert said(";user {x: 1}") == [{"role": "user", "content": ""}]


def test_commands_are_lower_case_and_known() -> None:
    """W-52, W-59."""
    for line in (";User", ";tool_call name=x", ";nothing", ";user@", ";1", ";"):
        with pytest.raises(StfSyntaxError, match="line 1"):
            decode(line)
    with pytest.raises(StfSyntaxError, match="nothing"):
        decode(";nothing")


def test_every_role_has_its_command() -> None:
    roles = [
        message["role"]
        for message in said(";system\n;sys\n;developer\n;dev\n;user\n;assistant\n;ai\n;tool\n;msg role=x\n;msg")
    ]
    assert roles == ["system"] * 2 + ["developer"] * 2 + ["user"] + ["assistant"] * 2 + ["tool", "x", "x"]
    with pytest.raises(StfSyntaxError, match="role"):
        decode(";msg")
    assert said(";message", default_role="user") == [{"role": "user", "content": ""}]
    with pytest.raises(StfSyntaxError, match="role"):
        decode(";user\n;flush\n;msg")


def test_meta_and_extra_are_merged_at_the_top() -> None:
    """W-53."""
    text = ";meta\n{a:{x:1},b:1}\n;end\n;user\n;extra\n{a:{x:1}}\n;end\n;extra\n{a:{y:1}}\n;end\n;meta\n{a:2}\n;end"
    assert decode(text) == {
        "metadata": {"a": 2, "b": 1},
        "messages": [{"role": "user", "content": "", "extra": {"a": {"y": 1}}}],
    }
    assert decode(";meta\n{}\n;end\n;meta\n0\n;end")["metadata"] == 0


@pytest.mark.parametrize("command", ["extra", "reasoning", "refusal", "toolcall name=x", "call name=x"])
def test_fields_need_a_message(command: str) -> None:
    """W-54, W-55: after raw there is none."""
    for before in ("", ";raw\n{role:'user',content:''}\n;end\n", ";user\n;flush\n"):
        with pytest.raises(StfSyntaxError, match="needs a message"):
            decode(f"{before};{command}\nx\n;end")


def test_after_raw_there_is_no_message() -> None:
    """W-55."""
    raw = ";raw\n{role:'user',content:'r',}\n;end ---"
    assert said(raw) == [{"role": "user", "content": "r"}]
    for rest in ("x", ";msg"):
        with pytest.raises(StfSyntaxError):
            decode(f"{raw}\n{rest}")
    assert [message["content"] for message in said(f";ai\na\n{raw}\n;ai\nb")] == ["a", "r", "b"]
    with pytest.raises(StfSyntaxError, match="role"):
        decode(";raw\n{content:''}\n;end")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (";end", 1),
        (";meta\n{a:1}", 1),
        (";user\n;extra\n;user\n;end", 3),
        (";meta\n1\n;end x", 3),
        (";user\n;call\n;end", 2),
    ],
)
def test_commands_with_a_body_end_with_end(text: str, line: int) -> None:
    """W-56, W-58."""
    with pytest.raises(StfSyntaxError) as caught:
        decode(text)
    assert caught.value.line == line


def test_bodies_are_escaped_like_text() -> None:
    """W-56, W-62."""
    assert said(";ai\n;reasoning\n;;end\n;end\n;refusal\n\n\n;end\n;reasoning\nx\n;end")[0] == {
        "role": "assistant",
        "content": "",
        "reasoning": ";endx",
        "refusal": "\n",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a:1,/*x*/'b':[1,2,],\n// y\n\"c\":'d',}", {"a": 1, "b": [1, 2], "c": "d"}),
        ("[0x1F,.5,5.,+1,-0x2,1e3,-.5e-1]", [31, 0.5, 5.0, 1, -2, 1000.0, -0.05]),
        ("[Infinity,-Infinity]", [float("inf"), float("-inf")]),
        (
            r"'a\
b\x41\u00e9\v\0\'\q\ud83d\ude00'",
            "abAé\v\0'q\U0001f600",
        ),
        ("{$a_1:null,\\u0062:true,ünder:false}", {"$a_1": None, "b": True, "ünder": False}),
        ("-0", 0),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_json5_is_read(text: str, value: Any) -> None:
    """W-57."""
    assert loads(text) == value
    assert decode(f";meta\n{text}\n;end")["metadata"] == value


def test_json5_not_a_number() -> None:
    """W-57."""
    assert str(loads("NaN")) == "nan"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1",
        "{a}",
        "{a:1 b:2}",
        "'x",
        "1 2",
        "01",
        "1x",
        "/*",
        "{1:2}",
        "[1 2]",
        "'\\x4'",
        "'\\1'",
        "'\\01'",
        "@",
        "'\n'",
        "tru",
    ],
)
def test_what_is_no_json5_is_an_error_with_its_line(text: str) -> None:
    """W-58."""
    with pytest.raises(Json5Error):
        loads(text)
    with pytest.raises(StfSyntaxError):
        decode(f";meta\n{text}\n;end")
    with pytest.raises(Json5Error):
        loads("{a:" * 2000)


def test_only_text_is_read() -> None:
    """W-58."""
    with pytest.raises(TypeError):
        decode(b";user")  # type: ignore[arg-type]
    with pytest.raises(StfSyntaxError, match="line 2"):
        FORMAT.load(b";user\n\xff")


def test_the_form_of_what_is_written() -> None:
    """W-60, W-61: command, arguments, content, reasoning, refusal, calls, extra."""
    message = {
        "role": "assistant",
        "content": ";a",
        "reasoning": "r",
        "refusal": "",
        "tool_calls": [{"name": "x y", "arguments": "{}", "id": "k", "call_id": "l"}],
        "name": 'q"',
        "id": "",
        "call_id": "a\nb",
        "extra": {"x": 1},
    }
    assert encode([message], {"m": 1}) == (
        ';meta\n{"m":1}\n;end\n;ai name="q\\"" id="" call_id="a\\nb"\n;;a\n;reasoning\nr\n;end\n;refusal\n;end\n'
        ';toolcall name="x y" id=k call_id=l\n{}\n;end\n;extra\n{"x":1}\n;end\n'
    )
    assert encode([{"role": "critic", "content": ""}]) == ";msg role=critic\n"
    assert encode([]) == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": []},
        {"role": "user", "content": "", "reasoning": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": "", "tool_calls": [{"name": "x", "arguments": "", "extra": 1}]},
        {"role": "user", "content": "", "unknown": 1},
        {"role": "user", "content": "", "id": None},
        {"role": "user", "content": "\ud800"},
        {"role": "user", "content": "", "tool_calls": []},
    ],
)
def test_what_commands_cannot_say_is_written_raw(message: dict[str, Any]) -> None:
    """W-63."""
    assert encode([message]).startswith(";raw\n{\n")
    assert said(encode([message])) == [message]


def test_fields_can_be_switched_off() -> None:
    """Also in what is written raw."""
    message = {"role": "user", "content": "c", "reasoning": "r", "refusal": "f", "extra": 1, "tool_calls": []}
    off = {"extra": False, "reasoning": False, "refusal": False, "tool_calls": False}
    assert encode([message], {"m": 1}, with_metadata=False, **off) == ";user\nc\n"
    assert '"extra"' not in encode([{**message, "unknown": 1}], extra=False)


@pytest.mark.parametrize("content", [" ", "\n", "", "\n\n", " \n", ";a\n\n;b\n", ";", "\t;"])
def test_blank_content_survives(content: str) -> None:
    """W-64, acceptance case 10."""
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    assert said(encode(messages)) == messages


@given(st.lists(wire_messages, max_size=3), json_values(max_leaves=5) | st.just(ABSENT))
def test_what_is_written_reads_back(messages: list[dict[str, Any]], metadata: Any) -> None:
    """W-65."""
    from tests.formats.test_wire_files import _as_text

    expected = {"messages": _as_text(messages)} | ({} if metadata is ABSENT else {"metadata": metadata})
    assert decode(encode(messages, metadata)) == expected


@given(awkward_texts, awkward_texts)
def test_separators_in_every_field_are_text(one: str, other: str) -> None:
    """W-65, J-11."""
    message = {
        "role": one,
        "content": other,
        "reasoning": one,
        "refusal": other,
        "id": one,
        "name": other,
        "call_id": one,
        "tool_calls": [{"name": one, "arguments": other, "id": other}],
        "extra": {one: other},
    }
    assert said(encode([message, message])) == [message, message]


def test_a_file_keeps_metadata_that_comes_late() -> None:
    transcript = FORMAT.load(";user\nx\n;ai\ny\n;meta\n{title: 't'}\n;end\n")
    assert transcript.session.title == "t"
    assert [entry.message.role for entry in transcript.entries] == ["user", "assistant"]
    with pytest.raises(CodecError, match="line 1"):
        FORMAT.load(";raw\n{role:'user'}\n;end")
