"""`weft plan`, as it is run."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import assistant, text, thinking, tool_call, user
from tests.support.mutations import nested
from weft.canon import Context, Part
from weft.cli import main
from weft.wire import DIALECTS

if TYPE_CHECKING:
    from pathlib import Path

CLAUDE: dict[str, Any] = {
    "model": "claude-opus-4-5",
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Depth at pier 4?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"},
                {"type": "text", "text": "6.2 m"},
            ],
        },
        {"role": "user", "content": "Thanks \u009b31m\u007f"},
    ],
}
CHAT = {"model": "gpt-5", "messages": [{"role": "user", "content": "Ahoy"}]}


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(CLAUDE))
    return path


def saved(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "body.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_the_request_goes_to_stdout_and_the_account_to_stderr(body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """STYLE.md section 8: `weft plan ... > file` holds the request and nothing else."""
    status = main(["plan", str(body), "--to", "openai_chat", "-m", "gpt-5"])

    out, err = capsys.readouterr()
    assert (status, json.loads(out)) == (
        0,
        {
            "model": "gpt-5",
            "max_tokens": 64,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Depth at pier 4?"},
                {"role": "assistant", "content": "6.2 m"},
                {"role": "user", "content": "Thanks \u009b31m\u007f"},
            ],
        },
    )
    assert [line.split(maxsplit=1)[0] for line in err.splitlines()] == ["included", "left", "size"]
    assert "context.messages[2].parts[0]" in err


def test_control_characters_do_not_reach_the_terminal(body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C-01: JSON can say them in letters."""
    main(["plan", str(body), "--to", "anthropic"])

    out = capsys.readouterr().out
    assert "\\u009b31m\\u007f" in out
    assert not {"\u009b", "\u007f"} & set(out)


def test_strict_is_3_when_anything_is_lost(body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 3, done when."""
    lossy = main(["plan", str(body), "--to", "gemini", "--strict"])
    told = capsys.readouterr()
    lossless = main(["plan", str(body), "--to", "anthropic", "--strict"])

    assert (lossy, lossless) == (3, 0)
    assert json.loads(told.out)["contents"][0] == {"role": "user", "parts": [{"text": "Depth at pier 4?"}]}
    assert "left out" in told.err


def test_strict_is_3_when_the_target_would_refuse_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = saved(tmp_path, {"model": "m", "messages": [{"role": "assistant", "content": "first"}]})

    status = main(["plan", bad, "--to", "anthropic", "--strict"])

    assert status == 3
    assert "error     anthropic/messages.create needs a user message first" in capsys.readouterr().err


def test_with_json_the_whole_plan_is_on_stdout(body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["plan", str(body), "--to", "openai_chat", "--json"])

    out, err = capsys.readouterr()
    plan = json.loads(out)
    assert (status, err) == (0, "")
    assert list(plan) == [
        "request",
        "included",
        "excluded",
        "must_roundtrip",
        "warnings",
        "errors",
        "token_estimate",
        "extra",
    ]
    assert plan["excluded"][0]["description"] == "context.messages[2].parts[0]"


def test_the_request_may_come_through_a_pipe() -> None:
    command = [sys.executable, "-m", "weft.cli", "plan", "--to", "anthropic"]

    result = subprocess.run(command, input=json.dumps(CHAT), capture_output=True, text=True, check=False)

    assert result.returncode == 0
    assert json.loads(result.stdout) == {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Ahoy"}]}],
        "max_tokens": 4096,
    }
    assert "warning   max_output_tokens is not set" in result.stderr


@pytest.mark.parametrize("target", DIALECTS)
def test_every_target_can_be_planned_for(target: str, body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(body), "--to", target, "-m", "m"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_bytes_are_shown_as_base64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bedrock's SDK takes bytes; JSON has none."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    request = saved(tmp_path, {**CLAUDE, "messages": [{"role": "user", "content": [picture]}]})

    main(["plan", request, "--to", "bedrock"])

    shown = json.loads(capsys.readouterr().out)["messages"][0]["content"]
    assert shown == [{"image": {"format": "png", "source": {"bytes": "aGk="}}}]


def test_a_conversation_may_be_one_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    context = Context(
        (
            user("Depth?"),
            assistant(thinking("hm", raw=signed), "6.2 m", tool_call()),
        )
    )

    status = main(["plan", saved(tmp_path, context.to_dict()), "--to", "anthropic", "-m", "claude-opus-4-5"])

    out, err = capsys.readouterr()
    assert (status, json.loads(out)["messages"][1]["content"][0]) == (0, signed)
    assert "returned  context.messages[1].parts[0]: sent back to its provider untouched" in err
    assert "warning   context.messages[1]: tool call 't1' has no result" in err


def test_odd_numbers_and_texts_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """J-02, J-05."""
    numbers = '{"model":"m","max_tokens":1,"messages":[],"system":"\\ud800","metadata":{"n":%s}}' % (10**30)

    status = main(["plan", saved(tmp_path, numbers), "--to", "anthropic"])

    shown = json.loads(capsys.readouterr().out)
    assert (status, shown["metadata"], shown["system"]) == (0, {"n": 10**30}, "\ud800")


@pytest.mark.parametrize(
    ("content", "arguments", "status", "said"),
    [
        ("{", [], 1, "is not JSON"),
        ("", [], 1, "is not JSON"),
        ("[" * 100_000, [], 1, "is not JSON: nested too deeply"),
        ('{"a": NaN}', [], 1, "is not JSON"),
        ("[]", [], 1, "holds a JSON list; a request body is an object"),
        ('"x"', [], 1, "holds a JSON str"),
        ("{}", [], 1, "looks like no request of a known dialect\n  say which it is: --from NAME"),
        ('{"messages": [5]}', ["--from", "anthropic"], 1, "messages[0]: must be an object, not int"),
        ('{"messages": [{"role": "x", "parts": []}]}', [], 1, "Context.messages[0].role"),
        ('{"messages": [{"role": "user", "parts": [], "timestamp": "x"}]}', [], 1, "Context.messages[0].timestamp"),
        (json.dumps(CHAT), ["--from", "esperanto"], 1, "no dialect is called 'esperanto'\n  known: openai_chat, "),
        (json.dumps(CHAT), ["--to", "esperanto"], 1, "no dialect is called 'esperanto'"),
        ('{"messages": []}', ["--to", "openai_images"], 1, "openai/images.generate"),
    ],
)
def test_what_cannot_be_planned_is_one_clear_message(
    content: str, arguments: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [] if "--to" in arguments else ["--to", "anthropic"]

    got = main(["plan", saved(tmp_path, content), *target, *arguments])

    out, err = capsys.readouterr()
    assert (got, out) == (status, "")
    assert err.startswith("weft: ")
    assert said in err
    assert "Traceback" not in err


def test_misuse_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(tmp_path / "no-such-file.json"), "--to", "anthropic"]) == 2
    assert "no-such-file.json" in capsys.readouterr().err
    assert main(["plan", "-"]) == 2
    assert "--to" in capsys.readouterr().err


def test_a_folder_is_not_a_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(tmp_path), "--to", "anthropic"]) in (1, 2)
    assert capsys.readouterr().err.count("\n") <= 2


def test_a_request_too_deep_to_be_shown_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = saved(tmp_path, json.dumps({"model": "m", "messages": []})[:-1] + ', "metadata": ' + deep_text(950) + "}")

    status = main(["plan", request, "--to", "anthropic"])

    assert (status in (0, 1), "Traceback" in capsys.readouterr().err) == (True, False)


def deep_text(depth: int) -> str:
    return '{"a":' * depth + json.dumps(nested(0)) + "}" * depth


def test_the_file_of_a_pipe_is_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Pipe:
        buffer = io.BytesIO(json.dumps(CHAT).encode())

    monkeypatch.setattr(sys, "stdin", Pipe)

    assert main(["plan", "--to", "cohere"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == [{"role": "user", "content": "Ahoy"}]


def test_parts_of_every_kind_are_accounted_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    context = Context((user(text("Look:"), Part("hologram", text="x")),))

    main(["plan", saved(tmp_path, context.to_dict()), "--to", "openai_chat", "-m", "gpt-5"])

    assert "left out  context.messages[0].parts[1]: " in capsys.readouterr().err


def test_a_key_that_is_there_twice_is_a_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """J-04: only one of its values can be read, and it is said which."""
    path = saved(tmp_path, '{"model": "gpt-4", "model": "gpt-5", "messages": [{"role": "user", "content": "Ahoy"}]}')

    status = main(["plan", path, "--to", "openai_chat", "--strict"])

    out, err = capsys.readouterr()
    assert (status, json.loads(out)["model"]) == (3, "gpt-5")
    assert "left out  model: the key is there more than once; only its last value was read" in err
