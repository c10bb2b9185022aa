"""From a request that has passed every check to what is sent: the answer, whole or as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.canon import Message, Part, Reply, RunSpec
from weft.errors import WireError
from weft.jsontext import dumps, dumps_text
from weft.sim.answer import Answer, Situation, answer_of, completed, situation_of, step_of
from weft.sim.directives import read_directives
from weft.sim.face import Ask, Book, Face, Json, Made
from weft.sim.models import MISSING
from weft.sim.openai_chat import OpenAIChat
from weft.sim.refusal import RefusedError, refuse
from weft.sim.telling import split_frames, tell
from weft.sim.tokens import CHARACTERS, count
from weft.wire import Decoded, dialect

__all__ = ["Outcome", "answer"]


@dataclass(slots=True)
class Outcome:
    """What is sent: a body, or frames with what befalls them on the way."""

    body: bytes = b""
    frames: Iterator[bytes] | None = None
    cut: int | None = None
    stall: int | None = None
    slow_ms: float = 0.0


def answer(face: Face, ask: Ask, book: Book) -> Outcome:
    """Answer a request, or refuse it."""
    face.check(ask, book)
    if ask.model.startswith(MISSING) or not _has_model(ask, book):
        raise face.no_model(ask)
    decoded = _decode(face, ask)
    planned, now = _planned(face, ask, book, situation_of(decoded.messages))
    planned = completed(planned, now, decoded.spec, thinks=face.thinks(ask), forced=face.forced(ask.body))
    if planned.times is not None:
        book.tries[ask.mark] += 1
        if book.tries[ask.mark] > planned.times:
            planned = replace(planned, fault=None, cut=None, stall=None)
    fault = planned.fault
    if fault is not None and (fault.after is None or not ask.stream):
        raise _refused(planned)
    body = _body(face, ask, book, planned, decoded.spec)
    if not ask.stream:
        return Outcome(dumps(body), None, planned.cut, planned.stall, planned.slow_ms)
    frames = face.frames(_frames(face, ask, body, planned.piece), ask)
    if fault is not None and fault.after is not None:
        frames = _breaking(frames, fault.after, face.broken(_refused(planned), ask))
    return Outcome(b"", frames, planned.cut, planned.stall, planned.slow_ms)


def _has_model(ask: Ask, book: Book) -> bool:
    return book.script.models is None or ask.model in book.script.models


def _refused(planned: Answer) -> RefusedError:
    fault = planned.fault
    if fault is None:
        raise ValueError("there is no fault to refuse with")
    return RefusedError(fault.status, fault.message, retry_after=fault.retry_after, body=fault.body)


def _decode(face: Face, ask: Ask) -> Decoded:
    try:
        return dialect(face.dialect).decode_request(ask.body)
    except WireError as problem:
        refuse(str(problem))


def _planned(face: Face, ask: Ask, book: Book, now: Situation) -> tuple[Answer, Situation]:
    """Find what is to be said: by the script, else by the prompt, else nothing in particular."""
    written = book.script.rule_for(now, ask.model, ask.provider, face.dialect)
    if written is not None:
        return written, now
    steps, plain = read_directives(now.text)
    now = replace(now, text=plain)
    if not steps:
        return Answer(), now
    return step_of([answer_of(step, "prompt") for step in steps], now.round), now


def _body(face: Face, ask: Ask, book: Book, planned: Answer, spec: RunSpec) -> Json:
    text, stop, finish = _limited(planned, face.stops(ask.body), spec.max_output_tokens)
    parts: list[Part] = []
    if planned.thinking is not None:
        parts.append(Part("thinking", planned.thinking))
    if planned.refusal is not None:
        parts.append(Part("refusal", planned.refusal))
    if text:
        parts.append(Part("text", text))
    for n, tool in enumerate(planned.tools):
        call = ask.id(face.call_prefix, n)
        parts.append(Part("tool_call", tool_call_id=call, tool_name=tool.name, tool_args=tool.arguments))
    prompt = book.cache.look(f"{ask.provider} {ask.model}", face.segments(ask.body), marked_only=face.marked_cache)
    thinking = count(planned.thinking or "")
    called = sum(count(tool.name) + count(dumps_text(tool.arguments)) for tool in planned.tools)
    counts = replace(
        prompt, thinking=thinking, output=max(1, thinking + called + count(text + (planned.refusal or "")))
    )
    reply = Reply((Message("assistant", parts),), finish_reason=finish, model=ask.model)
    body = dialect(face.dialect).encode_response(reply).body
    face.dress(body, ask, Made(counts, finish, stop, planned.redacted), book)
    return body


def _limited(planned: Answer, stops: list[str], limit: int | None) -> tuple[str, str | None, str]:
    """Cut the text where a stop sequence or the limit of tokens ends it; say which, and why the answer ends."""
    text = planned.text or ""
    finish = "content_filter" if planned.refusal is not None else "tool_calls" if planned.tools else "stop"
    found = [(text.find(stop), stop) for stop in stops if stop and stop in text]
    stopped = min(found, default=None)
    if stopped is not None:
        text = text[: stopped[0]]
    if limit is not None and len(text) > limit * CHARACTERS:
        text, finish, stopped = text[: limit * CHARACTERS], "length", None
    return text, stopped[1] if stopped else None, planned.finish or finish


def _frames(face: Face, ask: Ask, body: Json, piece: int | None) -> Iterator[bytes]:
    spoken = dialect(face.dialect)
    encoder = spoken.StreamEncoder()
    usage = not isinstance(face, OpenAIChat) or face.tells_usage(ask.body)
    for event in tell(spoken.decode_response(body), usage=usage, piece=piece):
        yield from split_frames(encoder.feed(event), spoken.framing)
    yield from split_frames(encoder.close(), spoken.framing)


def _breaking(frames: Iterator[bytes], after: int, error: bytes) -> Iterator[bytes]:
    for n, frame in enumerate(frames):
        if n == after:
            break
        yield frame
    yield error
