"""`weft sim`, as people run it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from weft.cli import main
from weft.cli.app import weft

CLIENT = """
import json, os, urllib.request
body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
raise SystemExit(7)
"""


def test_a_command_runs_beside_it_and_gives_its_exit_status(capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["sim", "--port", "0", "--", sys.executable, "-c", CLIENT])

    said = capfd.readouterr()
    assert (status, said.out, said.err) == (7, "You said: hi\n", "200 anthropic POST /v1/messages\n")


def test_a_command_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(weft, ["sim", "--port", "0", "--", "no-such-command"], standalone_mode=False)

    assert result.return_value == 127
    assert "no such command: no-such-command" in result.stderr


def test_it_says_where_it_is_and_serves_until_it_is_stopped(tmp_path: Path) -> None:
    """K-01: the key that a script holds is not shown."""
    script = tmp_path / "script.toml"
    script.write_text('keys = ["sk-secret"]\n')
    command = [sys.executable, "-m", "weft.cli", "sim", "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        key = {"authorization": "Bearer sk-secret"}
        answer = httpx2.post(f"{url}/v1/chat/completions", json=body, headers=key)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=10)

    assert answer.json()["choices"][0]["message"]["content"] == "You said: hi"
    assert process.returncode == 130
    assert f"export OPENAI_BASE_URL={url}/v1" in told
    assert "sk-secret" not in told


def test_a_port_that_is_taken_is_one_clear_message(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status = main(["sim", "--port", str(taken.getsockname()[1])])

    assert status == 1
    assert "try another: weft sim --port 0" in capsys.readouterr().err


def test_a_script_that_does_not_fit_is_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.toml"
    script.write_text("colour = 1\n")
    status = main(["sim", "--script", str(script)])

    assert status == 1
    assert "script.toml: no such setting: colour" in capsys.readouterr().err
