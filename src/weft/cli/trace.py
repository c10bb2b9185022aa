"""`weft trace`: what a recording tells. Requests as a tree, one request, what changed, what it cost, why no cache."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from weft.cli.render import coloured, counted, cut, json_text, note, role_text, room, size_text, table, visible
from weft.cli.storing import as_json, limited, with_store
from weft.cli.tracing import (
    cost_of,
    cost_text,
    duration_text,
    fact_line,
    from_source,
    looked_up,
    opened,
    short_length,
    tell_problems,
    token_text,
)

if TYPE_CHECKING:
    from weft.threads import Store
    from weft.trace import CookedMessage, CookedRequest, Facts, Recording

__all__ = ["trace"]

PARTIAL = 1
_store = click.option("--store", "address", metavar="URL|PATH", help="The store; else WEFT_STORE, else WEFT_HOME.")
_ROLES = {"tool_use": "assistant", "tool_result": "user", "thinking": "assistant"}


@click.group()
def trace() -> None:
    """Look into recordings: files that `weft proxy` and `weft record` wrote, and sessions kept in a store."""


class _Node(NamedTuple):
    """A request as the drawing of trees wants it."""

    id: str
    parents: tuple[str, ...]


@trace.command()
@click.argument("source", required=False, metavar="[FILE|SESSION]")
@click.option("--no-graph", is_flag=True, help="A plain list, without the tree.")
@limited(40)
@as_json
@_store
def ls(*, source: str | None, no_graph: bool, limit: int, as_json: bool, address: str | None) -> None:
    """List the requests of a recording as a tree, newest first.

    SESSION is the beginning of a session's id; without one, the newest session of the store. Each line has the id, the
    time, the model, tokens in and out, the cost, the duration (~ for a stream) and the first words of what was sent.
    """
    with opened(source, address) as recording:
        requests = recording.cooked().requests
        shown = requests[-limit:] if limit else requests
        found = {request.id: _facts(recording, request) for request in shown}
        tell_problems(recording)
        if as_json:
            click.echo(json_text([_record(request, found[request.id]) for request in shown]))
            return
        if not requests:
            note("no requests")
            return
        length = short_length([request.id for request in requests])
        for line in _drawn(shown[::-1], found, length, plain=no_graph):
            click.echo(line)
        if len(shown) < len(requests):
            note(f"… {counted(len(requests) - len(shown), 'older request')}: -n 0 for all")


def _drawn(
    requests: Sequence[CookedRequest], found: dict[str, tuple[Facts, float | None]], length: int, *, plain: bool
) -> Iterator[str]:
    from weft.cli.graph import draw

    here = {request.id for request in requests}
    rows: Iterator[tuple[str, str | None]]
    if plain:
        rows = (("", request.id) for request in requests)
    else:
        nodes = [_Node(each.id, (each.parent_id,) if each.parent_id in here else ()) for each in requests]
        rows = draw(nodes, plain=not _knows_lines(), coloured=coloured())  # type: ignore[arg-type]  # id and parents
    for drawing, request_id in rows:
        if request_id is None:
            yield drawing.rstrip()
        else:
            facts, cost = found[request_id]
            yield fact_line(facts, length=length, drawing=drawing, cost=cost)


def _knows_lines() -> bool:
    try:
        "●│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _facts(recording: Recording, request: CookedRequest) -> tuple[Facts, float | None]:
    from dataclasses import replace

    from weft.trace import facts_of

    facts = facts_of(recording.record(request), request.index)
    facts = replace(facts, id=request.id, model=request.model or facts.model, timestamp_ms=request.timestamp)
    return facts, cost_of(facts)


def _record(request: CookedRequest, found: tuple[Facts, float | None]) -> dict[str, Any]:
    facts, cost = found
    return {**facts.to_dict(), "parent_id": request.parent_id, "cost": cost}


# -- one request -------------------------------------------------------------------------------------------------------


@trace.command()
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
        facts, cost = _facts(recording, request)
        cooked = recording.cooked()
        messages = {message.id: message for message in cooked.messages}
        if as_json:
            tools = {tool.id: tool.to_dict() for tool in cooked.tools}
            click.echo(
                json_text(
                    {
                        **_record(request, (facts, cost)),
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


@trace.command()
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


# -- sums ----------------------------------------------------------------------------------------------------------


@trace.command()
@click.argument("source", required=False, metavar="[FILE|SESSION]")
@as_json
@_store
def stats(*, source: str | None, as_json: bool, address: str | None) -> None:
    """Sum a recording up: requests, tokens, cache hits, cost, time and errors, by model."""
    from weft.trace import Total

    with opened(source, address) as recording:
        cooked = recording.cooked()
        whole, by_model = Total(), dict[str, Total]()
        slowest: list[tuple[int, str]] = []
        for request in cooked.requests:
            facts, cost = _facts(recording, request)
            whole.add(facts, cost)
            by_model.setdefault(facts.model or "?", Total()).add(facts, cost)
            slowest.append((facts.duration_ms, request.id))
        tell_problems(recording)
        roots = sum(request.parent_id is None for request in cooked.requests)
        if as_json:
            models = {model: total.to_dict() for model, total in by_model.items()}
            about = {"messages": len(cooked.messages), "tools": len(cooked.tools), "conversations": roots}
            click.echo(json_text({**whole.to_dict(), **about, "models": models}))
            return
        rows = [(model, *_row(total)) for model, total in sorted(by_model.items(), key=lambda pair: -pair[1].requests)]
        rows.append(("all", *_row(whole)))
        header = ("model", "requests", "errors", "in", "cached", "out", "cost", "time")
        for line in table(header, [[visible(row[0]), *row[1:]] for row in rows], right=frozenset(range(1, 8))):
            click.echo(line)
        click.echo(
            f"{counted(len(cooked.messages), 'message')}, {counted(len(cooked.tools), 'tool')}, "
            f"{counted(roots, 'conversation')}"
        )
        if slowest and max(slowest)[0]:
            duration, request_id = max(slowest)
            click.echo(f"slowest: {request_id}, {duration_text(duration)}")
        if whole.unpriced:
            note(f"{counted(whole.unpriced, 'request')} without a known price")


def _row(total: Any) -> tuple[str, ...]:
    rate = "" if total.hit_rate is None else f"{round(100 * total.hit_rate)}%"
    cost = cost_text(total.cost) if total.unpriced < total.requests else ""
    return (
        f"{total.requests:,}",
        f"{total.errors:,}" if total.errors else "",
        token_text(total.input_tokens),
        rate,
        token_text(total.output_tokens),
        cost,
        duration_text(total.duration_ms),
    )


@trace.command("cache-miss")
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
    if not lost:
        return None
    paid = cost_of(facts)
    better = cost_of(facts, _as_cached(dict(facts.usage), lost))
    return None if paid is None or better is None else max(0.0, paid - better)


def _as_cached(usage: dict[str, Any], lost: int) -> dict[str, Any]:
    """Write a provider's account as if so many more tokens had come from its cache."""
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        written = min(lost, usage.get("cache_creation_input_tokens") or 0)
        usage["cache_creation_input_tokens"] = (usage.get("cache_creation_input_tokens") or 0) - written
        usage.pop("cache_creation", None)  # the same, by how long it is kept
        usage["input_tokens"] = max(0, (usage.get("input_tokens") or 0) - (lost - written))
        usage["cache_read_input_tokens"] = (usage.get("cache_read_input_tokens") or 0) + lost
    elif "promptTokenCount" in usage:
        usage["cachedContentTokenCount"] = (usage.get("cachedContentTokenCount") or 0) + lost
    elif "prompt_tokens" in usage:
        details = usage.get("prompt_tokens_details") or {}
        usage["prompt_tokens_details"] = {**details, "cached_tokens": (details.get("cached_tokens") or 0) + lost}
    elif "input_tokens_details" in usage or "input_tokens" in usage:
        details = usage.get("input_tokens_details") or {}
        usage["input_tokens_details"] = {**details, "cached_tokens": (details.get("cached_tokens") or 0) + lost}
    return usage


# -- sessions ----------------------------------------------------------------------------------------------------------


@trace.command()
@as_json
@with_store(reads=True)
def sessions(*, store: Store, as_json: bool) -> None:
    """List the recorded sessions of a store: one for each run of a proxy, recorded command or imported file."""
    from weft.ids import id_time
    from weft.store import Exchanges

    rows = Exchanges(store.frames).sessions()
    if as_json:
        click.echo(
            json_text(
                [
                    {"id": row.id, "time": id_time(row.id).isoformat(), "requests": row.exchanges, **row.meta}
                    for row in rows
                ]
            )
        )
        return
    if not rows:
        note("nothing is recorded in this store\n  record something: weft record -- COMMAND")
        return
    for row in rows[::-1]:
        what = " ".join(str(row.meta.get(key)) for key in ("kind", "source", "command") if row.meta.get(key))
        before = f"{click.style(row.id, fg='yellow')}  {id_time(row.id).astimezone():%Y-%m-%d %H:%M}  "
        before += f"{counted(row.exchanges, 'request'):>12}  "
        click.echo(before + cut(what, room(before)))


@trace.command()
@click.argument("session_id", metavar="SESSION")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@with_store(reads=False)
def rm(*, store: Store, session_id: str, yes: bool) -> None:
    """Remove a recorded session for good. Turns that were imported from it stay."""
    from weft.store import Exchanges, remove_session
    from weft.trace import find_session

    session = find_session(Exchanges(store.frames), session_id)
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(
            f"Remove {counted(session.exchanges, 'request')} for good? This cannot be undone.", abort=True, err=True
        )
    before = store.stats().details.get("chunk_bytes", 0)
    count = remove_session(store.frames, session.number)
    freed = before - store.stats().details.get("chunk_bytes", 0)
    note(f"{counted(count, 'request')} removed, {size_text(freed)} of content with them")
