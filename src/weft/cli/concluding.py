"""How a question ended: what is said of it, what it took, and the exit status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from weft.cli.render import json_text, note, visible

if TYPE_CHECKING:
    from decimal import Decimal

    from weft.chat import Outcome
    from weft.cli.asking import Asked, How
    from weft.errors import WeftError
    from weft.providers import Spent
    from weft.threads import Turn

__all__ = ["conclude", "kept"]

_STATUS = {"": 0, "no": 0, "refused": 1, "limit": 1, "unfinished": 4}


def conclude(outcome: Outcome, how: How, asked: Asked) -> int:
    """Say how a question ended and what it took, and give the exit status."""
    turn = outcome.turn
    spent = _spent(asked) if how.shows_usage else None
    if how.as_json:
        said = {**turn.to_dict(), "content": turn.content, "text": _text(turn)}
        stopped = {"stopped": outcome.stopped, "why": outcome.why} if outcome.stopped else {}
        click.echo(json_text({**said, **stopped, **_account(spent)}))
    elif spent is not None:
        click.echo(click.style(_spent_text(spent), dim=True), err=True)
    message = turn.meta.get("message")
    reason = message.get("stop_reason") if isinstance(message, dict) else None
    match outcome.stopped:
        case "unfinished":
            _tell(f'{outcome.why}\n  what arrived is kept; go on: weft ask -c {turn.id} "Go on."')
        case "refused":
            _tell(f"{outcome.why}\n  approve in a terminal: weft call {_before(turn)}; approve all: --yolo")
        case "limit":
            _tell(f"{outcome.why}\n  go on: weft call {turn.id}")
        case "no":
            _tell(f'stopped: {outcome.why}\n  go on: weft call {turn.id}, or weft ask -c {turn.id} "…"')
        case _ if reason == "max_tokens" and not how.quiet:
            note(f'the answer is cut: it reached the most tokens it may have; go on: weft ask -c {turn.id} "Go on."')
        case _ if reason == "refusal" and not how.quiet and (_text(turn) or _is_empty(turn)):
            note(f"the provider's filter {'ended the answer here' if _text(turn) else 'let no answer through'}")
        case _ if how.schema_file is not None and not how.quiet:
            _check_json(turn)
        case _ if _is_empty(turn) and not how.quiet:
            note("the answer is empty")
    return _STATUS[outcome.stopped]


def _spent(asked: Asked) -> Spent | None:
    """Sum up what the calls of a question took, at today's prices; a call is told of once."""
    from functools import reduce
    from operator import add

    from weft.providers import spent_on

    now = datetime.now(UTC)
    took, asked.took = asked.took, []
    each = [
        spent_on(target.provider.name, target.model, usage, at=now, dialect=target.provider.dialect)
        for target, usage in took
    ]
    return reduce(add, each) if each else None


def _spent_text(spent: Spent) -> str:
    cached = f" ({spent.cached_tokens:,} cached)" if spent.cached_tokens else ""
    cost = "" if spent.cost is None else f", ${_dollars(spent.cost)}"
    return f"{spent.input_tokens:,} tokens in{cached}, {spent.output_tokens:,} out{cost}"


def _dollars(cost: Decimal) -> str:
    """Give an amount with as many places as it needs to be seen: 1.25, 0.0042, 0.000017."""
    places = 2 if cost >= 1 or not cost else 1 - cost.adjusted()
    return f"{cost:.{places}f}"


def _account(spent: Spent | None) -> dict[str, Any]:
    if spent is None:
        return {}
    counts = {name: getattr(spent, name) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    return {"usage": counts, "cost_usd": None if spent.cost is None else float(spent.cost)}


def _before(turn: Turn) -> str:
    return str((turn.meta.get("continues") or [turn.id])[0])


def _check_json(turn: Turn) -> None:
    from weft.jsontext import loads

    try:
        loads(_text(turn))
    except ValueError:
        note("warning: the answer is not JSON, although a schema was given")


def _text(turn: Turn) -> str:
    return "".join(block["text"] for block in turn.content if block.get("type") == "text" and "text" in block)


def _is_empty(turn: Turn) -> bool:
    """Tell whether there is nothing to see of an answer but, maybe, how it was thought of."""
    unseen = ("text", "thinking", "redacted_thinking")
    return all(block.get("type") in unseen for block in turn.content) and not _text(turn).strip()


def _tell(message: str) -> None:
    click.echo(f"weft: {visible(message)}", err=True)


def kept(error: WeftError, question_id: str) -> WeftError:
    """Add to an error where the question is."""
    error.args = (f"{error}\n  the question is kept; ask again: weft call {question_id}",)
    return error
