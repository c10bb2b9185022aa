"""Runs: a fork is answered by the same loop as on the command line, and the page sees it as it happens.

Who can be called, with which key and tools, comes in from `cli/` as a way to open a chat. A tool call asks the page and
waits; a page that is closed asks again when it comes back, as a run remembers how it stands.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from weft.errors import WeftError
from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.forks import fork_of, write_fork

if TYPE_CHECKING:
    from weft.chat import Chat
    from weft.threads import Turn
    from weft.web.live import Hub
    from weft.web.source import Source
    from weft.web.threadsource import ThreadsSource

__all__ = ["Asked", "OpenChat", "Runs", "Verdict"]

_KEPT = 50
_KINDS = frozenset({"text", "thinking", "refusal", "tool_use"})
_CHOICES = frozenset({"yes", "different", "no", "yolo"})


class Asked(NamedTuple):
    """A tool call that wants to run, as the page shows it."""

    tool: str
    server: str | None
    call_id: str | None
    arguments: str
    description: str
    hidden: tuple[str, ...]
    changes: str
    text: str


class Verdict(NamedTuple):
    """What a person said to it."""

    choice: contract.ApprovalChoice
    text: str = ""
    remember: bool = False


class OpenChat(Protocol):
    """A way to open a chat over the store that keeps the answers."""

    def __call__(
        self,
        *,
        on_event: Callable[[Mapping[str, Any]], None],
        on_turn: Callable[[Turn], None],
        say: Callable[[str], None],
        ask: Callable[[Asked], Awaitable[Verdict]],
    ) -> AbstractAsyncContextManager[Chat]:
        """Give the chat, for as long as one run lasts."""
        ...


@dataclass(slots=True)
class _Run:
    """One run and how it stands."""

    id: str
    model: str
    base_id: str | None = None
    turn_id: str | None = None
    state: contract.RunState = "running"
    answer: list[contract.Answer] = field(default_factory=list)
    question: contract.EventRunAsk | None = None
    verdict: asyncio.Future[Verdict] | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    why: str = ""
    task: asyncio.Task[None] | None = None
    questions: int = 0


class Runs:
    """The runs of one server."""

    def __init__(
        self,
        source: ThreadsSource,
        open_chat: OpenChat,
        choices: Callable[[], contract.RunChoices],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep answers in the store of a source."""
        self._clock = clock
        self.source = source
        self.choices = choices
        self.hub: Hub | None = None
        self._open_chat = open_chat
        self._runs: dict[str, _Run] = {}
        self._numbers = itertools.count(1)

    # -- asking ------------------------------------------------------------------------------------------------

    def listed(self) -> list[contract.Run]:
        """List runs, newest first."""
        return [self._shown(run) for run in reversed(self._runs.values())]

    def shown(self, run_id: str) -> contract.Run:
        """Give one run as it stands."""
        return self._shown(self._find(run_id))

    def _find(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise RefusedError(404, "not_found", "no such run")
        return run

    def _shown(self, run: _Run) -> contract.Run:
        return {
            "id": run.id,
            "state": run.state,
            "source_id": self.source.id,
            "base_id": run.base_id,
            "turn_id": run.turn_id,
            "model": run.model,
            "answer": [dict(piece) for piece in run.answer],  # type: ignore[misc]  # a copy of the same shape
            "question": run.question,
            "notes": list(run.notes),
            "error": run.error,
            "why": run.why,
        }

    # -- doing -------------------------------------------------------------------------------------------------

    async def begin(
        self, source: Source, body: Mapping[str, Any], *, on_turn: Callable[[Source], None]
    ) -> contract.Run:
        """Write the fork and have it answered; gives the run at once."""
        row_id = body.get("row_id")
        if not isinstance(row_id, str):
            raise RefusedError(400, "parameter", "row_id is missing")
        fork = fork_of(body)
        wants_answer = fork.append is not None
        base = await asyncio.to_thread(source.base_of, row_id, wants_answer=wants_answer, edited=bool(fork.edits))
        turn = await asyncio.to_thread(write_fork, self.source, base, fork, now_ms=int(self._clock() * 1000))
        run = _Run(f"run{next(self._numbers)}", fork.model, turn.id, turn.id)
        self._runs[run.id] = run
        for old in list(self._runs)[:-_KEPT]:
            if self._runs[old].task is None or self._runs[old].state not in ("running", "asking"):
                del self._runs[old]
        on_turn(self.source)
        self._tell({"type": "run_begun", "run": self._shown(run)})
        run.task = asyncio.create_task(self._answer(run, on_turn))
        return self._shown(run)

    async def _answer(self, run: _Run, on_turn: Callable[[Source], None]) -> None:
        def added(turn: Turn) -> None:
            run.turn_id, run.answer = turn.id, []
            on_turn(self.source)
            self._tell(
                {
                    "type": "run_turn",
                    "run_id": run.id,
                    "source_id": self.source.id,
                    "turn_id": turn.id,
                    "role": turn.role,
                }
            )

        def say(line: str) -> None:
            run.notes.append(line)
            self._tell({"type": "run_note", "run_id": run.id, "text": line})

        try:
            async with self._open_chat(
                on_event=lambda event: self._heard(run, event),
                on_turn=added,
                say=say,
                ask=lambda asked: self._ask(run, asked),
            ) as chat:
                outcome = await chat.process(run.base_id or "", model=run.model or None)
            run.state, run.why = ("stopped" if outcome.stopped else "done"), outcome.why
        except asyncio.CancelledError:
            run.state, run.why = "stopped", "stopped"
        except WeftError as error:
            run.state, run.error = "failed", str(error)
        except Exception as error:  # noqa: BLE001 - a run ends with a word to the page, whatever happened
            run.state, run.error = "failed", f"a fault in weft itself: {type(error).__name__}"
        finally:
            run.question = run.verdict = None
            on_turn(self.source)
            self._tell({"type": "run_ended", "run": self._shown(run)})

    def _heard(self, run: _Run, event: Mapping[str, Any]) -> None:
        """Take one piece of an answer [T-58]; one without a type goes on with the piece before."""
        kind, name, content = event.get("type"), event.get("name"), event.get("content")
        text = content if isinstance(content, str) else ""
        last = run.answer[-1] if run.answer else None
        if kind is None and last is not None:
            kind, name = last["kind"], last["name"]
        if kind not in _KINDS:
            return
        name = name if isinstance(name, str) else None
        if last is not None and last["kind"] == kind and last["name"] == name and (event.get("type") is None or text):
            last["text"] += text
        else:
            run.answer.append({"kind": kind, "name": name, "text": text})
        self._tell({"type": "run_delta", "run_id": run.id, "kind": kind, "name": name, "text": text})

    async def _ask(self, run: _Run, asked: Asked) -> Verdict:
        run.questions += 1
        question: contract.EventRunAsk = {
            "type": "run_ask",
            "run_id": run.id,
            "question_id": f"q{run.questions}",
            "tool": asked.tool,
            "server": asked.server,
            "call_id": asked.call_id,
            "arguments": asked.arguments,
            "description": asked.description,
            "hidden": list(asked.hidden),
            "changes": asked.changes,
            "text": asked.text,
        }
        run.question, run.state = question, "asking"
        run.verdict = asyncio.get_running_loop().create_future()
        self._tell(question)
        try:
            return await run.verdict
        finally:
            run.question, run.verdict = None, None
            run.state = "running"

    def answer(self, run_id: str, question_id: str, body: Mapping[str, Any]) -> contract.Run:
        """Take what a person said to a tool call."""
        run = self._find(run_id)
        choice, text = body.get("choice"), body.get("text", "")
        if choice not in _CHOICES or not isinstance(text, str):
            raise RefusedError(400, "parameter", f"choice is one of {', '.join(sorted(_CHOICES))}")
        if run.question is None or run.question["question_id"] != question_id or run.verdict is None:
            raise RefusedError(409, "answered", "this question is not open any more")
        if not run.verdict.done():
            run.verdict.set_result(Verdict(choice, text, body.get("remember") is True))
        run.question, run.state = None, "running"
        return self._shown(run)

    async def stop(self, run_id: str) -> contract.Run:
        """Stop a run; what arrived is kept."""
        run = self._find(run_id)
        if run.task is not None and not run.task.done():
            run.task.cancel()
            with suppress(asyncio.CancelledError):
                await run.task
        return self._shown(run)

    async def close(self) -> None:
        """Stop every run."""
        for run_id in list(self._runs):
            await self.stop(run_id)

    def _tell(self, event: Mapping[str, Any]) -> None:
        if self.hub is not None:
            self.hub.publish(event)
