"""What the simulator will answer, before any dialect says it: read from a script or a prompt, or made up here.

Without a rule the answer echoes the question, uses the tool results that came, gives an example of a schema it was
given, or calls the tool it was told to call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.canon import Message, RunSpec, ToolSpecification, output_text, thaw
from weft.errors import UsageError
from weft.jsontext import dumps_text
from weft.sim.examples import example_of
from weft.sim.tokens import CHARACTERS

__all__ = ["Answer", "Fault", "Situation", "ToolUse", "answer_of", "completed", "situation_of", "step_of"]

REFUSAL = "I can't help with that."
ECHO_CHARACTERS = 240


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool the answer calls."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in place of an answer; after so many events of it, or from the start."""

    status: int
    message: str = ""
    retry_after: float | None = None
    after: int | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, in nobody's dialect."""

    text: str | None = None
    thinking: str | None = None
    redacted: bool = False
    tools: tuple[ToolUse, ...] = ()
    refusal: str | None = None
    finish: str | None = None  # in canon's words; None follows from the rest
    fault: Fault | None = None
    times: int | None = None  # how many tries of the same request fail, stall or are cut; None is all of them
    cut: int | None = None  # the connection drops after so many events
    stall: int | None = None  # nothing more comes after so many events
    slow_ms: float = 0.0  # before each event
    piece: int | None = None  # how many letters a piece of a stream has; None is a word


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a conversation stands: the last question, how often it has been answered since, and with what."""

    text: str
    round: int
    results: tuple[tuple[str, str], ...]
    media: int


def situation_of(messages: Sequence[Message]) -> Situation:
    """Read where a conversation stands."""
    asked = max((m for m, message in enumerate(messages) if message.role == "user"), default=-1)
    question = messages[asked].parts if asked >= 0 else ()
    since = messages[asked + 1 :]
    answered = max((m for m, message in enumerate(messages) if message.role == "assistant"), default=-1)
    names = {
        part.tool_call_id: part.tool_name or ""
        for message in messages
        for part in message.parts
        if part.type == "tool_call"
    }
    results = tuple(
        (part.tool_name or names.get(part.tool_call_id) or "the tool", _said(part.tool_output))
        for message in messages[answered + 1 :]
        for part in message.parts
        if part.type == "tool_result"
    )
    return Situation(
        "\n".join(part.text for part in question if part.type == "text" and part.text),
        sum(message.role == "assistant" for message in since),
        results,
        sum(part.type in ("image", "file", "audio", "video") for part in question),
    )


def _said(output: Any) -> str:
    """Give a tool's output as a person would quote it."""
    if isinstance(output, Mapping) and len(output) == 1:
        return _said(next(iter(output.values())))
    if isinstance(output, tuple) and all(isinstance(item, Mapping) and "text" in item for item in output):
        return " ".join(str(item["text"]) for item in output)
    return output if isinstance(output, str) else output_text(output)


# -- written answers -------------------------------------------------------------------------------------------

WORDS = ("say", "think", "refuse", "message", "body", "finish")
NUMBERS = ("error", "retry_after", "after", "times", "cut", "stall", "slow_ms", "long", "piece")
KEYS = frozenset((*WORDS, *NUMBERS, "redacted", "tools"))


def answer_of(given: Mapping[str, Any], where: str) -> Answer:
    """Read an answer as scripts and prompts write it; what does not fit is named by its place."""
    if unknown := sorted(set(given) - KEYS):
        raise UsageError(f"{where}: no such setting: {unknown[0]}\n  known: {', '.join(sorted(KEYS))}")
    for key in WORDS:
        if not isinstance(given.get(key, ""), str):
            raise UsageError(f"{where}.{key}: must be a text")
    for key in NUMBERS:
        number = given.get(key, 0)
        if not isinstance(number, int | float) or isinstance(number, bool) or number < 0:
            raise UsageError(f"{where}.{key}: must be a number, zero or more")
    text = given.get("say")
    if "long" in given:
        text = long_text(int(given["long"]))
    return Answer(
        text=text,
        thinking=given.get("think"),
        redacted=bool(given.get("redacted")),
        tools=tuple(_tool(tool, f"{where}.tools[{n}]") for n, tool in enumerate(given.get("tools", ()))),
        refusal=(given["refuse"] or REFUSAL) if "refuse" in given else None,
        finish=given.get("finish"),
        fault=_fault(given) if "error" in given else None,
        times=int(given["times"]) if "times" in given else None,
        cut=int(given["cut"]) if "cut" in given else None,
        stall=int(given["stall"]) if "stall" in given else None,
        slow_ms=float(given.get("slow_ms", 0.0)),
        piece=max(1, int(given["piece"])) if "piece" in given else None,
    )


def _fault(given: Mapping[str, Any]) -> Fault:
    return Fault(
        int(given["error"]),
        given.get("message", ""),
        float(given["retry_after"]) if "retry_after" in given else None,
        int(given["after"]) if "after" in given else None,
        given.get("body"),
    )


def _tool(given: Any, where: str) -> ToolUse:
    match given:
        case {"name": str(name), "arguments": Mapping() as arguments}:
            return ToolUse(name, arguments)
        case {"name": str(name), **rest} if not rest:
            return ToolUse(name, {})
    raise UsageError(f'{where}: must be {{ name = "...", arguments = {{ ... }} }}')


def long_text(tokens: int) -> str:
    """Give a text of so many tokens, the same every time."""
    line = "The tide comes in and the tide goes out. "
    characters = tokens * CHARACTERS
    return (line * (characters // len(line) + 1))[:characters]


def step_of(steps: Sequence[Answer], round: int) -> Answer:
    """Give the step for a round: the last one again and again, unless it calls tools, which would never end."""
    if round >= len(steps) and steps[-1].tools:
        return Answer(slow_ms=steps[-1].slow_ms)
    return steps[min(round, len(steps) - 1)]


# -- made-up answers -------------------------------------------------------------------------------------------


def completed(answer: Answer, now: Situation, spec: RunSpec, *, thinks: bool, forced: str | None) -> Answer:
    """Fill in what a written answer leaves open. `forced` names the tool that must be called, "*" for any."""
    if answer.text is not None:
        results = "; ".join(f"{name}: {said}" for name, said in now.results)
        answer = replace(answer, text=answer.text.replace("{text}", now.text).replace("{results}", results))
    elif not answer.tools and answer.refusal is None:
        if forced and spec.tools and not now.round:
            tool = next((tool for tool in spec.tools if tool.name == forced), spec.tools[0])
            answer = replace(answer, tools=(ToolUse(tool.name, _arguments(tool)),))
        else:
            answer = replace(answer, text=_text(now, spec))
    if answer.thinking is None and (thinks or answer.redacted):
        answer = replace(answer, thinking=_thought(now))
    return answer


def _arguments(tool: ToolSpecification) -> Mapping[str, Any]:
    made = example_of(thaw(tool.input_schema))
    return made if isinstance(made, dict) else {}


def _text(now: Situation, spec: RunSpec) -> str:
    if now.results:
        return " ".join(f"{name} says: {said}." for name, said in now.results)
    if spec.response_schema is not None:
        schema = thaw(spec.response_schema)
        inner = schema.get("schema")  # OpenAI's chat has it beside its name
        return dumps_text(example_of(inner if isinstance(inner, dict) else schema))
    asked = " ".join(now.text.split())
    said = f"{asked[:ECHO_CHARACTERS]}…" if len(asked) > ECHO_CHARACTERS else asked
    beside = f" (with {now.media} attachment{'s' if now.media > 1 else ''})" if now.media else ""
    return f"You said: {said}{beside}" if said or beside else "Hello."


def _thought(now: Situation) -> str:
    if now.results:
        return f"{now.results[-1][0]} has answered; I can reply with what it said."
    asked = " ".join(now.text.split())[:60]
    return f"The question is: {asked} I will answer it plainly."
