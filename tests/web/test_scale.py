"""A hundred thousand requests and a message of fifty megabytes [W-11]."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.viewing import Page, running_viewer, until
from weft.web import open_recorded

pytestmark = pytest.mark.soak
WORDS = "the water at the pier is deep and the tide comes in slowly tonight with wind from the west"


def write_trace(path: Path, threads: int, requests: int, new: int) -> None:
    """Write threads that run eight at a time; each request sends its history and `new` messages more."""
    number = 0
    with path.open("w") as file:
        for base in range(0, threads, 8):
            histories: list[list[dict[str, Any]]] = [[] for _ in range(8)]
            for step in range(requests):
                for lane, history in enumerate(histories):
                    name = f"{base + lane}.{step}"
                    history += [
                        {"role": ("user", "assistant")[n % 2], "content": f"{name}.{n} {WORDS}"} for n in range(new - 1)
                    ]
                    answer = {"role": "assistant", "content": f"answer {name}"}
                    usage = {"prompt_tokens": 30 * len(history), "completion_tokens": 20}
                    record = {
                        "id": f"q{number}",
                        "timestamp": 1_700_000_000_000 + number * 1000,
                        "duration_ms": 900,
                        "request": {"model": "mint-1", "messages": history},
                        "response": {"choices": [{"message": answer}], "usage": usage},
                        "error": None,
                    }
                    file.write(json.dumps(record) + "\n")
                    history.append(answer)
                    number += 1


def price(*_of: object) -> float:
    """Take as long as looking up a real one."""
    until = time.perf_counter() + 0.0001
    while time.perf_counter() < until:
        pass
    return 0.01


def timed(page: Page, path: str, **params: Any) -> tuple[float, Any]:
    began = time.monotonic()
    answer = page.get(path, **params)
    return time.monotonic() - began, answer


def test_a_hundred_thousand_requests_are_seen_at_once_and_stay_quick(tmp_path: Path) -> None:
    """W-11: the first view comes in under 2 s, whatever the size; then every window is a moment's work."""
    path = tmp_path / "big.jsonl"
    write_trace(path, 10_000, 10, 10)
    began = time.monotonic()
    with running_viewer([open_recorded("f1", path, price=price)]) as page:
        first = until(lambda: page.get("/api/sources/f1/graph", limit=50)["rows"])
        first_view = time.monotonic() - began
        slowest = 0.0
        while page.get("/api/sources/f1")["is_loading"]:
            slowest = max(slowest, timed(page, "/api/sources/f1")[0])
            time.sleep(0.2)
        source = page.get("/api/sources/f1")
        after_reading = timed(page, "/api/sources/f1/graph")[0] + timed(page, "/api/sources/f1/rows/r0")[0]
        windows = [timed(page, "/api/sources/f1/graph", offset=at, limit=200)[0] for at in range(0, 100_000, 9_973)]
        rows = [timed(page, f"/api/sources/f1/rows/r{n}")[0] for n in range(99, 100_000, 9_973)]
        began = time.monotonic()
        while (stats := page.get("/api/sources/f1/stats"))["scanned"] < stats["total"]:
            slowest = max(slowest, timed(page, "/api/sources/f1")[0])
        adding_up = time.monotonic() - began
        found: Any = {"next": "", "hits": []}
        while found["next"] is not None and not found["hits"]:
            took, found = timed(page, "/api/sources/f1/search", q='"17.3.4"', after=found["next"])
            slowest = max(slowest, took)

    assert len(first) > 0
    assert first_view < 2
    assert (source["rows"], source["messages"]) == (100_000, 1_000_000)
    assert after_reading < 0.5  # both were made ready by who read
    assert max(windows) < 0.1
    assert max(rows) < 0.1
    assert slowest < 1
    assert found["hits"]
    assert (stats["totals"]["requests"], stats["totals"]["with_cost"]) == (100_000, 100_000)
    assert adding_up < 60  # a hundred microseconds for each price: ten of them


def test_fifty_megabytes_in_a_message_hold_up_nobody(tmp_path: Path) -> None:
    """W-11: cut where it is listed, read in pieces, searched without a stop."""
    path = tmp_path / "long.jsonl"
    text = f"{WORDS}\n" * (50 * 1024 * 1024 // (len(WORDS) + 1))
    message = {"role": "user", "content": text}
    record = {"id": "q", "timestamp": 1, "request": {"model": "m", "messages": [message]}, "response": {}}
    path.write_text(json.dumps(record) + "\n")
    with running_viewer([open_recorded("f1", path)]) as page:
        until(lambda: page.get("/api/sources/f1")["rows"], 60)
        took = [
            timed(page, "/api/sources/f1/graph")[0],
            timed(page, "/api/sources/f1/rows/r0/diff")[0],
            timed(page, "/api/sources/f1/messages", ids="m0")[0],
            timed(page, "/api/sources/f1/messages/m0/content", start=len(text) - 10)[0],
        ]
        piece = page.get("/api/sources/f1/messages/m0/content", start=len(text) - 10)

    assert max(took) < 0.5
    assert piece == {"text": text[-10:], "start": len(text) - 10, "next": None, "size": len(text)}
