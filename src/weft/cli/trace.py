"""`weft trace`: what a recording tells. Requests as a tree, what they cost; sessions. One request: `tracerequest`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from weft.cli.completing import files
from weft.cli.helping import Listing
from weft.cli.render import coloured, counted, cut, json_text, note, room, size_text, table, visible
from weft.cli.storing import as_json, limited, store_option, with_store
from weft.cli.tracerequest import cache_miss, diff, show
from weft.cli.tracing import (
    cost_text,
    duration_text,
    fact_line,
    facts_and_cost,
    opened,
    request_record,
    short_length,
    tell_problems,
    token_text,
)

if TYPE_CHECKING:
    from weft.threads import Store
    from weft.trace import CookedRequest, Facts

__all__ = ["trace"]


@click.group(cls=Listing)
def trace() -> None:
    """Look into recordings: files that `weft proxy` and `weft record` wrote, and sessions kept in a store."""


for _command in (show, diff, cache_miss):
    trace.add_command(_command)


# -- requests ----------------------------------------------------------------------------------------------------------


class _Node(NamedTuple):
    """A request as the drawing of trees wants it."""

    id: str
    parents: tuple[str, ...]


@trace.command()
@click.argument("source", required=False, metavar="[FILE|SESSION]", shell_complete=files)
@click.option("--no-graph", is_flag=True, help="A plain list, without the tree.")
@limited(40)
@as_json
@store_option
def ls(*, source: str | None, no_graph: bool, limit: int, as_json: bool, address: str | None) -> None:
    """List the requests of a recording as a tree, newest first; ○ begins a conversation.

    SESSION is the beginning of a session's id; without one, the newest session of the store. Each line has the id, the
    time, the model, tokens in and out, the cost, the duration (~ for a stream) and the first words of what was sent.
    """
    with opened(source, address) as recording:
        requests = recording.cooked().requests
        shown = requests[-limit:] if limit else requests
        found = [facts_and_cost(recording, request) for request in shown]
        tell_problems(recording)
        if as_json:
            click.echo(json_text([request_record(*each) for each in zip(shown, found, strict=True)]))
            return
        if not requests:
            note("no requests")
            if source is not None and any("it has no request" in str(each) for each in recording.problems):
                note(f"  if it is a conversation: weft import {source}, then weft log")
            return
        length = short_length([request.id for request in requests])
        for line in _drawn(shown, found, length, plain=no_graph):
            click.echo(line)
        if len(shown) < len(requests):
            note(f"… {counted(len(requests) - len(shown), 'older request')}: -n 0 for all")


def _drawn(
    requests: Sequence[CookedRequest], found: Sequence[tuple[Facts, float | None]], length: int, *, plain: bool
) -> Iterator[str]:
    from weft.cli.graph import draw

    rows: Iterator[tuple[str, str | None]]
    if plain:
        rows = (("", str(place)) for place in reversed(range(len(requests))))
    else:
        nodes = _nodes(requests)
        roots = {node.id for node, each in zip(nodes, requests, strict=True) if each.parent_id is None}
        rows = draw(nodes[::-1], plain=not _knows_lines(), coloured=coloured(), roots=roots)
    for drawing, place in rows:
        if place is None:
            yield drawing.rstrip()
        else:
            facts, cost = found[int(place)]
            yield fact_line(facts, length=length, drawing=drawing, cost=cost)


def _nodes(requests: Sequence[CookedRequest]) -> list[_Node]:
    """Name requests by their place: ids in records are anybody's text. A parent is the latest before with its id."""
    latest: dict[str, str] = {}
    nodes = []
    for place, request in enumerate(requests):
        parent = latest.get(request.parent_id) if request.parent_id is not None else None
        nodes.append(_Node(str(place), (parent,) if parent is not None else ()))
        latest[request.id] = str(place)
    return nodes


def _knows_lines() -> bool:
    try:
        "●│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


@trace.command()
@click.argument("source", required=False, metavar="[FILE|SESSION]", shell_complete=files)
@as_json
@store_option
def stats(*, source: str | None, as_json: bool, address: str | None) -> None:
    """Sum a recording up: requests, tokens, cache hits, cost, time and errors, by model."""
    from weft.trace import Total

    with opened(source, address) as recording:
        cooked = recording.cooked()
        whole, by_model = Total(), dict[str, Total]()
        slowest: list[tuple[int, str]] = []
        for request in cooked.requests:
            facts, cost = facts_and_cost(recording, request)
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
