"""`weft view` as a person starts it: a real program, a real port, and what it says."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Weft, program
from tests.support.recordings import line
from weft.version import __version__


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A home of the test's own, and a browser that only writes down where it was sent."""
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    browser.chmod(0o755)
    return {"WEFT_HOME": str(tmp_path / "home"), "BROWSER": f"{browser} %s"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def viewing(*args: str, env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start it; give the process and the address it printed."""
    command = [sys.executable, "-m", "weft.cli", "view", *args]
    running = subprocess.Popen(
        command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    try:
        printed = running.stdout.readline().strip()
        assert printed, running.communicate(timeout=10)[1]
        yield running, printed
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
        running.communicate(timeout=20)


def asked(url: str, path: str) -> Any:
    base, _, token = url.partition("#token=")
    request = urllib.request.Request(  # noqa: S310 - the address it printed
        f"{base}{path}", headers={"authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.loads(answer.read())


def test_a_trace_is_shown_and_the_browser_opened_with_a_ticket(tmp_path: Path, home: dict[str, str]) -> None:
    """W-01, W-05: loopback only; the token is printed, the browser gets one that works once."""
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(line(0, [{"role": "user", "content": "How deep?"}]))
    with viewing(str(trace), "--port", "0", env=home) as (running, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{43}", url)
        sources = asked(url, "api/sources")
        deadline = time.monotonic() + 10
        while asked(url, "api/sources/f1")["is_loading"] and time.monotonic() < deadline:
            time.sleep(0.05)
        rows = asked(url, "api/sources/f1/graph")["rows"]
        while not (tmp_path / "opened").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        opened = (tmp_path / "opened").read_text().strip()
        notes = list((tmp_path / "home" / "view").iterdir())
        modes = [stat.S_IMODE(place.stat().st_mode) for place in (*notes, notes[0].parent)]
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=20)
        status = running.returncode

    assert [(source["id"], source["kind"]) for source in sources["sources"]] == [("f1", "trace"), ("t1", "threads")]
    assert sources["run_source_id"] == "t1"
    assert [row["gist"] for row in rows] == ["How deep?"]
    assert opened.startswith(url.partition("#")[0])
    assert opened != url
    assert modes == [0o600, 0o700]
    assert "ctrl-c" in said
    assert "Traceback" not in said
    assert status == 0
    assert not list((tmp_path / "home" / "view").iterdir())


def test_a_second_view_of_the_same_opens_the_first(tmp_path: Path, home: dict[str, str]) -> None:
    """C-54: the port is taken by the same service; only the browser is opened."""
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(line(0, [{"role": "user", "content": "x"}]))
    port = str(free_port())
    with viewing(str(trace), "--port", port, "--no-open", env=home) as (_, url):
        again = program("view", str(trace), "--port", port, "--no-open", env=home)
        opens = program("view", str(trace), "--port", port, env=home)
        opened = (tmp_path / "opened").read_text().strip()
        with viewing("--port", port, "--no-open", env=home) as (_, other):
            others = asked(other, "api/sources")

    assert (again.status, again.out.strip()) == (0, url)
    assert "already shown" in again.err
    assert opens.status == 0
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/#token=[\w-]{{43}}", opened)
    assert opened != url  # a ticket: others can read what a browser is started with
    assert f":{port}/" not in other
    assert [source["kind"] for source in others["sources"]] == ["threads"]


class _Stranger(http.server.BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def stranger(body: bytes) -> Iterator[int]:
    handler = type("Handler", (_Stranger,), {"body": body})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()


def test_another_program_on_the_port_is_stepped_over(home: dict[str, str]) -> None:
    """C-54: the next port is taken."""
    with (
        stranger(b'{"name": "other"}') as port,
        viewing("--port", str(port), "--no-open", env=home) as (_, url),
    ):
        assert port < int(url.rpartition(":")[2].partition("/")[0]) <= port + 10


def test_the_same_service_of_anyone_is_opened(tmp_path: Path, home: dict[str, str]) -> None:
    """C-54: what answers with the same name and version is the viewer."""
    with stranger(json.dumps({"name": "weft", "version": __version__}).encode()) as port:
        ran = program("view", "--port", str(port), env=home)
        deadline = time.monotonic() + 10
        while not (tmp_path / "opened").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    assert ran.status == 0
    assert (tmp_path / "opened").read_text().strip() == f"http://127.0.0.1:{port}/"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),  # noqa: S104
        (["nothing.jsonl"], "No such file"),
        (["{folder}"], "no store"),
        (["{pipe}"], "pipes and devices"),
        (["/dev/zero"], "pipes and devices"),
        (["{words}"], "no recording"),
        (["--host", "192.0.2.1", "--allow-remote"], "cannot listen"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(tmp_path: Path, weft: Weft, args: list[str], said: str) -> None:
    """W-05, W-06, C-04: an address others reach needs a word more; pipes are not waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "words").write_text("just words\n")
    places = {name: str(tmp_path / name) for name in ("folder", "pipe", "words")}

    ran = weft("view", "--no-open", "--port", "0", *(arg.format(**places) for arg in args), ok=False)

    assert ran.status == 1
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_threads_of_a_named_store_are_shown(tmp_path: Path, home: dict[str, str]) -> None:
    from weft import open_store

    with open_store(tmp_path / "other") as store:
        store.add_turn("kept elsewhere", bookmark="far")
    with viewing(str(tmp_path / "other"), "--port", "0", "--no-open", env=home) as (_, url):
        threads = asked(url, "api/sources/t1/threads")["threads"]
        choices = asked(url, "api/run-choices")

    assert [(each["title"], each["bookmarks"]) for each in threads] == [("kept elsewhere", ["far"])]
    assert {"name", "provider", "model", "is_pointer", "has_key"} == choices["providers"][0].keys()
