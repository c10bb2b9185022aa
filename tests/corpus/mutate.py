"""L6: records, broken in every way a seed can think of, give a result or a WireError that says where.

Each seed is one mutation of one record: a field dropped, of another type, null, repeated, cut off, or nested a
thousand deep, in a request, a response, or the events and bytes of a stream.
"""

from __future__ import annotations

import random
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import orjson

from tests.corpus.laws import read_stream
from tests.corpus.load import dumps, exchanges, wire_bytes
from tests.corpus.types import TARGETS
from weft.blobs import InMemoryBlobStore
from weft.errors import WireError
from weft.wire.translate import plan_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.corpus.load import Exchange

__all__ = ["SEEDS", "mutation_law"]

SEEDS = 20_000
SLOW_SECONDS = 1.0  # J-09: no hang
DEEP = 1_000
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\ud800",
    "{",
    [],
    {},
    [None],
    [[]],
    {"": None},
)


def mutation_law(seed: int) -> tuple[Exchange, str | None]:
    """L6 for one seed; the record it broke comes with the verdict."""
    chance = random.Random(seed)  # the same mutations in every run
    exchange = chance.choice(exchanges())
    began = time.thread_time()
    try:
        _try(exchange, chance)
    except WireError as error:
        return exchange, None if error.where else f"seed {seed}: a WireError without its place, {_shown(error)}"
    except Exception as problem:  # noqa: BLE001  # that there is none is the law
        return exchange, f"seed {seed}: {type(problem).__name__}, {_shown(problem)}"
    took = time.thread_time() - began
    return exchange, f"seed {seed}: took {took:.1f} s" if took > SLOW_SECONDS else None


def _shown(problem: Exception) -> str:
    """Say where in weft it came from; the message may hold what was said."""
    trace = problem.__traceback__
    place = "?"
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/weft/" in file:
            place = f"{file.rpartition('/weft/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _try(exchange: Exchange, chance: random.Random) -> None:
    if exchange.is_stream and chance.random() < 0.5:
        _stream(exchange, chance)
    elif exchange.is_whole and chance.random() < 0.4:
        blobs = InMemoryBlobStore()
        reply = exchange.dialect.decode_response(mutated(exchange.response, chance), blobs)
        exchange.dialect.encode_response(reply, blobs)
    elif isinstance(exchange.request, dict):
        blobs = InMemoryBlobStore()
        body = mutated(exchange.request, chance)
        decoded = exchange.dialect.decode_request(body, blobs)
        exchange.dialect.encode_request(decoded.messages, decoded.spec, blobs)
        plan_request(body, chance.choice(TARGETS), source=exchange.recorded_as)


def _stream(exchange: Exchange, chance: random.Random) -> None:
    """Break a stream: an event inside, the events' order, or the bytes."""
    response = exchange.response
    kind = chance.random()
    if kind < 0.4:
        data = bytearray(wire_bytes(response))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        data = data[: chance.randint(1, len(data))] if chance.random() < 0.5 else data
    else:
        data = bytearray(wire_bytes(_with_events(response, chance)))
    blobs = InMemoryBlobStore()
    events, _ = read_stream(exchange, [bytes(data)], response["framing"], blobs)
    encoder = exchange.dialect.StreamEncoder(blobs)
    for event in events:
        encoder.feed(event)
    encoder.close()


def _with_events(response: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Change a few events, or put them in another order."""
    key = "sse_lines" if response["framing"] == "sse" else "events"
    events = list(response[key])
    for _ in range(chance.randint(1, 3)):
        e = chance.randrange(len(events))
        if chance.random() < 0.3:
            events.insert(chance.randrange(len(events)), events.pop(e))
        elif key == "events":
            events[e] = mutated(events[e], chance)
        elif events[e].startswith("data:"):
            events[e] = f"data: {_mutated_line(events[e][5:], chance)}"
    return {**response, key: events}


def _mutated_line(line: str, chance: random.Random) -> str:
    try:
        event = orjson.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or chance.random() < 0.2:
        return line[: chance.randrange(len(line))]  # cut off
    return dumps(mutated(event, chance)).decode()


# -- the mutations -----------------------------------------------------------------------------------------------------


def mutated(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Give a copy of a body with one to three things wrong in it."""
    try:
        copy: dict[str, Any] = orjson.loads(orjson.dumps(body))
    except (TypeError, ValueError):
        return body  # broken enough already
    for _ in range(chance.choice((1, 1, 2, 3))):
        holder, key = _somewhere(copy, chance)
        if holder is not None:
            chance.choice(_MUTATIONS)(holder, key, chance)
    return copy


def _somewhere(body: Any, chance: random.Random) -> tuple[Any, Any]:
    """Choose a place: walk in from the top, and stop anywhere on the way."""
    holder, key = None, None
    value = body
    while isinstance(value, (dict, list)) and value and (holder is None or chance.random() < 0.8):
        holder = value
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        value = value[key]
    return holder, key


def _drop(holder: Any, key: Any, _: random.Random) -> None:
    del holder[key]


def _null(holder: Any, key: Any, _: random.Random) -> None:
    holder[key] = None


def _another_type(holder: Any, key: Any, chance: random.Random) -> None:
    holder[key] = deepcopy(chance.choice(OTHERS))


def _wrap(holder: Any, key: Any, chance: random.Random) -> None:
    holder[key] = chance.choice(([holder[key]], {"value": holder[key]}, [holder[key], holder[key]]))


def _cut(holder: Any, key: Any, chance: random.Random) -> None:
    """Cut a text or a list off: JSON inside texts (arguments, schemas) is then truncated."""
    value = holder[key]
    if isinstance(value, (str, list)) and value:
        holder[key] = value[: chance.randrange(len(value))]
    elif isinstance(value, dict) and value:
        holder[key] = dumps(value).decode()[: chance.randint(0, 40)]


def _nest(holder: Any, key: Any, chance: random.Random) -> None:
    value = holder[key]
    inner = chance.choice((key if isinstance(key, str) else "a", "content", "properties"))
    as_list = chance.random() < 0.5
    for _ in range(DEEP):
        value = [value] if as_list else {inner: value}
    holder[key] = value


def _rename(holder: Any, key: Any, chance: random.Random) -> None:
    if isinstance(holder, dict):
        holder[chance.choice(("", "__proto__", "type", "content", "later"))] = holder.pop(key)
    else:
        holder.insert(0, holder[key])


_MUTATIONS: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _drop,
    _drop,
    _null,
    _another_type,
    _another_type,
    _wrap,
    _cut,
    _nest,
    _rename,
)
