"""The world the browser is sent into: a simulator, a recording made through the proxy, a store, the viewer over all.

Everything in it is the real program in a process of its own, as people run it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

import weft
from tests.support.components import PROJECT, require
from tests.support.sim import running_simulator
from tests.viewer.agent import SCRIPT, SECRET, play
from tests.viewer.payloads import PAYLOADS
from weft.tools import Server, register
from weft.trace import Cooker

__all__ = ["built_world", "view", "weft_process"]

STATIC = PROJECT / "src" / "weft" / "web" / "static"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'


@contextmanager
def weft_process(*arguments: str, env: dict[str, str], cwd: Path) -> Iterator[str]:
    """Run a command that serves until it is ended, and give the address it prints."""
    command = [sys.executable, "-m", "weft.cli", *arguments]
    errors = cwd / f"{arguments[0]}-errors.txt"
    with errors.open("ab") as stderr:
        process = subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    try:
        while not (line := process.stdout.readline()).startswith("http"):
            assert process.poll() is None, f"weft {arguments[0]} ended: {errors.read_text()}"
        yield line.strip()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@contextmanager
def built_world(folder: Path) -> Iterator[dict[str, Any]]:
    """Build it; give what a scenario needs to know of it."""
    home = folder / "home"
    home.mkdir(parents=True)
    with ExitStack() as stack:
        simulator = stack.enter_context(running_simulator(SCRIPT))
        env = _environment(home, simulator.environment())
        with weft_process(
            "proxy", "--target", simulator.url, "-o", "agent.jsonl", "--port", "0", "-q", env=env, cwd=folder
        ) as proxy:
            play(proxy)
        (folder / "kept").mkdir()  # a folder is a store
        with weft_process(
            "proxy", "--target", simulator.url, "-o", "kept", "--port", "0", "-q", env=env, cwd=folder
        ) as proxy:
            _ping(proxy)
        cooked = Cooker()
        for line in (folder / "agent.jsonl").read_bytes().splitlines():
            cooked.add(line)
        (folder / "agent.json").write_bytes(cooked.cooked().to_json())
        live = stack.enter_context(
            weft_process(
                "proxy", "--target", simulator.url, "-o", "live.jsonl", "--port", "0", "-q", env=env, cwd=folder
            )
        )
        _ping(live)
        (folder / "hostile.jsonl").write_text(_hostile(), encoding="utf-8")
        (folder / "pictures.jsonl").write_text(_pictures(), encoding="utf-8")
        (folder / "empty.jsonl").touch()
        turns = _threads(home) | _hostile_thread(folder / "hostile")
        _register_tools(home)
        files = ["agent.jsonl", "live.jsonl", "hostile.jsonl", "empty.jsonl", "pictures.jsonl", "agent.json"]
        stores = [str(home), str(folder / "hostile"), str(folder / "kept")]
        shown = stack.enter_context(view([*files, *stores], env=env, cwd=folder))
        names = {source["name"]: source["id"] for source in shown["sources"]}
        threads = [source["id"] for source in shown["sources"] if source["kind"] == "threads"]
        yield {
            **shown,
            "agent": names["agent.jsonl"],
            "live": names["live.jsonl"],
            "hostile": names["hostile.jsonl"],
            "empty": names["empty.jsonl"],
            "withPictures": names["pictures.jsonl"],
            "cooked": names["agent.json"],
            "kept": next(source["id"] for source in shown["sources"] if source["kind"] == "session"),
            "threads": threads[0],
            "hostileThreads": threads[1],
            "turns": turns,
            "proxy": live,
            "secret": SECRET,
            "payloads": list(PAYLOADS),
            "folder": str(folder),
        }


@contextmanager
def view(what: list[str], *, env: dict[str, str], cwd: Path) -> Iterator[dict[str, Any]]:
    """Run `weft view`; give its address, its token and what it shows."""
    with weft_process("view", *what, "--no-open", "--port", "0", env=env, cwd=cwd) as address:
        found = re.fullmatch(r"(http://[^/]+)/#token=(\S+)", address)
        assert found is not None, address
        origin, token = found.groups()
        with httpx2.Client(base_url=origin, trust_env=False, headers={"authorization": f"Bearer {token}"}) as client:
            sources = client.get("/api/sources").json()["sources"]
        yield {
            "origin": origin,
            "token": token,
            "sources": sources,
            "chromium": str(require("chromium")),
            "static": str(STATIC),
        }


def _ping(proxy: str) -> None:
    with httpx2.Client(base_url=proxy, trust_env=False) as client:
        body = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "ping"}]}
        client.post("/v1/chat/completions", json=body, headers={"authorization": "Bearer x"})


def _environment(home: Path, simulated: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not re.search(r"_API_KEY$|^WEFT_|_BASE_URL$", name)}
    return {**kept, **simulated, "WEFT_HOME": str(home), "NO_COLOR": "1"}


def _threads(home: Path) -> dict[str, str]:
    """Keep a thread with a document, an image and two branches."""
    with weft.open_store(home) as store:
        question = store.add_turn("How deep is it at pier 4?", provider_ptr="anthropic/claude-sonnet-4-6")
        answer = store.add_turn(
            [
                {"type": "thinking", "thinking": "The sonar knows."},
                {"type": "text", "text": "It is **6.2 m** deep: 0.7 m stay below a keel of 5.5 m."},
            ],
            json=True,
            role="assistant",
            continues=question.id,
        )
        image = {"type": "base64", "media_type": "image/png", "data": _png(24, 16)}
        drawing = home / "evil.svg"
        drawing.write_text(SVG, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that a drawing with a script in it is no ordinary document
            document = store.document(drawing)
        report = store.add_turn(
            [
                {"type": "text", "text": "Here is the chart, and a drawing."},
                {"type": "image", "source": image},
            ],
            json=True,
            continues=[answer.id, document.id],
            bookmark="harbour",
        )
        left = store.add_turn("Measure once more, please.", continues=answer.id, bookmark="again")
        right = store.add_turn("Are you sure of that?", continues=answer.id, bookmark="sure")
        store.add_turn("Good morning, harbour.")  # another conversation
    return {
        "question": question.id,
        "answer": answer.id,
        "report": report.id,
        "left": left.id,
        "right": right.id,
    }


def _hostile_thread(place: Path) -> dict[str, str]:
    """Keep a turn with every payload, in a store of its own."""
    with weft.open_store(place) as store:
        return {"hostile": store.add_turn([{"type": "text", "text": text} for text in PAYLOADS], json=True).id}


def _register_tools(home: Path) -> None:
    server = Server(name="harbour", command=(sys.executable, "-m", "weft.cli.demo_tools"))
    register(home / "config.toml", server)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _png(width: int, height: int) -> str:
    """Draw a picture: water that gets lighter."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = (
        b"\0" + b"".join(bytes((40, min(90 + 6 * y, 255), min(160 + 3 * x, 255))) for x in range(width))
        for y in range(height)
    )
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(lines))), (b"IEND", b""))
    return _base64(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pictures() -> str:
    """A recording of an agent that looks: a picture in a question, two and a drawing in what a tool gave."""
    chart, screen = (
        {"type": "base64", "media_type": "image/png", "data": _png(*size)} for size in ((48, 32), (96, 54))
    )
    drawing = {"type": "base64", "media_type": "image/svg+xml", "data": _base64(SVG.encode())}
    asked = [{"type": "text", "text": "Which pier is this?"}, {"type": "image", "source": chart}]
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"pier": 4}}
    seen = [
        {"type": "text", "text": "Before, after, and a drawing:"},
        *({"type": "image", "source": source} for source in (chart, screen, drawing)),
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    first = {"model": "claude-sonnet-4-6", "system": [], "messages": list(messages)}
    messages += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": seen}]},
    ]
    answers = [{"content": [call]}, {"content": [{"type": "text", "text": "Pier 4, at low water."}]}]
    records = [
        {"id": f"p{at}", "timestamp": 1_772_000_000_000 + at * 5_000, "duration_ms": 900, "request": request}
        | {"response": answer}
        for at, (request, answer) in enumerate(zip((first, {**first, "messages": messages}), answers, strict=True))
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def _hostile() -> str:
    """A recording with every payload in every field that a record has."""
    lines = []
    for at, text in enumerate(PAYLOADS):
        clean = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        call = {"type": "tool_use", "id": clean, "name": clean, "input": {clean: clean, "deep": {"list": [clean]}}}
        record = {
            "id": f"{at} {clean}",
            "timestamp": f"2026-03-01T10:{at // 60:02d}:{at % 60:02d}+00:00",
            "duration_ms": at,
            "request": {
                "model": clean,
                "system": [{"type": "text", "text": clean}],
                "tools": [{"name": clean, "description": clean, "input_schema": {"type": clean, clean: clean}}],
                "messages": [
                    {"role": "user", "content": clean},
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": clean, "signature": "x"}, call]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": clean, "content": clean}]},
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "document",
                                "title": clean,
                                "source": {"type": "text", "media_type": clean, "data": clean},
                            }
                        ],
                    },
                    {"role": "user", "content": clean},
                ],
                clean: clean,
            },
            "response": None
            if at % 5 == 0
            else {"content": [{"type": "text", "text": clean}, call], "stop_reason": clean, "type": "message"},
            "error": clean if at % 5 == 0 else None,
            "path": f"/v1/messages?{clean}",
            "status": 200,
        }
        lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines) + "\n"
