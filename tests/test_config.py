"""Where files live, by the environment and by the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.config import config_folder, data_folder, settings, store_url
from weft.errors import UsageError


def test_weft_home_holds_everything(tmp_path: Path) -> None:
    environ = {"WEFT_HOME": str(tmp_path)}

    assert data_folder(environ) == config_folder(environ) == tmp_path
    assert store_url(environ) == str(tmp_path)


def test_without_weft_home_the_system_says_where_data_and_settings_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    assert data_folder({}) == tmp_path / "data" / "weft"
    assert config_folder({}) == tmp_path / "config" / "weft"


def test_weft_store_names_another_store_than_the_folder_of_data() -> None:
    assert store_url({"WEFT_HOME": "/h", "WEFT_STORE": "postgresql://db/weft"}) == "postgresql://db/weft"


def test_without_an_argument_the_environment_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_HOME", str(tmp_path))
    monkeypatch.delenv("WEFT_STORE", raising=False)

    assert (data_folder(), config_folder(), store_url()) == (tmp_path, tmp_path, str(tmp_path))


def test_settings_are_read_from_config_toml_and_none_are_no_error(tmp_path: Path) -> None:
    environ = {"WEFT_HOME": str(tmp_path)}
    before = settings(environ)
    (tmp_path / "config.toml").write_text('[providers.mine]\nbase_url = "http://localhost:1"\n', encoding="utf-8")

    assert before == {}
    assert settings(environ) == {"providers": {"mine": {"base_url": "http://localhost:1"}}}


@pytest.mark.parametrize(("written", "said"), [(b"a = ", "is not TOML"), (b"\xff", r"is not UTF-8 text \(byte 0\)")])
def test_settings_that_cannot_be_read_are_named_with_their_file(tmp_path: Path, written: bytes, said: str) -> None:
    (tmp_path / "config.toml").write_bytes(written)

    with pytest.raises(UsageError, match=rf"config\.toml {said}"):
        settings({"WEFT_HOME": str(tmp_path)})
