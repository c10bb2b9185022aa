"""The real programs and data that some tests need, where they are looked for, and what happens without them.

A missing one skips the test and says why; with WEFT_TEST_REQUIRE=all (or a list such as `postgres,corpus`) it fails.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMPONENTS", "Component", "require"]

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Component:
    """Something a test needs: how to find it, and what to do when it is not there."""

    find: Callable[[], Path | None]
    advice: str


def _postgres() -> Path | None:
    """The folder of PostgreSQL's server programs; Debian keeps it off the PATH, one folder a version."""
    if (initdb := shutil.which("initdb")) is not None:
        return Path(initdb).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    return found[-1].parent if found else None


def _version(initdb: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", initdb.parent.parent.name))


def _chromium() -> Path | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((Path(found) for name in names if (found := shutil.which(name))), None)


def _corpus() -> Path | None:
    folder = Path(os.environ.get("WEFT_CORPUS") or PROJECT.parent / "shared" / "corpus")
    return folder if next(folder.glob("*.jsonl"), None) else None


def _mcp_servers() -> Path | None:
    """The folder of the reference MCP servers' programs that npm installed (tools/provision.sh)."""
    folder = PROJECT / ".mcp-servers" / "node_modules" / ".bin"
    wanted = ("mcp-server-everything", "mcp-server-filesystem")
    return folder if shutil.which("node") and all((folder / name).exists() for name in wanted) else None


def _inspect_ai() -> Path | None:
    """The Python of the environment that inspect-ai has for itself (tools/provision.sh)."""
    folder = PROJECT / ".tools" / "inspect-ai"
    return folder / "bin" / "python" if (folder / "requirements.txt").exists() else None


def _installed(name: str) -> Callable[[], Path | None]:
    """Find a program beside this Python."""
    place = Path(sys.executable).parent / name
    return lambda: place if place.exists() else None


def _program(name: str) -> Callable[[], Path | None]:
    """Find a program on the PATH."""
    return lambda: Path(found) if (found := shutil.which(name)) else None


def _viewer() -> Path | None:
    """The viewer's page as it was built, and what its tests are driven with (make viewer)."""
    built = PROJECT / "src" / "weft" / "web" / "static"
    driver = PROJECT / "viewer" / "node_modules" / "playwright-core" / "package.json"
    found = (built / "index.html").exists() and driver.exists() and shutil.which("node") is not None
    return built if found else None


COMPONENTS = {
    "postgres": Component(_postgres, "install it (apt-get install postgresql) or put initdb on the PATH"),
    "chromium": Component(_chromium, "install it (apt-get install chromium) or put it on the PATH"),
    "mcp-servers": Component(_mcp_servers, "install node and npm, then run tools/provision.sh"),
    "mcp-server-git": Component(_installed("mcp-server-git"), "run make setup"),
    "mcp-server-time": Component(_installed("mcp-server-time"), "run make setup"),
    "inspect-ai": Component(_inspect_ai, "run make setup, then tools/provision.sh"),
    "strace": Component(_program("strace"), "install it (apt-get install strace)"),
    "gcc": Component(_program("gcc"), "install a C compiler (apt-get install gcc libc6-dev)"),
    "viewer": Component(_viewer, "install node and npm, then run make viewer"),
    "corpus": Component(_corpus, "set WEFT_CORPUS to the folder of recorded exchanges"),
}


def require(name: str) -> Path:
    """Return where a component is; without it skip the test, or fail it if WEFT_TEST_REQUIRE says so."""
    component = COMPONENTS[name]
    if (place := component.find()) is not None:
        return place
    reason = f"{name} not found: {component.advice}"
    wanted = os.environ.get("WEFT_TEST_REQUIRE", "").replace(",", " ").split()
    if "all" in wanted or name in wanted:
        pytest.fail(f"{reason} (WEFT_TEST_REQUIRE)", pytrace=False)
    pytest.skip(reason)
