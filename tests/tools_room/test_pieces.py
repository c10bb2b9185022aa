"""The small parts: texts made visible, lines cut and shrunk, results, folders, links, Python functions."""

from __future__ import annotations

import asyncio
import enum
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tool_servers import SHORT, said, using
from weft.blobs import InMemoryBlobStore
from weft.errors import ToolError, UsageError
from weft.tools import (
    Approval,
    Roots,
    Toolbox,
    check_link,
    function_tool,
    hidden_marks,
    open_link,
    reveal,
    reveal_line,
    tool,
    tool_result,
)
from weft.tools.lines import Cut, LineCutter, Spilled, TooLongError, shrink
from weft.tools.results import keeper

# -- visible -------------------------------------------------------------------------------------------------------


def test_controls_and_invisible_characters_become_marks() -> None:
    """M-01, M-11."""
    text = "a\x1b[31m\x9b\x07\u200b\u202e\U000e0041\u2028\u3164\ue000\ud800\ufe00b\n\tc"

    marks = "<U+001B>[31m<U+009B><U+0007><U+200B><U+202E><U+E0041><U+2028><U+3164><U+E000><U+D800><U+FE00>"
    assert reveal(text) == f"a{marks}b\n\tc"
    assert reveal_line("a\nb\tc") == "a<U+000A>b<U+0009>c"
    assert hidden_marks("a\x1b\u200b\u200b") == ("<U+001B>", "<U+200B>")


def test_emoji_and_other_scripts_hide_nothing() -> None:
    text = "Ebbe und Flut 🌊 ❤️ 👩‍🚀, 潮汐, приливы\r\n"

    assert reveal(text.replace("\r", "")) == text.replace("\r", "")
    assert hidden_marks(text) == ()


# -- lines ---------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=20))
def test_lines_are_the_same_however_they_arrive(data: bytes, sizes: list[int]) -> None:
    """M-06: cut at any byte; short lines in memory, long ones in a file."""
    cutter, found = LineCutter(16, 10_000), []
    rest = io.BytesIO(data)
    pieces = [rest.read(size) for size in sizes] + [rest.read()]
    for piece in pieces:
        for line in cutter.feed(piece):
            if isinstance(line, Spilled):
                assert line.size > 16
                with line.file as file:
                    found.append(file.read())
            else:
                assert len(line) <= 16
                found.append(line)
    cutter.close()

    assert found == data.split(b"\n")[:-1]


def test_a_line_beyond_the_limit_of_a_file_is_an_error() -> None:
    """M-06."""
    cutter = LineCutter(4, 64)

    assert [list(cutter.feed(b"x" * 10)) for _ in range(6)] == [[]] * 6
    with pytest.raises(TooLongError, match="more than 64 bytes"):
        list(cutter.feed(b"x" * 10))


long_text = st.text(st.sampled_from(list('ab"\\\n\t/é潮🌊\x00\u2028')), min_size=0, max_size=40).map(
    lambda unit: unit * 400
)


@given(
    st.recursive(
        long_text | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=4,
    ),
    st.booleans(),
    st.integers(1, 97),
)
def test_shrinking_takes_long_texts_out_whole_and_leaves_the_rest_as_it_was(
    value: Any, ascii_only: bool, size: int
) -> None:
    """M-08: whichever way the text is escaped, wherever the chunks end."""
    kept: list[str] = []

    def keep(file: IO[bytes]) -> str:
        kept.append(file.read().decode())
        return f"#{len(kept) - 1}"

    class Slow(io.BytesIO):
        def read(self, _count: int | None = -1) -> bytes:
            return super().read(size)

    message, cuts = shrink(
        Slow(json.dumps(value, ensure_ascii=ascii_only).encode()), head_chars=10, message_bytes=1 << 20, keep=keep
    )

    def restored(item: Any) -> Any:
        if isinstance(item, str):
            for cut in cuts:
                if item.endswith(cut.token):
                    whole = kept[int(cut.kept[1:])]
                    assert cut.size == len(whole.encode())
                    assert item == whole[:10] + cut.token
                    return whole
        if isinstance(item, list):
            return [restored(inner) for inner in item]
        return {key: restored(inner) for key, inner in item.items()} if isinstance(item, dict) else item

    assert restored(json.loads(message)) == value


def test_what_cannot_be_shrunk_is_an_error_and_an_unknown_escape_is_kept_as_it_is() -> None:
    """M-06, M-08."""
    kept: list[bytes] = []

    def keep(file: IO[bytes]) -> str:
        kept.append(file.read())
        return ""

    with pytest.raises(TooLongError, match="its long texts aside"):
        shrink(io.BytesIO(b"[" + b"1," * 5000 + b"1]"), head_chars=10, message_bytes=1000, keep=keep)
    with pytest.raises(TooLongError):
        shrink(io.BytesIO(b"[" + b"1," * 5000 + b'"' + b"x" * 9000), head_chars=10, message_bytes=1000, keep=keep)
    shrink(io.BytesIO(b'"' + rb"\q" * 5000 + b'"'), head_chars=10, message_bytes=1 << 20, keep=keep)
    assert kept == [rb"\q" * 5000]


# -- results -------------------------------------------------------------------------------------------------------


def test_an_answer_becomes_a_block_by_the_table() -> None:
    """T-75 and the table of section 13."""
    content = [{"type": "text", "text": "06:10"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]

    assert tool_result("a___b", {"result": {"content": content}}) == {
        "type": "tool_result",
        "name": "a___b",
        "content": content,
    }
    assert tool_result("a___b", {"result": {"content": content, "isError": True}}, call_id="x") == {
        "type": "tool_result",
        "name": "a___b",
        "tool_use_id": "x",
        "content": content,
        "is_error": True,
    }
    assert tool_result("a___b", {"error": {"code": -1, "message": "no"}}) == {
        "type": "tool_result",
        "name": "a___b",
        "content": [{"type": "text", "text": "MCP Error (-1): no"}],
        "is_error": True,
    }
    assert tool_result("a", {"result": {"content": [], "structuredContent": {"t": 1}}})["content"] == [
        {"type": "text", "text": '{"t":1}'}
    ]
    assert tool_result("a", {"result": {}})["content"] == []
    assert tool_result("a", {})["is_error"] is True


def test_texts_share_the_limit_and_pictures_do_not_count() -> None:
    """M-08."""
    blobs = InMemoryBlobStore()
    picture = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
    content = [
        {"type": "text", "text": "a" * 900},
        picture,
        {"type": "text", "text": "b" * 900},
        {"type": "text", "text": "c" * 900},
    ]

    block = tool_result("a", {"result": {"content": content}}, result_chars=1000, keep=keeper(blobs))

    one, two, three = blobs.list_blobs()[0], *blobs.list_blobs()[1:], None
    assert block["content"][:2] == content[:2]
    assert (
        block["content"][2]["text"]
        == "b" * 100 + f"\n\n[cut by weft: 900 bytes in all; the whole is kept as blob {one.ref.id}]"
    )
    assert two is not None
    assert three is None
    assert block["content"][3]["text"] == f"\n\n[cut by weft: 900 bytes in all; the whole is kept as blob {two.ref.id}]"


def test_what_was_cut_on_the_way_is_told_in_its_place() -> None:
    """M-08: a text keeps its beginning, a picture that is not whole becomes a note; a token nobody made is text."""
    cuts = {"[t1]": Cut("[t1]", 500, "kept as one"), "[t2]": Cut("[t2]", 600, "kept as two")}
    content = [
        {"type": "text", "text": "ebb[t1]"},
        {"type": "image", "data": "AAAA[t2]", "mimeType": "image/png"},
        {"type": "text", "text": "flow [weft-cut-00]"},
        "odd",
    ]

    block = tool_result("a", {"result": {"content": content}}, cuts=cuts)

    assert block["content"] == [
        {"type": "text", "text": "ebb\n\n[cut by weft: 500 bytes in all; kept as one]"},
        {"type": "text", "text": "[image image/png]\n\n[cut by weft: 600 bytes in all; kept as two]"},
        {"type": "text", "text": "flow [weft-cut-00]"},
        "odd",
    ]


# -- roots and links -----------------------------------------------------------------------------------------------


def test_a_path_is_inside_by_where_it_really_leads(tmp_path: Path) -> None:
    """M-17: links, `..` and escapes are followed first; what is outside is refused."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(inside)
    roots = Roots.of([tmp_path / "alias", inside])

    assert roots.uris() == (inside.as_uri(),)
    assert roots.inside(f"file://{inside}/a%20b") == inside / "a b"
    assert roots.inside(inside) == inside
    for place in (
        outside,
        inside / ".." / "out",
        inside / "link" / "x",
        f"file://{inside}/%2e%2e/out",
        f"{inside}x",
        "relative",
        f"file://elsewhere{inside}",
        "https://example.com/in",
    ):
        with pytest.raises(UsageError):
            roots.inside(place)
    with pytest.raises(UsageError):
        Roots().inside(inside)
    with pytest.raises(UsageError, match="is not a folder"):
        Roots.of([tmp_path / "missing"])


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://example.com/",
        "https://",
        "//example.com",
        "https://example.com/\n",
        "https://a@b.example/",
        "https://exam\u200bple.com",
        "http://[::1",
        "https://example.com:x/",
        "--help",
        "",
    ],
)
def test_only_plain_web_addresses_are_opened(url: str) -> None:
    """M-19: not javascript:, not file:, nothing with a hidden part."""
    with pytest.raises(UsageError):
        check_link(url)


def test_an_address_is_opened_without_a_shell(tmp_path: Path) -> None:
    """M-19: what would be code in a shell is one argument."""
    seen = tmp_path / "seen"
    opener = tmp_path / "open"
    opener.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {seen}\n')
    opener.chmod(0o755)

    asyncio.run(open_link("https://example.com/?a=1&b=$(id);c", opener=(str(opener),)))

    assert seen.read_text() == "https://example.com/?a=1&b=$(id);c|"
    with pytest.raises(ToolError, match=r"open this yourself: https://example\.com/"):
        asyncio.run(open_link("https://example.com/", opener=(str(tmp_path / "missing"),)))


# -- functions -----------------------------------------------------------------------------------------------------


class Tide(enum.Enum):
    HIGH = "high"
    LOW = "low"


@dataclass
class Place:
    name: str
    depth: float = 0.0


class Options(TypedDict, total=False):
    metric: bool


@tool
def forecast(
    place: Place,
    tide: Tide,
    days: Annotated[int, "how many"] = 1,
    unit: Literal["m", "ft"] = "m",
    tags: list[str] | None = None,
    levels: tuple[float, ...] = (),
    pair: tuple[int, str] = (0, ""),
    limits: Mapping[str, float] | None = None,
    options: Options | None = None,
    names: Sequence[str] = (),
    anything: Any = None,
) -> dict[str, Any]:
    """Say when the water is high.

    And when it is low.
    """
    return {
        "place": place.name,
        "tide": tide.name,
        "days": days,
        "unit": unit,
        "tags": tags,
        "rest": [levels, pair, limits, options, names, anything],
    }


def test_a_functions_schema_comes_from_its_annotations() -> None:
    listed = function_tool(forecast).listed()

    assert (listed["name"], listed["description"]) == ("forecast", "Say when the water is high.\n\nAnd when it is low.")
    assert listed["inputSchema"] == {
        "type": "object",
        "properties": {
            "place": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "depth": {"type": "number"}},
                "required": ["name"],
                "additionalProperties": False,
            },
            "tide": {"enum": ["high", "low"]},
            "days": {"type": "integer", "description": "how many", "default": 1},
            "unit": {"enum": ["m", "ft"], "default": "m"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
            "levels": {"type": "array", "items": {"type": "number"}},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
            "limits": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}],
                "default": None,
            },
            "options": {
                "anyOf": [
                    {"type": "object", "properties": {"metric": {"type": "boolean"}}, "required": []},
                    {"type": "null"},
                ],
                "default": None,
            },
            "names": {"type": "array", "items": {"type": "string"}},
            "anything": {"default": None},
        },
        "required": ["place", "tide"],
        "additionalProperties": False,
    }


def test_functions_are_listed_and_called_like_any_tool() -> None:
    """No server, no MCP SDK: a plain function, a marked one, an async one, one that fails."""

    def add(a: int, b: float = 1) -> float:
        """Add."""
        return a + b

    @tool(name="shout", description="Louder.")
    async def loud(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    def fail() -> None:
        raise LookupError("no such tide")

    def picture() -> list[Any]:
        return [{"type": "image", "data": "AA==", "mimeType": "image/png"}]

    async def work(toolbox: Toolbox) -> Any:
        names = [listed["name"] for listed in await toolbox.list()]
        calls: list[tuple[str, Any]] = [
            ("add", {"a": 2, "b": 40}),
            ("shout", {"text": "ebb"}),
            ("fail", {}),
            ("picture", None),
            ("add", {"a": "2"}),
            ("add", {"a": True}),
            ("add", {}),
            ("add", {"a": 1, "c": 2}),
            ("forecast", {"place": {"name": "Ostend"}, "tide": "high", "tags": ["x"]}),
            ("forecast", {"place": {"name": 3}, "tide": "high"}),
            ("forecast", {"place": {"name": "x"}, "tide": "medium"}),
            ("forecast", {"place": {"name": "x"}, "tide": "low", "unit": "mile"}),
            ("forecast", {"place": {"name": "x"}, "tide": "low", "tags": [1]}),
        ]
        settled = await toolbox.settle([{"type": "tool_use", "name": "add", "input": {"a": 1}}], Approval("all"))
        return names, [await toolbox.call(name, given) for name, given in calls], settled

    names, blocks, settled = using([], work, functions=[add, loud, fail, picture, forecast])

    assert names == ["add", "shout", "fail", "picture", "forecast"]
    assert [said(block) for block in blocks[:3]] == ["42", "EBB", "LookupError: no such tide"]
    assert blocks[3]["content"][0]["type"] == "image"
    assert [said(block) for block in blocks[4:8]] == [
        "TypeError: argument 'a' must be of type integer, not str",
        "TypeError: argument 'a' must be of type integer, not bool",
        "TypeError: argument 'a' is missing",
        "TypeError: unknown argument 'c'; it takes a, b",
    ]
    assert json.loads(said(blocks[8]))["tide"] == "HIGH"
    assert [block["is_error"] for block in blocks[9:]] == [True] * 4
    assert said(settled.results[0]) == "2"


def test_a_function_that_does_not_come_back_is_given_up() -> None:
    """M-04."""

    async def wait() -> None:
        await asyncio.sleep(60)

    block = using([], lambda toolbox: toolbox.call("wait"), functions=[wait], limits=type(SHORT)(call_s=0.1))

    assert said(block) == "MCP Error (-32001): no answer within 0.1 s"


def test_functions_that_cannot_be_tools_are_refused_with_their_reason() -> None:
    def many(*args: int) -> None: ...

    def odd(when: Path) -> None: ...

    with pytest.raises(UsageError, match="a model gives arguments by name"):
        function_tool(many)
    with pytest.raises(UsageError, match=r"tool odd, argument when: .* has no form in JSON"):
        function_tool(odd)
    with pytest.raises(UsageError, match="a function tool needs a name"):
        function_tool(lambda: None)
    with pytest.raises(UsageError, match="two functions are called forecast"):
        Toolbox(functions=[forecast, forecast])
