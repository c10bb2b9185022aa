"""`weft provider`, `alias`, `keys` and `models`, against the simulator: T-51 to T-54, K-01, K-05, K-06, K-08."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Weft, in_terminal, program
from tests.support.sim import running_simulator
from weft.providers import PROVIDERS
from weft.sim import Simulator
from weft.threads import open_store

KEY = "sk-canary-9f3b7c21d4e8"
CANARY = b"canary-9f3b7c21d4e8"
VARIABLES = [name for row in PROVIDERS.values() for name in (*row.keys, *row.addresses)]


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    """A simulator that takes one key, at the address of every provider; no key in the environment."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    with running_simulator({"keys": [KEY]}) as simulator:
        for name, value in simulator.environment().items():
            if value != KEY:
                monkeypatch.setenv(name, value)
        yield simulator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def frames(home: Path, topic: str) -> list[dict[str, Any]]:
    with open_store(home) as store:
        return [frame.meta for frame in store.frames.frames_of(topic)]


def where_the_canary_is(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and CANARY in path.read_bytes()}


def test_enabling_tries_the_key_keeps_it_apart_and_appends_a_frame(sim: Simulator, home: Path) -> None:
    """T-51, T-54, K-01: the log says that the provider is enabled, never with what."""
    ran = program("provider", "enable", "anthropic", "--json", stdin=f"{KEY}\n".encode())

    assert ran.status == 0, ran.err
    assert "anthropic: the key works;" in ran.err
    assert {"name": "anthropic", "enabled": True} in ran.json["providers"]
    assert {"name": "openai", "enabled": False} in ran.json["providers"]
    assert frames(home, "gpt.provider") == [{"name": "anthropic", "key_in": "file"}]
    assert [(seen.method, seen.path) for seen in sim.seen] == [("GET", "/v1/models")]
    assert where_the_canary_is(home) == {"keys.json"}
    assert CANARY.decode() not in ran.out + ran.err


def test_a_key_that_does_not_work_is_not_kept(sim: Simulator, home: Path) -> None:
    """Lists models once to test the key; only then is anything appended."""
    ran = program("provider", "enable", "openai", stdin=b"sk-wrong-canary-9f3b7c21d4e8")

    assert (ran.status, ran.out) == (4, "")
    assert "openai: does not accept the key (401)" in ran.err
    assert CANARY.decode() not in ran.err
    assert frames(home, "gpt.provider") == []
    assert where_the_canary_is(home) == set()
    assert len(sim.seen) == 1


@pytest.mark.usefixtures("sim")
def test_an_unknown_name_is_an_error(home: Path) -> None:
    ran = program("provider", "enable", KEY, stdin=b"x")

    assert ran.status == 1
    assert ran.err.startswith("weft: no provider has that name\n  known: anthropic, openai")
    assert CANARY.decode() not in ran.err
    assert frames(home, "gpt.provider") == []


@pytest.mark.usefixtures("sim", "home")
def test_without_a_name_those_left_are_offered_in_a_terminal() -> None:
    status, shown = in_terminal("provider", "enable", typed=[("provider: ", "openai"), ("key for openai: ", KEY)])

    assert status == 0, shown
    assert "  anthropic\n" in shown
    assert "openai: the key works" in shown
    assert CANARY.decode() not in shown  # typed unseen


@pytest.mark.usefixtures("sim", "home")
def test_without_a_name_and_without_a_terminal_it_is_said_which_there_are() -> None:
    ran = program("provider", "enable", stdin=KEY.encode())

    assert (ran.status, ran.err.splitlines()[0]) == (1, "weft: which provider?")


@pytest.mark.usefixtures("sim")
def test_one_left_is_taken_and_none_left_is_told(home: Path) -> None:
    for name in PROVIDERS:
        if name != "ollama":
            program_frame(home, {"name": name, "key_env": "SOME_KEY"})

    first = program("provider", "enable", "--untested")
    second = program("provider", "enable")

    assert first.status == 0, first.err
    assert frames(home, "gpt.provider")[-1] == {"name": "ollama", "key_in": "none"}
    assert (second.status, second.err) == (0, "all providers are enabled\n")


def program_frame(home: Path, meta: dict[str, Any]) -> None:
    from weft.store import Draft

    with open_store(home) as store:
        store.frames.write(lambda writer: writer.append(Draft("gpt.provider", meta)))


def test_t54_a_key_may_stay_in_a_variable(
    sim: Simulator, home: Path, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-54: the name of the variable is kept, and it is read at call time."""
    monkeypatch.setenv("TEAM_KEY", KEY)

    weft("provider", "enable", "cohere", "--key-env", "TEAM_KEY", "--untested")

    assert frames(home, "gpt.provider") == [{"name": "cohere", "key_env": "TEAM_KEY"}]
    assert where_the_canary_is(home) == set()
    assert weft("keys", "--json").json[0]["source"] == "environment TEAM_KEY"
    monkeypatch.delenv("TEAM_KEY")
    missing = weft("provider", "enable", "cohere", "--key-env", "TEAM_KEY", ok=False)
    assert (missing.status, missing.err) == (1, "weft: the variable TEAM_KEY holds no key\n")
    assert list(sim.seen) == []


@pytest.mark.usefixtures("sim")
def test_t51_disabling_appends_a_null_key_and_holds_against_the_environment(
    home: Path, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-51."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    weft("provider", "disable", "openai")

    assert frames(home, "gpt.provider") == [{"name": "openai", "key": None}]
    listed = weft("provider", "list", "--json").json["providers"]
    assert {"name": "openai", "enabled": False} in listed
    assert weft("models", "openai", ok=False).err.startswith("weft: openai is switched off")


def test_models_are_listed_for_one_provider_and_for_all_that_are_enabled(
    sim: Simulator, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)

    one = weft("provider", "models", "gemini", "--json").json
    every = weft("models", "--json").json
    some = weft("models", "-q", "claude", "anthropic").lines
    plain = weft("provider", "models", "anthropic").lines

    assert all(set(model) <= {"id", "created"} for model in one)
    assert not any(model["id"].startswith("models/") for model in one)
    assert {model["provider"] for model in every} == {"anthropic", "gemini"}
    assert all(line.startswith("anthropic/claude") for line in some[1:])
    assert plain[0].split() == ["model", "since"]
    assert len(sim.seen) == 5


@pytest.mark.usefixtures("sim")
def test_a_provider_that_does_not_answer_is_told_of_and_the_others_are_listed(
    home: Path, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", "sk-wrong")
    home.mkdir()
    (home / "config.toml").write_text('[providers.groq]\nbase_url = "http://localhost:1"\n', encoding="utf-8")

    ran = weft("models")

    assert "groq: nothing listens at localhost:1" in ran.err
    assert any(line.startswith("anthropic/") for line in ran.lines)
    assert weft("models", "groq", ok=False).status == 4


@pytest.mark.usefixtures("sim")
def test_no_provider_no_models(weft: Weft) -> None:
    assert weft("models", ok=False).err.startswith("weft: no provider is enabled\n  enable one: weft provider enable")


@pytest.mark.usefixtures("sim")
def test_t52_pointers_are_set_after_a_look_at_the_models_and_kept_as_whole_tables(
    home: Path, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-52, T-53, T-54."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    [model, *_] = [entry["id"] for entry in weft("provider", "models", "anthropic", "--json").json]

    weft("provider", "ptr", "kilo", "--set", "anthropic", model)
    weft("provider", "ptr", "kilo.r", "--set", "anthropic", model)

    entry = {"provider": "anthropic", "model": model}
    assert frames(home, "gpt.provider.ptrs") == [{"kilo": entry}, {"kilo": entry, "kilo.r": entry}]
    assert weft("provider", "ptr", "--json").json == {"kilo": entry, "kilo.r": entry}
    assert weft("provider", "ptr", "kilo", "--json").json == {**entry, "key": "****"}
    assert weft("provider", "ptr", "kilo").lines == ["provider  anthropic", f"model     {model}", "key       ****"]
    assert weft("provider", "ptr").lines[0].split() == ["pointer", "provider", "model"]
    assert weft("provider").out.count(model) == 2


@pytest.mark.usefixtures("sim")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["mega", "--set", "anthropic", "claude-9"], 1, "anthropic has no model 'claude-9'\n  it has: claude"),
        (["mega", "--set", "openai", "x"], 1, "openai is not enabled\n  enabled: anthropic"),
        (["mega", "--set", "nobody", "x"], 1, "no provider is called 'nobody'"),
        (["mega", "--set"], 1, "which provider?\n  there are: anthropic"),
        (["mega", "--set", "anthropic"], 1, "which model?\n  there are: claude"),
        (["mega"], 1, "no pointer is called 'mega'"),
        (["--set"], 2, "which pointer?"),
        (["mega", "anthropic"], 2, "to set it, say so"),
    ],
)
def test_a_pointer_that_cannot_be_is_refused_with_the_choices(
    weft: Weft, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, said: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr("sys.stdin", None)

    ran = weft("provider", "ptr", *arguments, ok=False)

    assert ran.status == status
    assert said in ran.err


@pytest.mark.usefixtures("sim", "home")
def test_a_pointer_is_asked_for_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    [model, *_] = [entry["id"] for entry in program("provider", "models", "anthropic", "--json").json]

    status, shown = in_terminal(
        "provider", "ptr", "kilo", "--set", typed=[("provider: ", "anthropic"), ("model: ", model)]
    )

    assert status == 0, shown
    assert program("provider", "ptr", "kilo", "--json").json["model"] == model


# -- alias -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sim")
def test_aliases_are_set_listed_and_removed_without_a_call(sim: Simulator, home: Path, weft: Weft) -> None:
    assert weft("alias").err.startswith("there are no aliases yet")
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('[pointers]\nnano = "groq/small"\n', encoding="utf-8")

    weft("alias", "set", "kilo", "anthropic/claude-x")
    weft("alias", "set", "kilo.r", "kilo")

    assert weft("alias", "--json").json == [
        {"name": "nano", "model": "groq/small", "source": "config.toml"},
        {"name": "kilo", "model": "anthropic/claude-x", "source": "store"},
        {"name": "kilo.r", "model": "anthropic/claude-x", "source": "store"},
    ]
    weft("alias", "remove", "kilo")
    assert [line.split() for line in weft("alias", "list").lines[1:]] == [
        ["nano", "groq/small", "config.toml"],
        ["kilo.r", "anthropic/claude-x", "store"],
    ]
    assert "is set in config.toml" in weft("alias", "remove", "nano", ok=False).err
    assert "no pointer is called 'kilo'" in weft("alias", "remove", "kilo", ok=False).err
    assert (
        "no provider is called 'antropic'\n  near it: anthropic"
        in weft("alias", "set", "x", "antropic/y", ok=False).err
    )
    assert list(sim.seen) == []


# -- keys ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sim")
def test_keys_are_kept_shown_by_source_and_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K-05: which one won, never the value."""
    assert program("keys").err.startswith("there are no keys yet")
    kept = program("keys", "set", "openai", stdin=KEY.encode())
    assert (kept.status, kept.err) == (0, f"the key for openai is kept in {home / 'keys.json'}\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", "gsk-other-key")

    listed = program("keys", "--json").json
    plain = program("keys")

    rows = {row["provider"]: row for row in listed}
    assert list(rows) == ["openai", "openai-responses", "groq"]
    assert rows["openai"]["source"] == "environment OPENAI_API_KEY"
    assert rows["openai"]["also"] == ["file"]
    assert rows["openai"]["mark"] == rows["openai-responses"]["mark"] != rows["groq"]["mark"]
    assert plain.lines[0].split() == ["provider", "used", "from", "mark", "also", "in"]
    assert CANARY.decode() not in plain.out + json.dumps(listed)
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir() if path.is_file()} == {0o600}

    removed = program("keys", "remove", "openai")
    assert (removed.status, removed.err) == (0, f"the key for openai is gone from {home / 'keys.json'}\n")
    assert where_the_canary_is(home) == set()
    again = program("keys", "remove", "openai")
    assert (again.status, again.err.splitlines()[0]) == (1, "weft: no key for openai is kept")


@pytest.mark.usefixtures("sim", "home")
def test_a_key_is_typed_unseen() -> None:
    status, shown = in_terminal("keys", "set", "openai", typed=[("key for openai: ", KEY)])

    assert status == 0
    assert CANARY.decode() not in shown
    assert program("keys", "--json").json[0]["source"] == "file"


@pytest.mark.usefixtures("sim")
@pytest.mark.parametrize(
    "arguments",
    [
        ["keys", "set", "openai", KEY],
        ["keys", "set", KEY],
        ["keys", "set", "openai", "--key", KEY],
        ["keys", "set", "openai", f"--key={KEY}"],
        ["keys", KEY],
        ["keys", "remove", "openai", KEY],
        ["keys", "remove", KEY],
        ["provider", "enable", "openai", KEY],
        ["provider", "enable", KEY],
    ],
)
def test_k08_a_key_on_the_command_line_is_refused_and_not_repeated(home: Path, arguments: list[str]) -> None:
    """K-08: prompt, stdin, environment or keyring only."""
    ran = program(*arguments)

    assert ran.status in (1, 2)
    assert CANARY.decode() not in ran.out + ran.err
    assert where_the_canary_is(home) == set() if home.exists() else True


@pytest.mark.usefixtures("sim", "home")
@pytest.mark.parametrize(
    ("piped", "said"), [(b"", "no key was given"), (b"two words", "more than one word"), (b"a\x01b", "broken")]
)
def test_what_is_no_key_is_not_kept(piped: bytes, said: str) -> None:
    ran = program("keys", "set", "openai", stdin=piped)

    assert ran.status == 1
    assert said in ran.err


@pytest.mark.usefixtures("sim")
def test_k06_a_file_others_can_read_is_warned_of_and_not_used(home: Path) -> None:
    """K-06."""
    program("keys", "set", "openai", stdin=KEY.encode())
    (home / "keys.json").chmod(0o644)

    listed = program("keys")
    called = program("models", "openai")
    kept = program("keys", "set", "groq", stdin=b"gsk-1234567")
    enabled = program("provider", "enable", "groq", "--untested", stdin=b"gsk-1234567")

    for ran in (listed, called, kept, enabled):
        assert "warning:" in ran.err
        assert "can be read by others (mode 0644)" in ran.err
        assert CANARY.decode() not in ran.err + ran.out
    assert "there are no keys yet" in listed.err
    assert (called.status, kept.status, enabled.status) == (4, 1, 1)
    assert (home / "keys.json").read_bytes() == b'{"openai":"' + KEY.encode() + b'"}\n'


@pytest.mark.usefixtures("sim")
def test_the_keyring_is_named_when_there_is_none(home: Path) -> None:
    ran = program("keys", "set", "openai", "--keyring", stdin=KEY.encode())

    assert ran.status == 1
    assert "the keyring does not take the key" in ran.err
    assert where_the_canary_is(home) == set() if home.exists() else True


@pytest.mark.usefixtures("sim")
def test_settings_that_cannot_be_read_are_said_so(home: Path, weft: Weft) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[providers\n", encoding="utf-8")
    assert "config.toml is not TOML" in weft("alias", ok=False).err
    (home / "config.toml").write_bytes(b"\xff")
    assert "config.toml is not UTF-8" in weft("alias", ok=False).err


def test_k01_no_key_is_left_anywhere_after_calls_that_fail_and_debug_on(
    sim: Simulator, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-01, K-11: every auth style, debug on; nothing in store, settings, logs or on stderr."""
    environ = {variable: "sk-wrong-canary-9f3b7c21d4e8" for row in PROVIDERS.values() for variable in row.keys}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", sim.url)
    for name in ("anthropic", "openai", "gemini", "cohere", "bedrock", "azure"):
        ran = program("--debug", "models", name)
        assert ran.status == 4, ran.err
        assert CANARY.decode() not in ran.out + ran.err

    assert where_the_canary_is(home) == set()
