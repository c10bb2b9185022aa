"""What happens, told to open pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import weft
from tests.support.viewing import events_of, running_viewer, until
from weft.web import ThreadsSource
from weft.web.live import Hub


def test_a_turn_of_another_process_appears_without_asking(small_store: weft.Store) -> None:
    small_store.add_turn("first")
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        events = events_of(page)
        _, hello = next(events)
        turn = small_store.add_turn("second", respond=True)
        name, event = next(events)
        rows = page.get("/api/sources/t1/graph")["rows"]
        small_store.add_turn("third", respond=True)
        missed = events_of(page, last_id=name)
        again = [next(missed)[1]["type"], next(missed)[1]["total"]]
        events.close()
        missed.close()

    assert (hello["type"], hello["sources"][0]["rows"]) == ("hello", 1)
    assert (event["type"], event["total"], event["row_ids"]) == ("graph", 2, [turn.id])
    assert [row["gist"] for row in rows] == ["first", "second"]
    assert again == ["hello", 3]


def test_a_page_that_was_away_for_too_long_is_told_to_ask_anew() -> None:
    async def away(last_id: str) -> list[str]:
        hub = Hub(kept=2)
        for number in range(5):
            hub.publish({"type": "graph", "number": number})
        return await _types(hub.follow(last_id.replace("RUN", hub._run), lambda: {"type": "hello"}), 2)

    assert asyncio.run(away("other-4")) == ["hello", "reset"]
    assert asyncio.run(away("RUN-1")) == ["hello", "reset"]
    assert asyncio.run(away("RUN-4")) == ["hello", "graph"]
    assert asyncio.run(away("RUN-nonsense")) == ["hello", "reset"]


def test_a_page_that_does_not_keep_up_is_told_to_ask_anew() -> None:
    async def slow() -> list[str]:
        hub = Hub(waiting=3)
        stream = hub.follow(None, lambda: {"type": "hello"})
        types = await _types(stream, 1, close=False)
        for number in range(5):
            hub.publish({"type": "graph", "number": number})
        return types + await _types(stream, 2)

    assert asyncio.run(slow()) == ["hello", "reset", "graph"]


def test_a_quiet_stream_says_that_it_is_still_there_and_ends_with_the_server() -> None:
    async def quiet() -> list[bytes]:
        hub = Hub(ping_s=0.01)
        frames = []
        async for frame in hub.follow(None, lambda: {"type": "hello"}):
            frames.append(frame)
            if frame.startswith(b":"):
                hub.close()
        return frames

    frames = asyncio.run(quiet())

    assert frames[-1] == b": still here\n\n"
    assert b'"hello"' in frames[0]


def test_events_reach_a_page_from_any_thread() -> None:
    async def told() -> list[str]:
        hub = Hub()
        stream = hub.follow(None, lambda: {"type": "hello"})
        types = await _types(stream, 1, close=False)
        await asyncio.to_thread(hub.publish, {"type": "graph"})
        heard = [hub.has_pages]
        types += await _types(stream, 1)
        heard.append(hub.has_pages)
        assert heard == [True, False]
        return types

    assert asyncio.run(told()) == ["hello", "graph"]


def test_a_source_that_comes_later_is_told_of(small_store: weft.Store) -> None:
    late: list[Any] = []
    with running_viewer([ThreadsSource("t1", "threads", small_store)], more=lambda: late) as page:
        events = events_of(page)
        next(events)
        late.append(ThreadsSource("t2", "more", small_store))
        _, event = next(events)
        events.close()
        until(lambda: page.get("/api/sources/t2"))

    assert (event["type"], [source["id"] for source in event["sources"]]) == ("sources", ["t1", "t2"])


async def _types(stream: AsyncIterator[bytes], count: int, *, close: bool = True) -> list[str]:
    found: list[str] = []
    async with asyncio.timeout(5):
        while len(found) < count:
            frame = await anext(stream)
            if not frame.startswith(b":"):
                found.append(json.loads(frame.partition(b"data: ")[2])["type"])
    if close:
        await stream.aclose()  # type: ignore[attr-defined]  # an async generator
    return found
