"""`weft trace show`, `diff` and `cache-miss`: one request of a recording, beside the one it continues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from weft.cli.render import counted, cut, json_text, note, role_text, room, visible
from weft.cli.storing import as_json
from weft.cli.tracing import (
    cost_of,
    cost_text,
    duration_text,
    facts_and_cost,
    from_source,
    looked_up,
    request_record,
    token_text,
)

if TYPE_CHECKING:
    from weft.trace import CookedMessage, CookedRequest, Facts, Recording

__all__ = ["cache_miss", "diff", "show"]


@click.command()
@click.argument("request_id", metavar="REQUEST")
@click.option("--raw", is_flag=True, help="Write the record as it was recorded, one line of JSON.")
@click.option("--all", "everything", is_flag=True, help="Also the messages that the request before it had.")
@from_source
@as_json
def show(
    *, request_id: str, raw: bool, everything: bool, source: str | None, address: str | None, as_json: bool
) -> None:
    """Show one request: what is told about it, its new messages and its answer.

    REQUEST is its id or the beginning of it.
    """
    with looked_up([request_id], source, address) as (recording, (request,)):
        if raw:
            click.echo(recording.line(request).rstrip(b"\n"))
            return
        facts, cost = facts_and_cost(recording, request)
        cooked = recording.cooked()
        messages = {message.id: message for message in cooked.messages}
        if as_json:
            tools = {tool.id: tool.to_dict() for tool in cooked.tools}
            click.echo(
                json_text(
                    {
                        **request_record(request, (facts, cost)),
                        "request_messages": [messages[each].to_dict() for each in request.request_messages],
                        "response_messages": [messages[each].to_dict() for each in request.response_messages],
                        "tools": [tools[each] for each in request.tools],
                    }
                )
            )
            return
        for line in _about(facts, cost, request):
            click.echo(line)
        click.echo()
        parent = None if everything else _parent(recording, request)
        _print_messages(request, parent, messages)


def _about(facts: Facts, cost: float | None, request: CookedRequest) -> Iterator[str]:
    tokens = facts.tokens
    cached = f", {token_text(tokens.cached)} of it from a cache" if tokens.cached else ""
    written = f", {token_text(tokens.cache_write)} written to it" if tokens.cache_write else ""
    lines = [
        ("request", facts.id),
        ("continues", request.parent_id or "nothing: it begins a conversation"),
        ("time", f"{facts.time.astimezone():%Y-%m-%d %H:%M:%S}" if facts.timestamp_ms else "unknown"),
        ("model", f"{facts.model or '?'} ({facts.dialect or 'unknown format'})"),
        (
            "tokens",
            f"{token_text(tokens.input)} in{cached}{written}; {token_text(tokens.output)} out" if facts.usage else "",
        ),
        ("cost", cost_text(cost)),
        ("took", duration_text(facts.duration_ms) + (", streamed" if facts.is_stream else "")),
        ("ended", facts.stop_reason or ""),
        ("error", facts.error or ""),
        ("tools", counted(len(request.tools), "tool") if request.tools else ""),
    ]
    for name, value in lines:
        if value:
            yield f"{click.style(f'{name:<10}', dim=True)} {visible(value)}"


def _parent(recording: Recording, request: CookedRequest) -> CookedRequest | None:
    return None if request.parent_id is None else recording.request(request.parent_id)


def _print_messages(request: CookedRequest, parent: CookedRequest | None, messages: dict[str, CookedMessage]) -> None:
    from weft.trace import diff

    known: set[str] = set()
    if parent is not None:
        found = diff([*parent.request_messages, *parent.response_messages], request.request_messages)
        known = {item.id for item in found.items if item.kind == "unchanged"}
        if known:
            click.echo(
                click.style(f"  … {counted(len(known), 'message')} as in {parent.id} (--all shows them)", dim=True)
            )
    for each in request.request_messages:
        if each not in known:
            _print_message(messages[each])
    for each in request.response_messages:
        _print_message(messages[each], mark="→ ")


def _print_message(message: CookedMessage, mark: str = "  ") -> None:
    click.echo(f"{mark}{role_text(message.role, pad=False)}")
    for line in _text(message).splitlines():
        click.echo(f"    {visible(line)}")


def _text(message: CookedMessage) -> str:
    calls = [f"{call['name']} {json_text(call['arguments'])}" for call in message.tool_calls or ()]
    return "\n".join(piece for piece in (message.content, *calls) if piece)


@click.command()
@click.argument("left", metavar="REQUEST")
@click.argument("right", metavar="[OTHER]", required=False)
@from_source
@as_json
def diff(*, left: str, right: str | None, source: str | None, address: str | None, as_json: bool) -> None:
    """Compare a request with another, or with the one it continues: messages, tools, model.

    With one REQUEST, the old side is its parent's request and answer and the new side is the request; with OTHER, it
    is what REQUEST had and what OTHER has.
    """
    from weft.trace import diff as diff_of

    wanted = [left] if right is None else [left, right]
    with looked_up(wanted, source, address) as (recording, found):
        new = found[-1]
        old = found[0] if right is not None else _parent(recording, new)
        before = [] if old is None else [*old.request_messages, *old.response_messages]
        after = new.request_messages if right is None else [*new.request_messages, *new.response_messages]
        result = diff_of(before, after)
        messages = {message.id: message for message in recording.cooked().messages}
        tools = {tool.id: tool.name for tool in recording.cooked().tools}
        gone = [tools[each] for each in (old.tools if old else ()) if each not in new.tools]
        come = [tools[each] for each in new.tools if old is not None and each not in old.tools]
        if as_json:
            record = {
                "old": old.id if old else None,
                "new": new.id,
                "model": [old.model if old else None, new.model],
                "items": [{"kind": item.kind, **messages[item.id].to_dict()} for item in result.items],
                "added": result.added,
                "deleted": result.deleted,
                "unchanged": result.unchanged,
                "tools_added": come,
                "tools_deleted": gone,
            }
            click.echo(json_text(record))
            return
        click.echo(f"--- {old.id if old else '(nothing)'}\n+++ {new.id}")
        if old is not None and old.model != new.model:
            click.echo(f"model: {visible(old.model)} → {visible(new.model)}")
        for sign, names, colour in (("-", gone, "red"), ("+", come, "green")):
            for name in names:
                click.echo(click.style(f"{sign} tool {visible(name)}", fg=colour))
        _print_diff(result.items, messages)
        note(f"{result.added} added, {result.deleted} deleted, {result.unchanged} unchanged")


def _print_diff(items: Sequence[Any], messages: dict[str, CookedMessage]) -> None:
    same = 0
    for item in [*items, None]:
        if item is not None and item.kind == "unchanged":
            same += 1
            continue
        if same:
            click.echo(click.style(f"  … {counted(same, 'message')} unchanged", dim=True))
            same = 0
        if item is None:
            continue
        message = messages[item.id]
        sign, colour = ("+", "green") if item.kind == "added" else ("-", "red")
        before = f"{sign} {message.role:<11} "
        click.echo(click.style(before + cut(_text(message) or "(empty)", room(before)), fg=colour))


@click.command("cache-miss")
@click.argument("request_id", metavar="REQUEST")
@from_source
@as_json
def cache_miss(*, request_id: str, source: str | None, address: str | None, as_json: bool) -> None:
    """Say why a request was not read from the provider's cache: the first place where it is not what its parent was.

    A cache holds beginnings: the model, its tools, the system text, the messages. From the first difference on, all is
    sent and paid for anew.
    """
    from weft.trace import cache_miss as cache_miss_of
    from weft.trace import facts_of

    with looked_up([request_id], source, address) as (recording, (request,)):
        parent = _parent(recording, request)
        record = recording.record(request)
        found = cache_miss_of(record, None if parent is None else recording.record(parent))
        facts = facts_of(record)
        lost = _money_lost(facts, found.lost)
        if as_json:
            click.echo(
                json_text({**found.to_dict(), "id": request.id, "parent_id": request.parent_id, "cost_lost": lost})
            )
            return
        if found.place is None:
            click.echo(visible(found.note))
        else:
            click.echo(f"{click.style('first difference', bold=True)}: {visible(found.place)}")
            click.echo(click.style(f"  - {visible(found.before)}", fg="red"))
            click.echo(click.style(f"  + {visible(found.after)}", fg="green"))
        if parent is not None:
            click.echo(f"{click.style('parent', dim=True)}  {parent.id}, {token_text(found.expected)} tokens in")
            click.echo(
                f"{click.style('cached', dim=True)}  {token_text(found.cached)} of {token_text(facts.tokens.input)}"
            )
        if found.lost:
            money = "" if lost is None else f", {cost_text(lost)} more than from the cache"
            click.echo(f"{click.style('lost', dim=True)}    {found.lost:,} tokens sent again{money}")


def _money_lost(facts: Facts, lost: int | None) -> float | None:
    """Give how much less the request would have cost with the lost tokens read from the cache."""
    from weft.trace import as_if_cached

    if not lost:
        return None
    paid = cost_of(facts)
    better = cost_of(facts, as_if_cached(facts.usage, lost))
    return None if paid is None or better is None else max(0.0, paid - better)
