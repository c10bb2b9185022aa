"""The recording proxy beside llm-path's and mitmdump, recording everything, before an upstream that answers at once.

nginx is the upstream and wrk the load: both far faster than any of the three, so what is measured is the proxy. The
sides take turns within a run, on the same two cores; ratios are medians over the repeats. Needs Debian's nginx-light
and wrk (`apt-get install nginx-light wrk`); the peers come from PyPI into environments of their own.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.harness import HERE, PEERS

if TYPE_CHECKING:
    from benchmarks.harness import Options

__all__ = ["run"]

LLM_PATH = ("llm-path==0.3.0", "starlette<1")  # with starlette 1 it does not start
MITMPROXY = ("mitmproxy==11.0.2",)  # the newest for Python 3.11
SECONDS = 2
TICK = os.sysconf("SC_CLK_TCK")
KEY = "sk-bench-0123456789abcdefghijklmnopqrstuvwxyz"
ANSWER = (
    '{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"stub","choices":[{"index":0,"message":'
    '{"role":"assistant","content":"Warp is held on the loom; weft is drawn through it."},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":19,"completion_tokens":17,"total_tokens":36}}'
)
QUESTION = {
    "model": "stub",
    "messages": [
        {"role": "system", "content": "You are a weaver."},
        {"role": "user", "content": "What is the difference between warp and weft?"},
    ],
    "temperature": 0.2,
}
NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; keepalive_timeout 600s; client_max_body_size 0;
  client_body_buffer_size 1m; client_body_temp_path {folder}/body; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location /v1/stream {{ default_type text/event-stream; error_page 405 =200 $uri; alias {folder}/stream.sse; }}
    location / {{ default_type application/json; return 200 '{answer}'; }}
  }}
}}
"""
LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
wrk.body = io.open("{body}", "rb"):read("*a")
"""


@dataclass(slots=True)
class Side:
    """One proxy that is running: its address and processes."""

    name: str
    url: str
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Give the CPU time of the proxy and its children."""
        total = 0
        for pid in self._tree(self.process.pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def rss_mib(self) -> float:
        """Give the resident memory."""
        sizes = [
            int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])  # type: ignore[index]
            for pid in self._tree(self.process.pid)
        ]
        return sum(sizes) / 1024

    @staticmethod
    def _tree(pid: int) -> list[int]:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(one for child in children for one in Side._tree(int(child)))]


@dataclass(slots=True)
class Load:
    """What one run of wrk gave."""

    per_second: float
    p50_ms: float
    p99_ms: float
    count: int
    errors: int


def _environment(name: str, requirements: tuple[str, ...]) -> Path:
    home = PEERS / f"{name}-py{sys.version_info.major}.{sys.version_info.minor}"
    if not (home / ".complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([_uv(), "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
        command = [_uv(), "pip", "install", "--quiet", "--python", str(home / "bin" / "python"), *requirements]
        subprocess.run(command, check=True)
        (home / ".complete").touch()
    return home / "bin"


def _uv() -> str:
    local = HERE.parent / ".tools" / "bin" / "uv"
    return str(local) if local.exists() else "uv"


def _free_port() -> int:
    with socket.socket() as link:
        link.bind(("127.0.0.1", 0))
        return int(link.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> float:
    began = time.perf_counter()
    while process.poll() is None and time.perf_counter() - began < 60:
        with socket.socket() as link:
            if link.connect_ex(("127.0.0.1", port)) == 0:
                return time.perf_counter() - began
        time.sleep(0.005)
    raise RuntimeError(f"{process.args!r} does not listen")


@contextmanager
def _running(command: list[str], port: int) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process, _wait_for(port, process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


@contextmanager
def _side(name: str, target: str, folder: Path) -> Iterator[Side]:
    port = _free_port()
    output = folder / f"{name}.out"
    match name:
        case "weft":
            command = [sys.executable, "-m", "weft.cli", "proxy", "--target", target, "--port", str(port)]
            command += ["-o", f"{output}.jsonl", "-q"]
        case "llm-path":
            command = [
                str(_environment("llm-path-0.3.0-starlette-0", LLM_PATH) / "llm-path"),
                "proxy",
                "--target",
                target,
            ]
            command += ["--port", str(port), "--output", f"{output}.jsonl"]
        case "mitmdump":
            command = [str(_environment("mitmproxy-11.0.2", MITMPROXY) / "mitmdump"), "--mode", f"reverse:{target}"]
            command += ["-p", str(port), "--listen-host", "127.0.0.1", "-q", "-w", str(output)]
        case _:
            raise ValueError(name)
    with _running(command, port) as (process, _):
        yield Side(name, f"http://127.0.0.1:{port}", process)


def _wrk(url: str, path: str, script: Path, connections: int, seconds: float) -> Load:
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds:g}s",
        "--latency",
        "--timeout",
        "20s",
        "-s",
        str(script),
        url + path,
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    errors = sum(int(number) for line in re.findall(r"Socket errors:.*", said) for number in re.findall(r"\d+", line))
    errors += sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", said)))
    return Load(
        float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),  # type: ignore[index]
        _milliseconds(said, "50%"),
        _milliseconds(said, "99%"),
        int(re.search(r"(\d+) requests in", said)[1]),  # type: ignore[index]
        errors,
    )


def _milliseconds(said: str, percent: str) -> float:
    found = re.search(rf"{percent}\s+([\d.]+)(us|ms|s)", said)
    if found is None:
        raise RuntimeError(f"wrk said nothing of {percent}: {said}")
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def _scripts(folder: Path) -> dict[str, Path]:
    large = {**QUESTION, "messages": [*QUESTION["messages"], {"role": "user", "content": "warp and weft " * 17_500}]}  # type: ignore[misc]
    bodies = {"json": QUESTION, "stream": {**QUESTION, "stream": True}, "large": large}
    scripts = {}
    for name, body in bodies.items():
        (folder / f"{name}.json").write_bytes(json.dumps(body).encode())
        scripts[name] = folder / f"{name}.lua"
        scripts[name].write_text(LUA.format(key=KEY, body=folder / f"{name}.json"))
    return scripts


def _stream_file() -> bytes:
    event = (
        'data: {{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1,"model":"stub","choices":[{{"index":0,'
        '"delta":{{"content":" word{}"}},"finish_reason":null}}]}}\n\n'
    )
    end = 'data: {"id":"chatcmpl-9","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    return ("".join(event.format(number) for number in range(198)) + end).encode()


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it must be."""

    what: str
    value: float
    goal: float
    at_least: bool
    unit: str = ""
    shown: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        missed = "" if self.met else "  MISSED"
        return f"{self.what:<58}{self.value:>9.2f}{self.unit:<4} {sign} {self.goal:g}{missed}   {self.shown}".rstrip()


def _throughput(
    sides: list[Side], kind: str, path: str, script: Path, repeats: int, connections: int
) -> dict[str, list[Load]]:
    loads: dict[str, list[Load]] = {side.name: [] for side in sides}
    for side in sides:
        _wrk(side.url, path, script, connections, 1)  # warm
    for repeat in range(repeats):
        for side in sides if repeat % 2 else reversed(sides):
            loads[side.name].append(_wrk(side.url, path, script, connections, SECONDS))
    for name, runs in loads.items():
        if name == "weft" and any(run.errors for run in runs):
            raise RuntimeError(f"{name} made errors at {kind}")
    return loads


def _ratio(loads: dict[str, list[Load]], peer: str) -> float:
    return median(our.per_second / their.per_second for our, their in zip(loads["weft"], loads[peer], strict=True))


def _per_second(loads: dict[str, list[Load]]) -> str:
    return ", ".join(f"{name} {median(run.per_second for run in runs):.0f}/s" for name, runs in loads.items())


def _times(port: int, path: str, body: bytes, first: bytes, last: bytes, count: int) -> list[float]:
    """Give the milliseconds to the first byte that counts, of requests one after another on a kept connection."""
    about = (
        f"Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n"
    )
    request = f"POST {path} HTTP/1.1\r\n{about}\r\n".encode() + body
    times = []
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            began = time.perf_counter()
            link.sendall(request)
            got = b""
            while first not in got:
                got += link.recv(1 << 18)
            times.append((time.perf_counter() - began) * 1000)
            while last not in got:
                got += link.recv(1 << 18)
    return times


def _start_seconds(target: str, folder: Path) -> float:
    times = []
    for number in range(5):
        port = _free_port()
        command = [sys.executable, "-m", "weft.cli", "proxy", "--target", target, "--port", str(port), "-q"]
        began = time.perf_counter()
        with _running([*command, "-o", str(folder / f"start{number}.jsonl")], port):
            times.append(time.perf_counter() - began)
    return median(times)


def _measure(folder: Path, repeats: int) -> list[Bar]:
    port = _free_port()
    (folder / "stream.sse").write_bytes(_stream_file())
    folder.chmod(0o755)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, answer=ANSWER))
    scripts = _scripts(folder)
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    bars: list[Bar] = []
    with _running([nginx, "-c", str(folder / "nginx.conf")], port):
        target = f"http://127.0.0.1:{port}"
        began = _start_seconds(target, folder)
        bars.append(Bar("listening after", began, 1.0, at_least=False, unit=" s"))
        with (
            _side("weft", target, folder) as weft,
            _side("llm-path", target, folder) as llm,
            _side("mitmdump", target, folder) as mitm,
        ):
            bars.append(Bar("idle memory", weft.rss_mib(), 80, at_least=False, unit=" MiB"))
            chat = "/v1/chat/completions"
            direct = _wrk(target, chat, scripts["json"], 32, 1).per_second
            cpu, made = weft.cpu_seconds(), 0
            loads = _throughput([weft, llm, mitm], "json", chat, scripts["json"], repeats, 32)
            made = sum(run.count for run in loads["weft"])
            spent = (weft.cpu_seconds() - cpu) / (made + loads["weft"][0].count / SECONDS) * 1000
            shown = f"{_per_second(loads)}; nginx itself {direct:.0f}/s"
            bars.append(
                Bar(
                    "JSON requests/s at 32, times llm-path",
                    _ratio(loads, "llm-path"),
                    8,
                    at_least=True,
                    unit="x",
                    shown=shown,
                )
            )
            bars.append(
                Bar("JSON requests/s at 32, times mitmdump", _ratio(loads, "mitmdump"), 3, at_least=True, unit="x")
            )
            bars.append(Bar("CPU a request", spent, 0.6, at_least=False, unit=" ms"))
            bars += _latency(weft, target, repeats)
            loads = _throughput([weft, llm], "stream", "/v1/stream", scripts["stream"], repeats, 32)
            bars.append(
                Bar(
                    "200-event streams/s at 32, times llm-path",
                    _ratio(loads, "llm-path"),
                    3,
                    at_least=True,
                    unit="x",
                    shown=_per_second(loads),
                )
            )
            loads = _throughput([weft, llm], "large", chat, scripts["large"], repeats, 8)
            bars.append(
                Bar(
                    "240 KB requests/s at 8, times llm-path",
                    _ratio(loads, "llm-path"),
                    5,
                    at_least=True,
                    unit="x",
                    shown=_per_second(loads),
                )
            )
    return bars


def _latency(weft: Side, target: str, repeats: int) -> list[Bar]:
    """Measure how much longer a request takes, one at a time, and the first event of a stream.

    In windows of 200 requests that alternate between the two ways; of each window the median and the 99th percentile,
    of those the medians over all windows. A pause of the whole machine spoils one window and not the figure.
    """
    ports = {"direct": int(target.rpartition(":")[2]), "weft": int(weft.url.rpartition(":")[2])}
    whole = (json.dumps(QUESTION).encode(), b"}}", b"}}")
    stream = (json.dumps({**QUESTION, "stream": True}).encode(), b"data: ", b"[DONE]")
    p50: dict[str, list[float]] = {name: [] for name in ports}
    p99: dict[str, list[float]] = {name: [] for name in ports}
    first: dict[str, list[float]] = {name: [] for name in ports}
    for window in range(8 * repeats):
        for name, port in ports.items() if window % 2 else reversed(ports.items()):
            times = sorted(_times(port, "/v1/chat/completions", *whole, 200))
            p50[name].append(times[100])
            p99[name].append(times[198])
            first[name].append(median(_times(port, "/v1/stream", *stream, 20)))
    added = [median(figures["weft"]) - median(figures["direct"]) for figures in (p50, p99, first)]
    return [
        Bar("added latency, median", added[0], 0.8, at_least=False, unit=" ms"),
        Bar("added latency, 99th percentile", added[1], 2.0, at_least=False, unit=" ms"),
        Bar("first stream event later than direct", added[2], 0.8, at_least=False, unit=" ms"),
    ]


def run(options: Options | None = None) -> bool:
    """Measure, print a JSON line and a table, and say whether the bars are met."""
    if shutil.which("wrk") is None or not (shutil.which("nginx") or Path("/usr/sbin/nginx").exists()):
        print("proxy: needs nginx and wrk: apt-get install nginx-light wrk")
        return False
    repeats = max(3, (options.repeats if options else 15) // 3)
    measure: Callable[[Path, int], list[Bar]] = _measure
    with tempfile.TemporaryDirectory() as folder:
        bars = measure(Path(folder), repeats)
    rows = {bar.what: round(bar.value, 3) for bar in bars}
    met = all(bar.met for bar in bars)
    load = os.getloadavg()[0]
    print(json.dumps({"benchmark": "proxy", "python": platform.python_version(), "met": met, "load": load, **rows}))
    print()
    for bar in bars:
        print(bar)
    return met


if __name__ == "__main__":
    sys.exit(0 if run() else 1)
