"""A viewer for tests: the real server on a real port, its loop in a thread beside the test, and its token in hand."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2

from weft.web import Listening, Source, Viewer, find_port, serve
from weft.web.static import Built, BuiltFile

__all__ = ["BUILT", "Page", "events_of", "running_viewer", "until"]

# A page as the build writes it, in small.
BUILT = Built(
    BuiltFile(b"<!doctype html><script src=/assets/a.js></script>", "text/html; charset=utf-8", '"page"'),
    MappingProxyType(
        {
            "/assets/a-1.js": BuiltFile(b"1", "text/javascript; charset=utf-8", '"one"'),
            "/favicon.svg": BuiltFile(b"<svg/>", "image/svg+xml", '"icon"'),
        }
    ),
    "window.shown = 1; '</script>' + '<!--'",
    "body { color: red }",
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is open: it asks with the token, as a page with its cookie would."""

    viewer: Viewer
    listening: Listening
    client: httpx2.Client

    @property
    def origin(self) -> str:
        return self.listening.url.rstrip("/")

    def get(self, path: str, **params: Any) -> Any:
        """Ask, and give the answer; anything but a success is a failed test."""
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def refused(self, path: str, **params: Any) -> tuple[int, str]:
        """Ask for what is not given; give the status and the error's code."""
        answer = self.client.get(path, params=params)
        assert answer.status_code >= 400, f"{path}: {answer.text[:200]}"
        return answer.status_code, answer.json()["error"]["code"]

    def post(self, path: str, body: Any, *, status: int | None = None) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code < 300 if status is None else answer.status_code == status, answer.text
        return answer.json() if answer.content and "json" in answer.headers["content-type"] else answer


@contextmanager
def running_viewer(
    sources: Sequence[Source], *, built: Built | None = BUILT, host: str = "127.0.0.1", **rest: Any
) -> Iterator[Page]:
    """Serve sources until the test is done with them."""
    viewer = Viewer(sources, built=built, poll_s=0.03, **rest)
    listening = find_port(host, 0, wants="", notes=Path("/nowhere"))
    stops: list[Any] = []
    ready = threading.Event()

    def run() -> None:
        asyncio.run(serve(viewer, listening, on_stop=stops.append, on_ready=ready.set))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    bearer = {"authorization": f"Bearer {viewer.keys.token}"}
    try:
        with httpx2.Client(base_url=listening.url, headers=bearer, trust_env=False, timeout=20) as client:
            yield Page(viewer, listening, client)
    finally:
        stops[0]()
        thread.join(10)
        assert not thread.is_alive(), "the server did not stop"


def events_of(page: Page, *, last_id: str | None = None) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """Follow the live events: (id, event), one by one."""
    headers = {"last-event-id": last_id} if last_id else {}
    with page.client.stream("GET", "/api/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in stream.iter_lines():
            if line.startswith("id: "):
                name = line[4:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])


def until(found: Any, seconds: float = 10.0) -> Any:
    """Wait for something to be true, and give it."""
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value
