"""What commands over recordings have in common: which recording is meant, prices, and one request on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft.cli.completing import files
from weft.cli.render import counted, cut, note, room, visible
from weft.cli.storing import store_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.trace import CookedRequest, Facts, Recording

__all__ = [
    "cost_of",
    "cost_text",
    "duration_text",
    "fact_line",
    "facts_and_cost",
    "from_source",
    "is_file",
    "looked_up",
    "opened",
    "request_record",
    "short_length",
    "tell_problems",
    "token_text",
]

_F = TypeVar("_F", bound="Callable[..., Any]")
_SHORTEST = 6
_PROBLEMS = 10  # lines told of one by one


def from_source(function: _F) -> _F:
    """Give a command `--from` and `--store`, to say where a request is looked for."""
    source = click.option(
        "-f",
        "--from",
        "source",
        metavar="FILE|SESSION",
        shell_complete=files,
        help="The recording; else the store's, wherever it is there.",
    )
    return source(store_option(function))


@contextmanager
def opened(source: str | None, address: str | None) -> Iterator[Recording]:
    """Open a recording and read it: a file, a session by the beginning of its id, or the newest session."""
    from weft.trace import TraceFile, find_recording

    if source is not None and is_file(source):
        recording: Recording = TraceFile(source)
        recording.refresh()
        yield recording
        return
    from weft.threads import open_store

    with open_store(address, read_only=address is not None) as store:
        recording = find_recording(store, source)
        recording.refresh()
        yield recording


@contextmanager
def looked_up(
    requests: Sequence[str], source: str | None, address: str | None
) -> Iterator[tuple[Recording, list[CookedRequest]]]:
    """Open the recording that requests are in, and find them."""
    if source is not None:
        with opened(source, address) as recording:
            yield recording, [recording.request(text) for text in requests]
        return
    from weft.errors import UnknownBookmarkError
    from weft.threads import open_store
    from weft.trace import recording_of

    with open_store(address, read_only=address is not None) as store:
        found = recording_of(store, requests[0])
        if found is None:
            raise UnknownBookmarkError(
                f"no recorded request is called {requests[0]!r}\n  in a file: --from trace.jsonl\n  see: weft trace ls"
            )
        found.refresh()
        yield found, [found.request(text) for text in requests]


def is_file(text: str) -> bool:
    """Tell whether a file is meant, there or yet to come, rather than a session."""
    path = Path(text).expanduser()
    return path.is_file() or (("/" in text or text.endswith((".jsonl", ".json", ".zst"))) and not path.is_dir())


def tell_problems(recording: Recording) -> None:
    """Say what could not be read, with its line [J-08]."""
    for problem in recording.problems[:_PROBLEMS]:
        note(f"warning: {problem}")
    if (more := len(recording.problems) - _PROBLEMS) > 0:
        note(f"warning: … {counted(more, 'more line')} that cannot be read")
    torn = getattr(recording, "torn", None)
    if torn is not None:
        note(f"warning: {torn}")


def facts_and_cost(recording: Recording, request: CookedRequest) -> tuple[Facts, float | None]:
    """Give what is told about a request, and what it cost; None where no price is known."""
    from dataclasses import replace

    from weft.trace import facts_of

    facts = facts_of(recording.record(request), request.index)
    facts = replace(facts, id=request.id, model=request.model or facts.model, timestamp_ms=request.timestamp)
    return facts, cost_of(facts)


def request_record(request: CookedRequest, found: tuple[Facts, float | None]) -> dict[str, Any]:
    """Give the same as JSON has it."""
    facts, cost = found
    return {**facts.to_dict(), "parent_id": request.parent_id, "cost": cost}


# -- money and numbers ---------------------------------------------------------------------------------------------


def cost_of(facts: Facts, usage: Mapping[str, Any] | None = None) -> float | None:
    """Give what a request cost in US dollars, by the day it was made; None where no price is known."""
    from weft.canon import Usage
    from weft.providers import have_prices, price_of

    account = facts.usage if usage is None else usage
    if not account or not facts.model or not have_prices():
        return None
    when = facts.time if facts.timestamp_ms else datetime.now(UTC)
    given, made = facts.tokens.input, facts.tokens.output
    price = price_of(facts.provider, facts.model, Usage(given, made, None, account), at=when, dialect=facts.dialect)
    return None if price is None else float(price)


def cost_text(cost: float | None) -> str:
    """Give dollars as people read them: cents in full, fractions of a cent to four places."""
    if cost is None:
        return ""
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


def token_text(count: int | None) -> str:
    """Give a number of tokens: 812, 12.3k, 1.2M."""
    if count is None:
        return "?"
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def duration_text(milliseconds: int) -> str:
    """Give a duration: 812ms, 1.4s, 3m 12s."""
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds // 60)}m {int(seconds % 60)}s"


# -- one request on one line -----------------------------------------------------------------------------------------


def short_length(ids: Sequence[str]) -> int:
    """Give how much of an id tells all of these apart."""
    length = _SHORTEST
    while length < 36 and len({each[:length] for each in ids}) < len(set(ids)):
        length += 1
    return length


def fact_line(facts: Facts, *, length: int, drawing: str = "", cost: float | None = None, dated: bool = False) -> str:
    """Give a request on one line: id, time, model, tokens, cost, duration, and what was said or went wrong."""
    when = (
        facts.time.astimezone().strftime("%m-%d %H:%M:%S" if dated else "%H:%M:%S")
        if facts.timestamp_ms
        else "--:--:--"
    )
    tokens = f"{token_text(facts.tokens.input)}→{token_text(facts.tokens.output)}"
    if facts.tokens.cached and facts.tokens.input:
        tokens += f" {round(100 * facts.tokens.cached / facts.tokens.input)}% cached"
    pieces = [
        click.style(visible(facts.id[:length]), fg="yellow"),
        click.style(when, dim=True),
        click.style(visible(facts.model or "?"), fg="cyan"),
        tokens if facts.usage else "",
        cost_text(cost),
        click.style(duration_text(facts.duration_ms), fg="red" if facts.duration_ms > 5000 else None),
        "~" if facts.is_stream else "",
    ]
    before = f"{drawing}{'  '.join(piece for piece in pieces if piece)}  "
    said = facts.error if facts.error is not None else facts.gist
    text = cut(said or "-", room(before))
    return (before + (click.style(text, fg="red") if facts.error is not None else text)).rstrip()
