"""`weft replay`: a captured request sent again, and the answers beside each other."""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from weft.cli.calling import new_client, registry_of, run_async
from weft.cli.render import cut, json_text, note, visible, width_of
from weft.cli.storing import as_json
from weft.cli.tracing import cost_text, duration_text, from_source, looked_up, token_text
from weft.errors import UsageError, WeftError
from weft.jsontext import dumps_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.canon import Reply
    from weft.chat import Captured
    from weft.client import Client, Target
    from weft.threads import Store
    from weft.trace import Opened

__all__ = ["replay"]

_NARROWEST = 24  # columns of one answer beside another
_GAP = 3


@dataclass(slots=True)
class _Answer:
    """One answer to a request, or why there is none."""

    label: str
    text: str = ""
    error: str | None = None
    duration_ms: int = 0
    tokens: tuple[int | None, int | None] = (None, None)
    cost: float | None = None
    left_out: tuple[str, ...] = ()
    turn_id: str | None = None
    reply: Reply | None = None
    target: Target | None = None
    speaks: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {
            "model": self.label,
            "text": self.text,
            "error": self.error,
            "duration_ms": self.duration_ms,
            "input_tokens": self.tokens[0],
            "output_tokens": self.tokens[1],
            "cost": self.cost,
            "left_out": list(self.left_out),
            "turn_id": self.turn_id,
        }


@click.command()
@click.argument("request_id", metavar="REQUEST")
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Whom to ask: a pointer or provider/model; again for more.",
)
@click.option("--keep", is_flag=True, help="Keep the answers, as branches of the request in the store.")
@click.option("--no-original", is_flag=True, help="Without the answer that was recorded.")
@from_source
@as_json
def replay(
    *,
    request_id: str,
    models: tuple[str, ...],
    keep: bool,
    no_original: bool,
    source: str | None,
    address: str | None,
    as_json: bool,
) -> int:
    """Send a captured request again, to the same or to other models, and show the answers beside each other.

    REQUEST is its id or the beginning of it. Without -m it goes to whom it went. In its own dialect it is sent as it
    was; what another provider cannot take is said. Nothing is stored unless --keep.
    """
    from weft.threads import open_store
    from weft.trace import open_record
    from weft.wire import take_off

    with looked_up([request_id], source, address) as (recording, (request,)):
        record = recording.record(request)
    body, marks = take_off(record.get("request") or {})
    found = open_record({**record, "request": body})
    captured = _captured(record, found, marks)
    with open_store(address) as store:
        registry = registry_of(store)
        targets = [registry.target(name) for name in models or (_own(captured, registry),)]
        answers = run_async(_ask_all(captured, found, targets))
        if keep:
            _keep(store, record, answers)
        if not no_original:
            answers = [_recorded(record, found), *answers]
    if as_json:
        click.echo(json_text({"request": request.id, "answers": [answer.to_dict() for answer in answers]}))
    elif sys.stdout.isatty() and len(answers) > 1:
        _print_beside(answers)
    else:
        _print_below(answers)
    for answer in answers:
        for line in answer.left_out:
            note(f"{answer.label}: left out: {line}")
    return 4 if all(answer.error is not None for answer in answers if answer.target is not None) else 0


def _own(captured: Captured, registry: Any) -> str:
    from weft.chat import pointer_of

    name = pointer_of(captured, registry)
    if name is None:
        raise UsageError("it is not known who answered this request\n  say whom to ask: -m provider/model")
    return name


def _captured(record: dict[str, Any], found: Opened, marks: list[Any]) -> Captured:
    from weft.canon import thaw
    from weft.chat import Captured
    from weft.wire import FAITHFUL, forms_of

    written = found.dialect.encode_request(found.messages, found.spec, found.blobs, FAITHFUL).body
    forms = forms_of(found.record["request"], thaw(written))
    provider = record.get("provider")
    return Captured(found.dialect.name, provider if isinstance(provider, str) else None, found.spec, marks, forms)


async def _ask_all(captured: Captured, found: Opened, targets: Sequence[Target]) -> list[_Answer]:
    async with new_client() as client:
        return list(await asyncio.gather(*(_ask(client, captured, found, target) for target in targets)))


async def _ask(client: Client, captured: Captured, found: Opened, target: Target) -> _Answer:
    from time import perf_counter

    from weft.blobs import InMemoryBlobStore
    from weft.chat import plan_captured
    from weft.client import call_to

    answer = _Answer(f"{target.provider.name}/{target.model}", target=target)
    try:
        plan, answer.speaks = plan_captured(captured, target, found.messages, found.blobs)
        answer.left_out = tuple(f"{item.description}: {item.reason}" for item in plan.excluded)
        said = "" if answer.speaks == target.provider.dialect else answer.speaks
        call = call_to(target, plan.request, blobs=InMemoryBlobStore(), speaks=said)
        began = perf_counter()
        reply = await client.send(call)
        answer.duration_ms = int((perf_counter() - began) * 1000)
    except WeftError as error:
        answer.error = str(error)
        return answer
    answer.reply, answer.text = reply, _text(reply)
    if reply.usage is not None:
        answer.tokens = reply.usage.input_tokens, reply.usage.output_tokens
        answer.cost = _price(target, reply)
    return answer


def _price(target: Target, reply: Reply) -> float | None:
    from datetime import UTC, datetime

    from weft.providers import have_prices, price_of

    if not have_prices() or reply.usage is None:
        return None
    price = price_of(target.provider.name, target.model, reply.usage, at=datetime.now(UTC))
    return None if price is None else float(price)


def _recorded(record: dict[str, Any], found: Opened) -> _Answer:
    from weft.cli.tracing import cost_of
    from weft.trace import facts_of

    facts = facts_of(record)
    answer = _Answer(f"recorded: {facts.model or '?'}", duration_ms=facts.duration_ms, cost=cost_of(facts))
    answer.tokens = facts.tokens.input, facts.tokens.output
    answer.error = facts.error if found.reply is None else None
    answer.text = _text(found.reply) if found.reply is not None else ""
    return answer


def _text(reply: Reply) -> str:
    """Give an answer as text; what it calls, too."""
    pieces = []
    for part in reply.message.parts if reply.message is not None else ():
        if part.type in ("text", "refusal") and part.text:
            pieces.append(part.text)
        elif part.type == "tool_call":
            pieces.append(f"[{part.tool_name} {dumps_text(_plain(part.tool_args))}]")
    return "\n".join(pieces)


def _plain(value: Any) -> Any:
    from weft.canon import thaw

    return thaw(value or {})


# -- showing -------------------------------------------------------------------------------------------------------


def _footer(answer: _Answer) -> str:
    tokens = f"{token_text(answer.tokens[0])}→{token_text(answer.tokens[1])}" if answer.tokens != (None, None) else ""
    return "  ".join(piece for piece in (duration_text(answer.duration_ms), tokens, cost_text(answer.cost)) if piece)


def _print_below(answers: Sequence[_Answer]) -> None:
    for number, answer in enumerate(answers):
        click.echo(("\n" if number else "") + click.style(f"== {visible(answer.label)}  {_footer(answer)}", bold=True))
        click.echo(click.style(visible(answer.error), fg="red") if answer.error else visible(answer.text))


def _print_beside(answers: Sequence[_Answer]) -> None:
    """Print answers in columns, as many beside each other as there is room for."""
    columns = shutil.get_terminal_size().columns
    at_once = max(1, min(len(answers), (columns + _GAP) // (_NARROWEST + _GAP)))
    width = (columns - _GAP * (at_once - 1)) // at_once
    for start in range(0, len(answers), at_once):
        part = answers[start : start + at_once]
        cells = [_cell(answer, width) for answer in part]
        for row in range(max(map(len, cells))):
            pieces = [cell[row] if row < len(cell) else "" for cell in cells]
            padded = [piece + " " * (width - width_of(click.unstyle(piece))) for piece in pieces]
            click.echo(f"{click.style(' │ ', dim=True)}".join(padded).rstrip())
        if start + at_once < len(answers):
            click.echo()


def _cell(answer: _Answer, width: int) -> list[str]:
    lines = [click.style(cut(answer.label, width), bold=True), click.style(cut(_footer(answer), width), dim=True), ""]
    text = answer.error if answer.error is not None else answer.text
    for line in text.splitlines() or ["(empty)"]:
        lines += wrap(visible(line), width, replace_whitespace=False, drop_whitespace=False) or [""]
    return [*lines[:3], *(click.style(each, fg="red") for each in lines[3:])] if answer.error is not None else lines


# -- keeping -------------------------------------------------------------------------------------------------------


def _keep(store: Store, record: dict[str, Any], answers: Sequence[_Answer]) -> None:
    """Keep answers as turns beside the one that was recorded."""
    from time import time

    from weft.blobs import InMemoryBlobStore
    from weft.jsontext import dumps
    from weft.threads import Addition
    from weft.trace import import_exchanges
    from weft.wire import message_from_reply

    (imported,) = import_exchanges(store.frames, [record], now_ms=int(time() * 1000)).requests
    if imported.turn_id is None:
        raise UsageError(f"the request cannot be kept as a thread: {imported.problem}")
    end = store.turn(imported.turn_id)
    parent = store.parent_ids(end.id)[0] if end.role == "assistant" and store.parent_ids(end.id) else end.id
    options = {
        key: value for key, value in store.resolve(end.id)["options"].items() if key in ("request", "marks", "forms")
    }
    for answer in answers:
        if answer.reply is None or answer.target is None:
            continue
        message = message_from_reply(answer.speaks, answer.reply, InMemoryBlobStore(), model=answer.target.model)
        content = message.pop("content")
        extra = {"message": {**message, "provider": answer.target.provider.name}, "replays": imported.id}
        said = {**options, "provider_ptr": answer.label}
        turn = store.add(Addition(dumps(content), "assistant", [parent], options=said, extra=extra))
        answer.turn_id = turn.id
        note(f"kept: {answer.label} as {turn.id}")
