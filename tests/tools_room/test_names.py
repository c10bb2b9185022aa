from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tool_servers import hostile, said, using
from weft.errors import UsageError
from weft.tools import Names, Route, Server, Toolbox, split_name


def listed(*servers: Server) -> tuple[list[str], list[str]]:
    async def work(toolbox: Toolbox) -> Any:
        return [tool["name"] for tool in await toolbox.list()], list(toolbox.notices)

    names, notices = using(servers, work)
    return names, notices


def test_a_name_is_server_and_tool_with_three_underscores_between() -> None:
    """T-73: and back by the map; a tool's name may hold the separator itself."""
    names = Names()

    assert names.add(Route("north", "tide")) == ("north___tide", None)
    assert names.add(Route("north", "a___b")) == ("north___a___b", None)
    assert names.find("north___a___b") == Route("north", "a___b")
    assert names.find("north___nothing") is None
    assert names.add(Route("north", "tide")) == ("north___tide", None)


@pytest.mark.parametrize(
    ("shown", "route"),
    [
        ("a___b", Route("a", "b")),
        ("a___b___c", Route("a", "b___c")),
        ("a____b", Route("a", "_b")),
        ("ab", None),
        ("___b", None),
        ("a___", None),
        ("", None),
    ],
)
def test_a_name_of_stored_history_is_split_at_its_first_separator(shown: str, route: Route | None) -> None:
    """T-73."""
    assert split_name(shown) == route


def test_names_that_no_provider_takes_are_shown_as_ones_they_take_and_still_lead_home() -> None:
    """M-09: slashes, dots and spaces; a model calls what it is shown, the server hears its own name."""
    names = ["a/b", "a.b", "a b", "a___b", "x" * 100]
    server = hostile(f"names={json.dumps(names)}")

    async def work(toolbox: Toolbox) -> Any:
        tools = await toolbox.list()
        return (
            [
                (tool["name"], (await toolbox.find(tool["name"])).route.tool)  # type: ignore[union-attr]
                for tool in tools
            ],
            said(await toolbox.call(tools[1]["name"], {"message": "hello"})),
            list(toolbox.notices),
        )

    pairs, echoed, notices = using([server], work)

    assert [tool for _, tool in pairs] == names
    shown = [name for name, _ in pairs]
    assert shown[0] == "bad___a_b"
    assert shown[3] == "bad___a___b"
    assert len(set(shown)) == 5
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in shown)
    assert echoed == "hello"
    assert notices[0] == "tool 'a/b' of server bad is shown to models as bad___a_b"
    assert notices[1].startswith("tool 'a.b' of server bad and tool 'a/b' of server bad clash as bad___a_b")


def test_names_that_nobody_could_read_are_refused_and_the_rest_stay() -> None:
    """M-09: control characters, invisible ones, ten kilobytes, nothing at all."""
    names = ["fine", "bell\a", "zero\u200bwidth", "line\nline", "x" * 10_240, " ", "fine"]

    shown, notices = listed(hostile(f"names={json.dumps(names)}"))

    assert shown == ["bad___fine"]
    assert notices == [
        "left out: tool 'bell<U+0007>' of server bad: a tool's name with characters nobody sees: <U+0007>",
        "left out: tool 'zero<U+200B>width' of server bad: a tool's name with characters nobody sees: <U+200B>",
        "left out: tool 'line<U+000A>line' of server bad: a tool's name with characters nobody sees: <U+000A>",
        f"left out: tool '{'x' * 80}…' of server bad: a tool's name of 10240 characters; 256 at most",
        "left out: tool ' ' of server bad: a tool without a name",
        "server bad has two tools called fine; the second is left out",
    ]


def test_two_servers_may_have_tools_of_the_same_name() -> None:
    """M-09: also where server and tool together would read the same."""
    shown, notices = listed(
        hostile('names=["tide", "_tide"]', name="north"),
        hostile('names=["tide"]', name="north_"),
        hostile('names=["tide"]', name="south"),
    )

    assert shown[:2] == ["north___tide", "north____tide"]
    assert shown[2].startswith("north____tide_")
    assert shown[3] == "south___tide"
    assert len(notices) == 1
    assert "clash as north____tide" in notices[0]


@pytest.mark.parametrize("name", ["", "a___b", "a\nb", "a\x1b[31m", "x" * 65, "_a", "a;b", "ü"])
def test_a_server_may_not_be_called_just_anything(name: str) -> None:
    """T-73, M-09."""
    with pytest.raises(UsageError):
        Server(name=name, command=("x",))


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "a_", "b"]), st.text(st.sampled_from("ab_. /-"), min_size=1, max_size=70)),
        unique=True,
    )
)
def test_every_shown_name_leads_back_to_its_own_tool(pairs: list[tuple[str, str]]) -> None:
    """M-09: one to one, whatever the names."""
    names = Names()
    shown = {}
    for server, tool in pairs:
        if tool.strip():
            shown[names.add(Route(server, tool))[0]] = Route(server, tool)

    assert {name: names.find(name) for name in shown} == shown
    assert len(shown) == sum(1 for _, tool in pairs if tool.strip())
