"""Where weft's files live and what the environment says about it. The only place that asks the environment.

Settings are read here and handed down as arguments; no other room looks at a variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import UsageError

__all__ = ["config_folder", "data_folder", "settings", "store_url"]


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Give the folder of weft's data: WEFT_HOME, else where this system keeps a user's data."""
    environ = os.environ if environ is None else environ
    if home := environ.get("WEFT_HOME"):
        return Path(home).expanduser()
    # Not needed by most commands, and by none that must start at once.
    from platformdirs import user_data_path  # noqa: PLC0415

    return user_data_path("weft", appauthor=False)


def store_url(environ: Mapping[str, str] | None = None) -> str:
    """Give the address of the store used when none is named: WEFT_STORE (a folder or URL), else the data folder."""
    environ = os.environ if environ is None else environ
    return environ.get("WEFT_STORE") or str(data_folder(environ))


def config_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Give the folder of settings and keys: WEFT_HOME, else where this system keeps a user's settings."""
    environ = os.environ if environ is None else environ
    if home := environ.get("WEFT_HOME"):
        return Path(home).expanduser()
    from platformdirs import user_config_path  # noqa: PLC0415

    return user_config_path("weft", appauthor=False)


def settings(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read config.toml of the settings' folder; nothing is set where there is none."""
    path = config_folder(environ) / "config.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not UTF-8 text (byte {problem.start})") from None
    import tomllib  # noqa: PLC0415

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{path} is not TOML: {problem}") from None
