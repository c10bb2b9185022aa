"""Chat: the loop. A thread is resolved, sent, heard and appended to; its tools are run; and again (threads.md 10, 11).

Whatever happens to a call, exactly one turn or error follows it in the log [T-56]. What arrived before a cut or a
ctrl-c is kept as a turn that says it is unfinished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from weft.canon import Reply, Usage, replay
from weft.chat.captured import captured_of, pointer_of, prepare_captured
from weft.chat.listen import Listener
from weft.chat.record import CALL, ERROR, OnEvent, Recorder, append_frame
from weft.chat.request import Prepared, prepare
from weft.chat.underway import Underway
from weft.client import Client, Registry, Target
from weft.errors import PlanValidationError, ProviderError, UsageError, WeftError
from weft.jsontext import dumps
from weft.store import Frame
from weft.threads import Addition, Store, Turn
from weft.wire import message_from_reply

if TYPE_CHECKING:
    from weft.tools import Approval, Toolbox

__all__ = ["Called", "Chat", "Outcome", "Stopped", "tool_calls"]

Json = dict[str, Any]
Stopped = Literal["", "no", "refused", "limit", "unfinished"]
LIMIT = 10  # rounds of tools for one question [M-15]
INTERRUPTED = "the call was interrupted"


@dataclass(frozen=True, slots=True)
class Called:
    """How one call ended: `frame` is its turn or its error [T-55], `error` what to raise for it."""

    frame: Frame
    turn: Turn | None = None
    error: WeftError | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a question ended: the last turn, and why it stopped if it did before the answer was done."""

    turn: Turn
    stopped: Stopped = ""
    why: str = ""


def tool_calls(turn: Turn) -> list[Json]:
    """Give the calls of an answer."""
    return [block for block in turn.content if block.get("type") == "tool_use"]


def _places(places: Sequence[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"


class Chat:
    """Asks on behalf of threads of one store."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        client: Client,
        *,
        toolbox: Toolbox | Callable[[], Toolbox] | None = None,
        approval: Approval | Callable[[], Approval] | None = None,
        on_event: OnEvent | None = None,
        on_turn: Callable[[Turn], None] | None = None,
        on_usage: Callable[[Target, Usage], None] | None = None,
        say: Callable[[str], None] | None = None,
        default_model: str | None = None,
        strict: bool = False,
        limit: int = LIMIT,
    ) -> None:
        """Take what to ask with. Tools and who approves of them are made when first needed.

        `default_model` answers threads that name nobody; `strict` makes no call that leaves anything out.
        `on_event` sees an answer as it comes, `on_turn` every turn that is appended, `on_usage` what a call took, `say`
        what a person should know beside it. Without an `approval`, no tool runs [T-65].
        """
        self.store, self.registry, self.client = store, registry, client
        self._toolbox, self._approval = toolbox, approval
        self._opened: Toolbox | None = None
        self._on_event, self._on_turn = on_event, on_turn or (lambda _turn: None)
        self._on_usage = on_usage or (lambda _target, _usage: None)
        self._say = say or (lambda _line: None)
        self._default, self._strict, self._limit = default_model, strict, limit
        self._noticed: set[str] = set()

    # -- one call ----------------------------------------------------------------------------------------------

    async def call(
        self,
        headish: str,
        *,
        model: str | None = None,
        schema: Mapping[str, Any] | None = None,
        stream: bool = True,
        on_event: OnEvent | None = None,
    ) -> Called:
        """Call the model of a thread and append its answer; give the turn or the error that followed [T-55].

        `model` (a pointer, or provider/model) stands in for the thread's own this once.
        """
        turn_id = self.store.find(headish)
        call_id = append_frame(self.store, CALL, {"continues": turn_id})
        underway = Underway(self.store, call_id)
        try:
            return await self._call(turn_id, call_id, underway, model, schema, stream, on_event or self._on_event)
        finally:
            underway.done()

    async def _call(
        self,
        turn_id: str,
        call_id: str,
        underway: Underway,
        model: str | None,
        schema: Mapping[str, Any] | None,
        stream: bool,
        on_event: OnEvent | None,
    ) -> Called:
        recorder = Recorder(self.store, call_id, on_event)
        try:
            context = {**self.store.resolve(turn_id), "stored": [turn_id]}
            prepared = await self.prepare(context, model=model, schema=schema)
            self._tell_of(prepared)
            underway.who(prepared.target.provider.name, prepared.target.model)
            reply, cancelled = await self._listen(prepared, recorder, stream=stream)
        except asyncio.CancelledError:
            recorder.close()
            self._failed(call_id, INTERRUPTED)
            raise
        except WeftError as error:
            recorder.close()
            return Called(self._failed(call_id, str(error)), error=error)
        except BaseException as error:
            recorder.close()
            self._failed(call_id, f"{type(error).__name__} while the answer was read")
            raise
        recorder.close()
        called = self._answered(turn_id, call_id, prepared, reply, recorder)
        if cancelled:
            raise asyncio.CancelledError
        return called

    async def prepare(
        self,
        context: Mapping[str, Any],
        *,
        model: str | None = None,
        schema: Mapping[str, Any] | None = None,
        strict: bool | None = None,
    ) -> Prepared:
        """Write the request of a resolved thread, with the tools of its servers; nothing is sent.

        `stored` in it names the turns it was resolved from, for a thread that goes on with a captured request.
        """
        options = context["options"]
        captured = captured_of(self.store, options)
        pointer = model or options.get("provider_ptr")
        pointer = pointer or (pointer_of(captured, self.registry) if captured else None) or self._default
        if not isinstance(pointer, str) or not pointer:
            raise UsageError(
                "nobody is named to answer this thread\n  name a model: -m provider/model, or a pointer: -p kilo\n"
                "  for every thread that names nobody: WEFT_MODEL, or `model` in the settings\n  see: weft models"
            )
        target = self.registry.target(pointer)
        servers = options.get("servers") or []
        tools: Sequence[Mapping[str, Any]] = ()
        if servers or (self._toolbox is not None and not callable(self._toolbox)):
            toolbox = self._tools()
            tools = await toolbox.list(servers)
            self._notice(toolbox)
        if captured is not None:
            prepared = prepare_captured(self.store, captured, target, context, tools, schema)
        else:
            prepared = prepare(target, context, tools, schema=schema)
        if prepared.excluded and (self._strict if strict is None else strict):
            raise PlanValidationError("\n  ".join(["something would be left out:", *prepared.losses()]))
        return prepared

    async def _listen(self, prepared: Prepared, recorder: Recorder, *, stream: bool) -> tuple[Reply, bool]:
        """Hear an answer to its end, or as far as it comes; tell whether it was we who stopped listening."""
        listener = Listener()
        if not stream:
            whole = await self.client.send(prepared.call)
            for event in replay(whole):
                for told in listener.feed(event):
                    recorder.add(told)
            return whole, False
        events = self.client.stream(prepared.call)
        cancelled = False
        try:
            async for event in events:
                for told in listener.feed(event):
                    recorder.add(told)
                if recorder.is_behind:
                    await recorder.catch_up()
        except asyncio.CancelledError:
            events.cut(INTERRUPTED)
            cancelled = True
            if events.reply is None:  # nothing had come yet
                raise
        finally:
            await events.aclose()
        return events.reply or Reply(finished=False), cancelled

    def _answered(self, turn_id: str, call_id: str, prepared: Prepared, reply: Reply, recorder: Recorder) -> Called:
        """Append the answer, or the error if nothing came of it."""
        target, call = prepared.target, prepared.call
        assert call.blobs is not None  # noqa: S101  # prepare() gives every call its own
        message = message_from_reply(call.dialect.name, reply, call.blobs, model=target.model)
        content = message.pop("content")
        extra: Json = {"frame_id": call_id}
        if not reply.finished:
            content = [block for block in content if block != {"type": "text", "text": ""}]
            why = reply.notes[-1] if reply.notes else "the answer was cut short"
            if not why.startswith((f"{target.provider.name}:", INTERRUPTED)):
                why = f"{target.provider.name}: {why}"
            if not content:
                error = ProviderError(why, provider=target.provider.name)
                return Called(self._failed(call_id, why), error=error)
            message["stop_reason"] = None
            extra |= {"unfinished": True, "error": why}
        extra["message"] = {**message, "provider": target.provider.name}
        turn = self._add(Addition(dumps(content), "assistant", [turn_id], options=None, extra=extra))
        if reply.usage is not None:
            self._on_usage(target, reply.usage)
        if recorder.problem is not None:
            self._say(f"warning: the answer is kept, but not how it came in: {recorder.problem}")
        return Called(Frame("gpt.turn", turn.id, turn.hash, turn.meta), turn)

    def _failed(self, call_id: str, why: str) -> Frame:
        meta = {"frame_id": call_id, "error": why}
        return Frame(ERROR, append_frame(self.store, ERROR, meta), None, meta)

    def _add(self, addition: Addition) -> Turn:
        turn = self.store.add(addition)
        self._on_turn(turn)
        return turn

    def _tell_of(self, prepared: Prepared) -> None:
        """Say what is not in the request: once in a conversation, like things together."""
        alike: dict[str, list[str]] = {}
        for item in prepared.excluded:
            alike.setdefault(item.reason, []).append(item.description)
        lines = [f"left out: {_places(places)}: {reason}" for reason, places in alike.items()]
        for line in [*lines, *prepared.mended]:
            if line not in self._noticed:
                self._noticed.add(line)
                self._say(line)

    # -- the loop ----------------------------------------------------------------------------------------------

    async def process(
        self,
        headish: str,
        *,
        model: str | None = None,
        schema: Mapping[str, Any] | None = None,
        stream: bool = True,
    ) -> Outcome:
        """Have a turn answered, its tools run and their results answered, until there is nothing more to do.

        A call that failed raises its error. A turn that is an answer with open tool calls goes on with those.
        """
        turn = self.store.turn(headish)
        rounds = 0
        if turn.role == "assistant" and not tool_calls(turn):
            raise UsageError(
                f"turn {turn.id} is an answer, and asks for no tool\n"
                f'  go on from it: weft ask -c {turn.id} "…"; ask again: weft call with the turn before it'
            )
        while True:
            if turn.role != "assistant":
                called = await self.call(turn.id, model=model, schema=schema, stream=stream)
                if called.turn is None:
                    raise called.error or WeftError(str(called.frame.meta.get("error")))
                turn = called.turn
            if turn.meta.get("unfinished") is True:
                return Outcome(turn, "unfinished", str(turn.meta.get("error", "")))
            calls = tool_calls(turn)
            if not calls:
                return Outcome(turn)
            if rounds >= self._limit:
                return self._at_limit(turn, calls)
            rounds += 1
            if await self._is_foreign(turn, calls):
                return Outcome(turn)
            outcome = await self._settle(turn, calls)
            if outcome.stopped:
                return outcome
            turn = outcome.turn

    async def _is_foreign(self, turn: Turn, calls: Sequence[Json]) -> bool:
        """Tell whether an answer asks only for tools of the program that its thread was captured from."""
        if "request" not in self.store.resolve(turn.id)["options"]:
            return False
        names = [str(call.get("name")) for call in calls]
        for name in names:
            if await self._tools().find(name) is not None:
                return False
        self._say(f"it asks for tools of the captured program, which are not here: {', '.join(names)}")
        return True

    async def _settle(self, turn: Turn, calls: Sequence[Json]) -> Outcome:
        """Ask about all calls of an answer, run them, and put all results into one turn [T-63, T-64]."""
        toolbox = self._tools()
        settled = await toolbox.settle(calls, self._approver())
        self._notice(toolbox)
        if settled.stopped:
            return Outcome(turn, "no", "a tool was not approved")
        added = self._results(turn, list(settled.results), refused=list(settled.refused))
        if settled.refused:
            return Outcome(added, "refused", f"not run, as nobody approved it: {', '.join(settled.refused)}")
        return Outcome(added)

    def _at_limit(self, turn: Turn, calls: Sequence[Json]) -> Outcome:
        why = f"not run: {self._limit} rounds of tools are the limit for one question"
        results = []
        for call in calls:
            block: Json = {"type": "tool_result", "name": call.get("name", ""), "is_error": True}
            if call.get("id") is not None:
                block["tool_use_id"] = call["id"]
            results.append({**block, "content": [{"type": "text", "text": why}]})
        return Outcome(self._results(turn, results, limit=self._limit), "limit", why)

    def _results(self, turn: Turn, results: list[Json], *, refused: list[str] | None = None, limit: int = 0) -> Turn:
        stopped: Json = {}
        if refused:
            stopped = {"stopped": {"reason": "not approved", "tools": refused}}
        elif limit:
            stopped = {"stopped": {"reason": "tool limit", "limit": limit}}
        return self._add(Addition(dumps(results), "user", [turn.id], extra=stopped or None))

    def _tools(self) -> Toolbox:
        if self._opened is None:
            from weft.tools import Toolbox  # noqa: PLC0415  # most questions need no tools, and need not wait for them

            given = self._toolbox
            self._opened = Toolbox() if given is None else given if isinstance(given, Toolbox) else given()
        return self._opened

    def _approver(self) -> Approval:
        from weft.tools import Approval  # noqa: PLC0415

        if self._approval is None:
            self._approval = Approval("none")
        elif not isinstance(self._approval, Approval):
            self._approval = self._approval()
        return self._approval

    def _notice(self, toolbox: Toolbox) -> None:
        for line in toolbox.notices:
            if line not in self._noticed:
                self._noticed.add(line)
                self._say(f"tools: {line}")

    async def close(self) -> None:
        """End the tool servers that were started."""
        if self._opened is not None:
            await self._opened.close()
