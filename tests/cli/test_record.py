"""`weft record` and `weft proxy` as people run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.cli import program
from tests.support.sim import running_simulator
from weft.cli.record import lead
from weft.cli.recording import ending
from weft.trace import Tally

AGENT = """
import json, os, sys, urllib.request
def post(url, body, **headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})
    return json.load(urllib.request.urlopen(request))
print("read:", sys.stdin.read(), end="")
print("err", file=sys.stderr)
message = [{"role": "user", "content": "hi"}]
version = {"x-api-key": "sk-agent-0123456789abcdef", "anthropic-version": "2023-06-01"}
key = {"authorization": "Bearer sk-agent-0123456789abcdef"}
print(post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"model": "m", "messages": message}, **key)["object"])
question = {"model": "m", "max_tokens": 9, "messages": message}
print(post(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", question, **version)["type"])
sys.exit(7)
"""


def test_a_program_is_recorded_and_left_alone(tmp_path: Path) -> None:
    """Its stdin, stdout, stderr and exit status are its own; base URLs that were set stay the destination."""
    output = tmp_path / "t.jsonl"
    with running_simulator() as sim:
        ran = program(
            "record", "-o", str(output), "--", sys.executable, "-c", AGENT, stdin=b"piped in\n", env=sim.environment()
        )
        assert [seen.path for seen in sim.seen] == ["/v1/chat/completions", "/v1/messages"]

    assert ran.status == 7
    assert ran.out == "read: piped in\nchat.completion\nmessage\n"
    assert ran.err == f"err\nweft: recorded 2 exchanges in {output}\n  see: weft view {output}\n"
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(record["provider"], record["path"], record["status"]) for record in records] == [
        ("openai", "/v1/chat/completions", 200),
        ("anthropic", "/v1/messages", 200),
    ]
    assert b"sk-agent" not in output.read_bytes()


def test_it_runs_in_a_terminal_with_ctrl_c_for_the_program_alone(tmp_path: Path) -> None:
    """The terminal sends it to both: the program hears it once, and weft waits for what the program makes of it."""
    child = (
        "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: print('mine'))\n"
        "print('up', flush=True)\ntime.sleep(0.4)"
    )
    command = [sys.executable, "-m", "weft.cli", "record", "-o", str(tmp_path / "t"), "--", sys.executable, "-c", child]
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    os.close(theirs)
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=10)
    os.close(ours)
    assert (running.returncode, out) == (0, b"mine\n")
    assert err == b"weft: recorded 0 exchanges\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program(tmp_path: Path, number: signal.Signals) -> None:
    child = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(33))\nprint('up', flush=True)\ntime.sleep(30)"
    )
    command = [sys.executable, "-m", "weft.cli", "record", "-o", str(tmp_path / "t"), "--", sys.executable, "-c", child]
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.send_signal(number)
    assert running.wait(10) == 33
    running.stdout.close()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["no-such-command-anywhere"], 127),
        (["/etc/passwd"], 126),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], 137),
    ],
)
def test_the_status_is_what_a_shell_would_give(tmp_path: Path, command: list[str], status: int) -> None:
    assert program("record", "-o", str(tmp_path / "t.jsonl"), "--", *command).status == status


def test_where_the_variables_lead() -> None:
    """conventions, 1: the provider's own address unless one was set; what may mean something else only if it is set."""
    table, leading = lead({"WEFT_HOME": "/nowhere"})
    assert leading == {
        "OPENAI_BASE_URL": "/openai/v1",
        "OPENAI_API_BASE": "/openai/v1",
        "ANTHROPIC_BASE_URL": "/anthropic",
        "GOOGLE_GEMINI_BASE_URL": "/gemini",
        "CO_API_URL": "/cohere",
    }
    assert table["openai"].host == "api.openai.com"

    own = {
        "WEFT_HOME": "/nowhere",
        "OPENAI_BASE_URL": "https://gateway.example/llm/v1/",
        "OLLAMA_HOST": "box:11434",
        "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com",
    }
    table, leading = lead(own)
    assert leading["OPENAI_BASE_URL"] == "/openai-base-url"
    assert "OPENAI_API_BASE" not in leading
    assert (table["openai-base-url"].host, table["openai-base-url"].base) == ("gateway.example", b"/llm/v1")
    assert (leading["OLLAMA_HOST"], table["ollama-host"].port) == ("/ollama-host", 11434)
    assert table["azure-openai-endpoint"].host == "mine.openai.azure.com"
    assert table["openai"].host == "api.openai.com"


@contextmanager
def _proxy(*args: str, env: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "weft.cli", "proxy", "--port", "0", *args]
    given = {**os.environ, **(env or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=given) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()  # of no effect on one that has ended


KEY = "sk-abcdefgh01234567"
HEADERS = {"x-api-key": KEY, "authorization": f"Bearer {KEY}", "anthropic-version": "2023-06-01"}


def _post(url: str, body: dict[str, object]) -> dict[str, object]:
    import httpx2

    answer: dict[str, object] = httpx2.post(url, json=body, headers=HEADERS).json()
    return answer


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_proxy_that_is_stopped_ends_in_time_and_says_what_it_recorded(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """D-05: stopped by a signal, it ends in time with its status, and says what it recorded."""
    output = tmp_path / "t.jsonl.zst"
    with running_simulator() as sim, _proxy("--target", sim.url, "-o", str(output)) as (running, url):
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        assert _post(f"{url}/v1/messages", body)["type"] == "message"
        running.send_signal(number)
        began = time.monotonic()
        _, err = running.communicate(timeout=10)
    assert time.monotonic() - began < 2
    assert running.returncode == status
    assert err == f"weft: recorded 1 exchange in {output}\n  see: weft view {output}\n"


def test_a_proxy_for_all_providers(tmp_path: Path) -> None:
    with running_simulator() as sim, ExitStack() as stack:
        env = {name: value for name, value in sim.environment().items() if "KEY" not in name}
        running, url = stack.enter_context(_proxy("-o", str(tmp_path / "t.jsonl"), env=env))
        message = [{"role": "user", "content": "hi"}]
        assert (
            _post(f"{url}/anthropic/v1/messages", {"model": "m", "max_tokens": 9, "messages": message})["type"]
            == "message"
        )
        assert _post(f"{url}/v1/chat/completions", {"model": "m", "messages": message})["object"] == "chat.completion"
        running.terminate()
        _, err = running.communicate(timeout=10)
    assert f"  export OPENAI_BASE_URL={url}/openai/v1\n" in err
    assert "recorded 2 exchanges" in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--target", "nonsense"], "the target is no address"),
        (["--target", "http://localhost", "-o", "/proc/nope/t.jsonl"], "cannot write to /proc/nope/t.jsonl"),
        (["--target", "http://localhost", "--host", "203.0.113.7"], "cannot listen on 203.0.113.7"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line_or_two(tmp_path: Path, args: list[str], says: str) -> None:
    """C-04 of hardening: no traceback."""
    ran = program("proxy", "-o", str(tmp_path / "t.jsonl"), *args) if "-o" not in args else program("proxy", *args)
    assert ran.status == 1
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "recorded" not in ran.err  # what never began has nothing to tell


def test_a_proxy_in_a_terminal_shows_requests(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with running_simulator() as sim:
        command = [
            sys.executable,
            "-m",
            "weft.cli",
            "proxy",
            "--port",
            "0",
            "--target",
            sim.url,
            "-o",
            str(tmp_path / "t.jsonl"),
        ]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        assert running.stdout is not None
        url = running.stdout.readline().decode().strip()
        _post(
            f"{url}/v1/messages?key=sk-query-0123456789",
            {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
        )
        running.terminate()
        running.wait(10)
        running.stdout.close()
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "200 POST /v1/messages " in shown
    assert "sk-query" not in shown


def test_what_could_not_be_written_yet_is_told(tmp_path: Path) -> None:
    """X-13, D-06: how many wait beside the recording, and that nothing need be done for them but to open it."""
    said = ending(Tally(recorded=2, left=3), str(tmp_path / "t.jsonl"))

    assert said.splitlines()[0].startswith("weft: recorded 2 exchanges; 3 more could not be written yet")
    assert "weft view" in ending(Tally(left=3), "t.jsonl")
    assert "weft view" not in ending(Tally(), "t.jsonl")


def test_who_runs_it_in_their_own_process_hears_signals_as_before() -> None:
    """uvloop leaves its handlers behind when it is closed; ctrl-c would then do nothing."""
    script = """
import asyncio, signal
from weft.cli.recording import run_fast

def own(number, frame): ...

async def work():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, print)

signal.signal(signal.SIGTERM, own)
run_fast(work)
assert signal.getsignal(signal.SIGTERM) is own and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("heard")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (0, "heard\n"), done.stderr
