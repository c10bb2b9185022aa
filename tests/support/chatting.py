"""Chats for tests: a store of the test's own, the real simulator on loopback, and servers that really run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.sim import running_simulator
from weft.chat import Called, Chat, Outcome
from weft.client import Client, Registry, RetryPolicy
from weft.providers import KeyPlaces
from weft.sim import Simulator
from weft.store import Frame
from weft.tools import Approval, Server, Toolbox

__all__ = ["CLAUDE", "GEMINI", "GPT", "HARBOUR", "RESPONSES", "Talk", "simulator", "talk"]

CLAUDE, GEMINI, GPT, RESPONSES = (
    "anthropic/claude-sonnet-4-6",
    "gemini/gemini-3-pro-preview",
    "openai/gpt-5.2",
    "openai-responses/gpt-5.2",
)
HARBOUR = Server(name="harbour", command=(sys.executable, "-m", "weft.cli.demo_tools"))


class Talk:
    """Ask a simulator about threads of one store, and look at what is in the log afterwards."""

    def __init__(self, store: weft.Store, simulator: Simulator) -> None:
        self.store, self.simulator = store, simulator
        self.said: list[str] = []
        self.shown: list[dict[str, Any]] = []

    def registry(self, **rest: Any) -> Registry:
        environ = self.simulator.environment()
        return Registry(KeyPlaces(environ, use_keyring=False), environ, **rest)

    async def _with(self, work: Any, *, functions: Any = (), servers: Any = (), **rest: Any) -> Any:
        async with (
            Client({}, retries=RetryPolicy(attempts=1)) as client,
            Toolbox(servers, functions=functions) as toolbox,
        ):
            chat = Chat(
                self.store,
                rest.pop("registry", None) or self.registry(),
                client,
                toolbox=toolbox if functions or servers else None,
                on_event=lambda event: self.shown.append(dict(event)),
                say=self.said.append,
                **rest,
            )
            return await work(chat)

    def call(self, headish: str, *, how: dict[str, Any] | None = None, **rest: Any) -> Called:
        called: Called = asyncio.run(self._with(lambda chat: chat.call(headish, **(how or {})), **rest))
        return called

    def process(self, headish: str, *, how: dict[str, Any] | None = None, **rest: Any) -> Outcome:
        """Process a turn; tools run if `approval` says so."""
        rest.setdefault("approval", Approval("all"))
        outcome: Outcome = asyncio.run(self._with(lambda chat: chat.process(headish, **(how or {})), **rest))
        return outcome

    def ask(self, text: str, ptr: str | None = CLAUDE, **parameters: Any) -> Outcome:
        known = {"continues", "bookmark", "cache", "servers", "search", "tool_mode"}
        given = {name: parameters.pop(name) for name in known & parameters.keys()}
        return self.process(self.store.add_turn(text, provider_ptr=ptr, **given).id, **parameters)

    def frames(self, topic: str) -> list[Frame]:
        return self.store.frames.frames_of(topic)

    def received(self) -> list[dict[str, Any]]:
        """The payloads of all gpt.recv frames."""
        from weft.jsontext import loads

        return [loads(self.store.frames.payload(frame.hash or "")) for frame in self.frames("gpt.recv")]

    def sent(self, at: int = -1) -> dict[str, Any]:
        """The body of a request as it arrived."""
        body: dict[str, Any] = self.simulator.seen[at].body
        return body


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture
def talk(tmp_path: Path, simulator: Simulator) -> Iterator[Talk]:
    simulator.seen.clear()
    with weft.open_store(tmp_path / "store") as store:
        yield Talk(store, simulator)
        assert store.fsck() == []
