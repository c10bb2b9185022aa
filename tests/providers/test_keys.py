"""Where keys are kept and which one wins: K-04 to K-08, T-54."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.backends import fail
from keyring.errors import KeyringLocked, PasswordDeleteError

from weft.errors import StoreError, UsageError
from weft.providers import PROVIDERS, KeyFile, KeyPlaces, Secret, find_key, found_keys, resolve_key

ANTHROPIC = PROVIDERS["anthropic"]


class Drawer(keyring.backend.KeyringBackend):
    """A keyring in memory, as a system's own would be used."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError("none")
        del self.kept[service, username]


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    mine = Drawer()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "config" / "keys.json")


def test_the_order_is_what_was_named_then_environment_then_keyring_then_file(drawer: Drawer, file: KeyFile) -> None:
    file.put("anthropic", Secret("from-file"))
    drawer.set_password("weft", "anthropic", "from-keyring")
    environ = {"ANTHROPIC_API_KEY": "from-env", "ANTHROPIC_AUTH_TOKEN": "a-token", "MINE": "from-flag"}

    found = list(found_keys(ANTHROPIC, KeyPlaces(environ, file), key_env="MINE", frame={"key": "from-frame"}))

    assert [(each.secret.reveal() if each.secret else "", each.source) for each in found] == [
        ("from-flag", "environment MINE"),
        ("from-env", "environment ANTHROPIC_API_KEY"),
        ("a-token", "environment ANTHROPIC_AUTH_TOKEN"),
        ("from-frame", "store"),
        ("from-keyring", "keyring"),
        ("from-file", "file"),
    ]
    assert [each.secret.is_token for each in found if each.secret] == [False, False, True, False, False, False]
    secret, source = resolve_key(ANTHROPIC, KeyPlaces({}, file))
    assert (secret, source) == (Secret("from-keyring"), "keyring")


def test_t54_a_frame_may_name_a_variable_that_is_read_at_call_time(file: KeyFile) -> None:
    """T-54."""
    frame = {"name": "anthropic", "key_env": "TEAM_KEY"}

    found = resolve_key(ANTHROPIC, KeyPlaces({"TEAM_KEY": "from-team", "ANTHROPIC_API_KEY": "own"}, file), frame=frame)

    assert found == (Secret("from-team"), "environment TEAM_KEY")
    assert find_key(ANTHROPIC, KeyPlaces({}, file, use_keyring=False), frame=frame) is None


def test_a_variable_that_was_named_must_hold_a_key(file: KeyFile) -> None:
    with pytest.raises(UsageError, match="the variable MINE holds no key"):
        resolve_key(ANTHROPIC, KeyPlaces({"ANTHROPIC_API_KEY": "other"}, file), key_env="MINE")


def test_without_a_key_it_is_said_where_one_was_looked_for(drawer: Drawer, file: KeyFile) -> None:
    drawer.locked = True

    with pytest.raises(UsageError) as caught:
        resolve_key(ANTHROPIC, KeyPlaces({"ANTHROPIC_API_KEY": " "}, file))

    assert str(caught.value).splitlines() == [
        "no key for anthropic",
        f"  looked in: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, keyring, {file.path}",
        "  give one: weft keys set anthropic",
    ]


def test_bedrock_says_where_access_keys_are_looked_for(file: KeyFile) -> None:
    with pytest.raises(UsageError, match=r"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/\.aws/credentials"):
        resolve_key(PROVIDERS["bedrock"], KeyPlaces({"AWS_ACCESS_KEY_ID": "AKIA"}, file, use_keyring=False))


@pytest.mark.parametrize(
    "row", [PROVIDERS["ollama"], PROVIDERS["vllm"], replace(ANTHROPIC, base_url="http://127.0.0.1:8")]
)
def test_a_server_on_this_machine_needs_no_key(row: object) -> None:
    assert resolve_key(row, KeyPlaces({}, use_keyring=False)) == (None, "none needed")  # type: ignore[arg-type]


def test_one_account_may_serve_two_rows_of_the_table(file: KeyFile) -> None:
    file.put("openai", Secret("sk-shared"))

    assert resolve_key(PROVIDERS["openai-responses"], KeyPlaces({}, file, use_keyring=False)).secret == Secret(
        "sk-shared"
    )


def test_the_keyring_keeps_and_forgets(drawer: Drawer, file: KeyFile) -> None:
    places = KeyPlaces({}, file)

    assert places.put_in_keyring("openai", Secret("sk-1234"))
    assert not places.put_in_keyring("openai", Secret("sk-1234"))
    assert drawer.kept == {("weft", "openai"): "sk-1234"}
    assert places.put_in_keyring("openai", None)
    assert places.in_keyring("openai") is None
    drawer.locked = True
    with pytest.raises(StoreError, match="the keyring does not take the key: locked"):
        places.put_in_keyring("openai", Secret("sk-1234"))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_k05_files_and_folder_are_private_from_creation(file: KeyFile, umask: int) -> None:
    """K-05: whatever the umask; the mode is given at creation, not put right after."""
    before = os.umask(umask)
    try:
        file.put("openai", Secret("sk-1234"))
        file.salt()
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.path.parent.iterdir()}
    assert modes == {"keys.json": 0o600, "keys.lock": 0o600, "fingerprint.salt": 0o600}
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert json.loads(file.path.read_bytes()) == {"openai": "sk-1234"}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o660])
def test_k06_a_key_file_others_can_read_is_refused(file: KeyFile, mode: int) -> None:
    file.put("openai", Secret("sk-canary-1234"))
    file.path.chmod(mode)

    with pytest.raises(StoreError, match=rf"can be read by others \(mode {mode:04o}\)") as caught:
        KeyPlaces({}, file, use_keyring=False).in_file("openai")

    assert "chmod 600" in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_k06_a_key_file_of_another_user_is_refused(file: KeyFile) -> None:
    file.put("openai", Secret("sk-canary-1234"))
    os.chown(file.path, 12345, 12345)

    with pytest.raises(StoreError, match="belongs to another user"):
        file.read()


def test_a_key_in_the_environment_is_used_without_looking_at_the_file(file: KeyFile) -> None:
    file.put("openai", Secret("sk-1234"))
    file.path.chmod(0o644)

    assert resolve_key(PROVIDERS["openai"], KeyPlaces({"OPENAI_API_KEY": "sk-env"}, file, use_keyring=False)).source


@pytest.mark.parametrize(
    "text", ["sk-canary-1234", '["sk-canary-1234"]', '{"openai": 5, "x": "sk-canary-1234"}', "\xff"]
)
def test_a_file_that_holds_no_keys_is_refused_without_being_quoted(file: KeyFile, text: str) -> None:
    file.put("openai", Secret("sk-1234"))
    file.path.write_bytes(text.encode("latin-1"))

    with pytest.raises(UsageError, match="cannot be read as keys") as caught:
        file.read()

    assert "canary" not in str(caught.value)


def test_an_empty_file_has_no_keys_and_an_empty_key_is_none(file: KeyFile) -> None:
    file.put("openai", Secret("sk-1234"))
    file.path.write_bytes(b"")
    assert file.read() == {}

    file.path.write_bytes(b'{"openai": " "}')
    assert file.read() == {}


def test_a_key_is_forgotten(file: KeyFile) -> None:
    file.put("openai", Secret("sk-1234"))
    file.put("groq", Secret("gsk-1234"))

    assert file.put("openai", None)
    assert not file.put("openai", None)
    assert file.read() == {"groq": Secret("gsk-1234")}


CHANGES = """
import sys
from pathlib import Path
from weft.providers import KeyFile, Secret
file, who = KeyFile(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for round in range(20):
    file.put(f"{who}-{round}", Secret(f"key-{who}-{round}"))
"""


def test_k07_eight_at_once_twenty_rounds_lose_no_key(file: KeyFile) -> None:
    """K-07."""
    command = [sys.executable, "-c", CHANGES, str(file.path)]
    crowd = [
        subprocess.Popen([*command, str(who)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in range(8)
    ]
    for each in crowd:
        assert each.stdout is not None
        each.stdout.readline()
    for each in crowd:
        each.communicate("go\n")

    assert [each.returncode for each in crowd] == [0] * 8
    assert len(file.read()) == 160
    assert [path.name for path in file.path.parent.iterdir() if path.name.startswith(".")] == []


KILLED = """
import sys
from pathlib import Path
from weft.providers import KeyFile, Secret
file = KeyFile(Path(sys.argv[1]))
print("ready", flush=True)
for round in range(100_000):
    file.put("openai", Secret(f"key-{round:06d}-" + "x" * 2000))
"""


def test_k07_kill_in_the_middle_leaves_the_old_file_or_the_new(file: KeyFile) -> None:
    """K-07: and the lock dies with its holder."""
    for wait in (0.01, 0.03, 0.05):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(file.path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()

        kept = file.read().get("openai")
        assert kept is None or len(kept.reveal()) == len("key-000000-") + 2000
        assert file.put("groq", Secret(f"gsk-{wait}"))
        assert [path.name for path in file.path.parent.iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing(file: KeyFile) -> None:
    file.put("openai", Secret("sk-1234"))
    file.path.unlink()
    file.path.mkdir()
    (file.path / "x").touch()

    with pytest.raises(OSError, match=r"keys\.json"):
        file._replace(file.path, b"{}")

    assert [path.name for path in file.path.parent.iterdir() if path.name.startswith(".")] == []


def test_k12_places_show_neither_environment_nor_keys(file: KeyFile) -> None:
    assert "canary" not in repr(KeyPlaces({"X": "canary"}, file))
