"""Serving: a port by the rules, the server over it, and a note for whoever starts another one.

Starlette and uvicorn are the extra `view`; this module is loaded only when a server is wanted.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from weft.errors import UsageError
from weft.version import __version__
from weft.web.app import NAME, create_app
from weft.web.safety import host_names, is_loopback
from weft.web.viewer import Viewer

__all__ = ["Listening", "Note", "ask_ticket", "find_port", "read_note", "serve", "written_note"]

NEXT_PORTS = 10  # tried after the first [C-54]
_PROBE_S = 2.0


class Listening(NamedTuple):
    """A port that is ours, or `socket` None if the viewer that is wanted is there already."""

    socket: socket.socket | None
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address a browser opens."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


class Note(NamedTuple):
    """What a server leaves for the next `weft view` of the same user: how to get in, and what it shows."""

    token: str
    shows: str


def find_port(host: str, port: int, *, wants: str, notes: Path) -> Listening:
    """Take a port, or find the viewer that shows `wants` already; the next ten are tried [C-54]."""
    last = port if port == 0 else min(port + NEXT_PORTS, 65_535)
    for candidate in range(port, last + 1):
        try:
            bound = _bound(host, candidate)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise UsageError(f"cannot listen on {host}:{candidate}: {problem.strerror or problem}") from None
            listening = Listening(None, host, candidate)
            note = read_note(notes, candidate)
            if _is_weft(listening.url) and (note is None or note.shows == wants):
                return listening
            continue
        return Listening(bound, host, bound.getsockname()[1])
    raise UsageError(
        f"ports {port} to {last} are taken by other programs\n  choose one: weft view --port N; any free one: --port 0"
    )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small answers at once; else each of them would wait 40 ms for a receipt.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return bound


def _is_weft(url: str) -> bool:
    try:
        with _direct().open(f"{url}_info", timeout=_PROBE_S) as answer:
            said = json.loads(answer.read(10_000))
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return isinstance(said, Mapping) and said.get("name") == NAME and said.get("version") == __version__


# -- notes -----------------------------------------------------------------------------------------------------------


def ask_ticket(listening: Listening, token: str) -> str | None:
    """Ask a viewer that is there already for a ticket: what a browser is started with can be read by others."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(f"{listening.url}api/ticket", b"{}", headers)  # noqa: S310 - our own address
    try:
        with _direct().open(request, timeout=_PROBE_S) as answer:
            return str(json.loads(answer.read(10_000))["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # another viewer: its page will say what it needs


def _direct() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a loopback port is asked directly


def _place(folder: Path, port: int) -> Path:
    return folder / f"{port}.json"


def read_note(folder: Path, port: int) -> Note | None:
    """Read what the server on a port left; None if it left nothing."""
    try:
        said = json.loads(_place(folder, port).read_bytes())
        return Note(str(said["token"]), str(said["shows"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def written_note(folder: Path, port: int, note: Note) -> Iterator[None]:
    """Leave a note that only this user can read, for as long as the server runs [K-05]."""
    place = _place(folder, port)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(note._asdict(), file)
    except OSError:  # a read-only home: the next `weft view` takes another port
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)


# -- serving ---------------------------------------------------------------------------------------------------------


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals, and with streams that end when it does."""

    def __init__(self, config: uvicorn.Config, viewer: Viewer) -> None:
        super().__init__(config)
        self._viewer = viewer

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs the loop."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End open streams first: they would go on for ever."""
        self._viewer.hub.close()
        await super().shutdown(sockets)


async def serve(
    viewer: Viewer,
    listening: Listening,
    *,
    on_ready: Callable[[], None] | None = None,
    on_stop: Callable[[Callable[[], None]], Any] | None = None,
) -> None:
    """Serve until stopped. `on_stop` is handed what stops it; without, ctrl-c and `kill` do."""
    if listening.socket is None:
        raise UsageError("there is no port to serve on")
    is_open = not is_loopback(listening.host) and listening.host in ("", "0.0.0.0", "::")  # noqa: S104
    hosts = None if is_open else host_names(listening.host, listening.port)
    app = create_app(viewer, hosts=hosts, cookie=f"weft-{listening.port}")
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what went wrong is in the answer
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # addresses are nobody's business, not even a log's [W-01]
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    server = _Server(config, viewer)

    def stop() -> None:
        server.should_exit = True

    with _signals(stop) if on_stop is None else contextlib.nullcontext():
        if on_stop is not None:
            on_stop(stop)
        if on_ready is not None:
            on_ready()  # the socket listens already: whoever comes now waits a moment
        await server.serve(sockets=[listening.socket])


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    before = {one: signal.signal(one, lambda *_: stop()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
