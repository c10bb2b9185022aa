"""`weft search`: find turns by what was said, called or answered."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from weft.cli.completing import bookmarks
from weft.cli.render import cut, id_text, json_text, note, role_text, room, visible
from weft.cli.storing import as_json, limited, moment, name_of, with_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.threads import SearchHit, Store

__all__ = ["search"]

_ALL = 1 << 30


@click.command()
@click.argument("query", nargs=-1)
@click.option("--role", type=click.Choice(["user", "assistant", "system"]), help="Only what this role said.")
@click.option("--model", help="Only answers of this model.")
@click.option("--bookmark", metavar="NAME", help="Only turns that carry this bookmark.", shell_complete=bookmarks)
@click.option("--since", metavar="TIME", help="Not older: 2026-09-30, 2026-09-30T12:00, or 90m, 12h, 7d, 2w ago.")
@click.option("--until", metavar="TIME", help="Not newer; a date means its whole day.")
@click.option("--recorded", is_flag=True, help="Look through recorded requests instead of turns.")
@limited(20)
@click.option("--before", metavar="ID", help="Only turns older than this one, for the next page.")
@as_json
@with_store(reads=True)
def search(
    *,
    store: Store,
    query: tuple[str, ...],
    role: str | None,
    model: str | None,
    bookmark: str | None,
    since: str | None,
    until: str | None,
    recorded: bool,
    limit: int,
    before: str | None,
    as_json: bool,
) -> None:
    """Find turns by their text, tool arguments and tool results, newest first.

    All words of QUERY have to be there, in any case and order; "words in quotes" stand together, and tid* finds tides.
    """
    now = datetime.now(UTC)
    words = " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in query)
    if recorded:
        if role or model or bookmark or since or until or before:
            raise click.UsageError("--recorded takes words only")
        _recorded(store, words, limit, as_json=as_json)
        return
    hits = store.search(
        words,
        role=role,
        model=model,
        bookmark=bookmark,
        since=None if since is None else moment(since, now=now),
        until=None if until is None else moment(until, now=now, end_of_day=True),
        before=None if before is None else store.find(name_of(store, before)),
        limit=limit + 1 if limit else _ALL,
    )
    shown = hits[:limit] if limit else hits
    if as_json:
        click.echo(json_text([_record(hit) for hit in shown]))
        return
    if not shown:
        note("nothing found")
        return
    _print(store, shown, words)
    if len(hits) > len(shown):
        note(f"… there are older ones: --before {shown[-1].id}")


def _record(hit: SearchHit) -> dict[str, object]:
    from weft.ids import id_time

    return {
        "id": hit.id,
        "role": hit.role,
        "bookmark": hit.bookmark,
        "time": id_time(hit.id).isoformat(timespec="milliseconds"),
        "snippet": hit.snippet,
    }


def _print(store: Store, hits: Sequence[SearchHit], words: str) -> None:
    from weft.threads import short_length

    length = short_length(store, [hit.id for hit in hits])
    parts = [part.rstrip("*") for part in re.findall(r"[^\s\"]+", words)]
    pattern = re.compile("|".join(re.escape(part) for part in parts if part), re.IGNORECASE) if parts else None
    lines = []
    for hit in hits:
        thread = f"{click.style(visible(hit.bookmark), fg='green')}: " if hit.bookmark else ""
        before = f"{id_text(hit.id, length)}  {role_text(hit.role)}  {thread}"
        # A snippet has some 90 characters; where nobody watches it is shown whole.
        watched = sys.stdout.isatty()
        snippet = cut(hit.snippet, room(before) if watched else 200)
        if pattern is not None:
            snippet = pattern.sub(lambda found: click.style(found[0], bold=True, fg="red"), snippet)
        lines.append((before + snippet).rstrip())
    click.echo("\n".join(lines))


def _recorded(store: Store, words: str, limit: int, *, as_json: bool) -> None:
    """Print the recorded requests that first had what is looked for."""
    from weft.store import parse_query, search_exchanges

    query = parse_query(words)
    if not query.words and not query.phrases:
        raise click.UsageError("say what to look for")
    hits = search_exchanges(store.frames, query, limit or _ALL)
    if as_json:
        click.echo(json_text([{"id": hit.exchange.name, "text": hit.text} for hit in hits]))
        return
    if not hits:
        note("nothing found")
    for hit in hits:
        before = f"{click.style(visible(hit.exchange.name), fg='yellow')}  "
        click.echo(before + cut(hit.text, room(before)))
