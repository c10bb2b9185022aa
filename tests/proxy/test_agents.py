"""Agents as people write them, recorded, cooked, seen, kept as threads, and continued with someone else.

Each program of `programs/` is run by `weft record` against the simulator, with a tool. For every API that it speaks it
does the same: a loop with whole answers; a loop with streamed ones; and one more question in the latter conversation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.asking import GEMINI, sim, simulator
from tests.support.cli import Weft, program, weft
from tests.support.viewing import running_viewer, until
from weft.sim import ANY_KEY, Simulator
from weft.trace import Exchange
from weft.web import open_recorded

__all__ = ["sim", "simulator", "weft"]

PROGRAMS = Path(__file__).parent / "programs"
# Requests by number: a loop is a chain, what is asked in its conversation goes on from it, and another loop is a root.
FOREST = (None, 0, None, 2, 3)
CHAT, RESPONSES = ("openai", "/v1/chat/completions"), ("openai", "/v1/responses")
ANTHROPIC, COHERE = ("anthropic", "/v1/messages"), ("cohere", "/cohere/v2/chat")  # the simulator has it under a prefix
GOOGLE = ("gemini", "/v1/models/gemini-3-pro-preview:generateContent")


class Agent(NamedTuple):
    """A program, and how it speaks."""

    name: str
    apis: tuple[tuple[str, str], ...]
    streams: str  # of five requests, which are answered as a stream: one letter each


AGENTS = [
    Agent("official_sdks", (CHAT, RESPONSES, ANTHROPIC, GOOGLE, COHERE), "..~~."),
    Agent("llm", (CHAT, RESPONSES), "..~~~"),
    Agent("openai_agents", (CHAT, RESPONSES), "..~~."),
    Agent("pydantic_ai", (CHAT, RESPONSES, ANTHROPIC), "..~~."),
]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_is_recorded_seen_kept_and_continued(agent: Agent, weft: Weft, sim: Simulator, tmp_path: Path) -> None:
    """Requirement: real clients, whole and streamed, with tools; their traces cook, view and import."""
    trace = _recorded(agent, tmp_path)

    _holds_whole_records(trace, agent)
    requests = _cooked(weft, trace)
    parents = [None if one["parent_id"] is None else _at(requests, one["parent_id"]) for one in requests]
    assert parents == [
        None if parent is None else parent + 5 * api for api in range(len(agent.apis)) for parent in FOREST
    ]
    _is_seen_in_the_viewer(trace, requests)
    _becomes_threads(weft, trace, requests)
    _goes_on_elsewhere(weft, sim, requests)


def _recorded(agent: Agent, folder: Path) -> Path:
    trace = folder / "trace.jsonl"
    (folder / "llm").mkdir()
    # What is measured is weft's coverage; in the agent it would only cost time.
    unmeasured = ["env", "-u", "COVERAGE_PROCESS_CONFIG", "-u", "COVERAGE_PROCESS_START"]
    command = [*unmeasured, sys.executable, str(PROGRAMS / f"{agent.name}_program.py")]

    ran = program("record", "-o", str(trace), "--", *command, env={"LLM_USER_PATH": str(folder / "llm")})

    assert ran.status == 0, ran.err
    assert f"recorded {5 * len(agent.apis)} exchanges in {trace}" in ran.err
    return trace


def _holds_whole_records(trace: Path, agent: Agent) -> None:
    """Every record is complete and of its provider; nothing of a key is there."""
    records = [Exchange.from_record(json.loads(line)) for line in trace.read_bytes().splitlines()]
    assert [(one.provider, _plain(one.path)) for one in records] == [api for api in agent.apis for _ in FOREST]
    assert {(one.status, one.state, one.error) for one in records} == {(200, "complete", None)}
    for number, one in enumerate(records):
        # pydantic-ai asks Anthropic for streams even when it gives whole answers.
        as_stream = agent.streams[number % 5] == "~" or (agent.name, one.provider) == ("pydantic_ai", "anthropic")
        assert (number, one.is_stream) == (number, as_stream)
    assert ANY_KEY.encode() not in trace.read_bytes()


def _plain(path: str | None) -> str:
    """Give a path without its query; all ways of asking Gemini are one."""
    plain = (path or "").partition("?")[0].replace("/v1beta/", "/v1/")
    return plain.replace(":streamGenerateContent", ":generateContent")


def _cooked(weft: Weft, trace: Path) -> list[dict[str, Any]]:
    weft("cook", str(trace), "-o", str(trace.with_suffix(".json")))
    cooked = json.loads(trace.with_suffix(".json").read_bytes())
    assert [tool["name"] for tool in cooked["tools"]] == ["depth"] * len(cooked["tools"])
    requests: list[dict[str, Any]] = cooked["requests"]
    return requests


def _at(requests: list[dict[str, Any]], request_id: str) -> int:
    return [one["id"] for one in requests].index(request_id)


def _is_seen_in_the_viewer(trace: Path, requests: list[dict[str, Any]]) -> None:
    """The viewer's graph has every request, and each shows what is new in it, its tool and its answer."""
    with running_viewer([open_recorded("f1", trace)]) as page:
        until(lambda: not page.get("/api/sources/f1")["is_loading"])
        rows = page.get("/api/sources/f1/graph")["rows"]
        assert [row["record_id"] for row in rows] == [one["id"] for one in requests]
        assert [row["parent_row"] for row in rows[:5]] == [*FOREST]
        at = f"/api/sources/f1/rows/{rows[4]['id']}"
        last = page.get(at)
        assert (last["against_id"], last["can_fork"]) == (rows[3]["id"], False)
        assert last["response"][-1]["gist"] == "You said: And there?"
        assert [tool["name"] for tool in page.get(f"{at}/tools")["tools"]] == ["depth"]
        items = page.get(f"{at}/diff")["items"]
        assert [item["op"] for item in items] == ["unchanged"] * (len(items) - 1) + ["added"]


def _becomes_threads(weft: Weft, trace: Path, requests: list[dict[str, Any]]) -> None:
    """What two requests have in common is stored once: a request adds its new message and its answer, no more."""
    imported = weft("import", str(trace), "--json").json
    again = weft("import", str(trace), "--json").json

    assert (imported["problems"], again["new_turns"]) == ([], 0)
    threads = {one["id"]: _thread(weft, one["turn_id"]) for one in imported["requests"]}
    assert list(threads) == [one["id"] for one in requests]
    new = {one["id"]: one["new_turns"] for one in imported["requests"]}
    for one in requests:
        if one["parent_id"] is not None:
            earlier = threads[one["parent_id"]]
            assert (new[one["id"]], threads[one["id"]][2:]) == (2, earlier)


def _thread(weft: Weft, turn_id: str) -> list[str]:
    return [turn["id"] for turn in weft("log", turn_id, "-n", "0", "--json").json]


def _goes_on_elsewhere(weft: Weft, sim: Simulator, requests: list[dict[str, Any]]) -> None:
    """A captured run continues in a dialect that the agent never spoke, tool calls and all."""
    ran = weft("ask", "-c", requests[3]["id"], "-m", GEMINI, "Try again, but slowly.")

    assert ran.out == "You said: Try again, but slowly.\n"
    sent = sim.seen[-1].body
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user", "model", "user"]
    assert sent["contents"][1]["parts"][0]["functionCall"]["args"] == {"pier": 4}
    assert "6.2 m at pier 4" in json.dumps(sent["contents"][2])
    assert sent["systemInstruction"]["parts"][0]["text"] == "You are a sailor."
    assert [tool["name"] for tool in sent["tools"][0]["functionDeclarations"]] == ["depth"]
