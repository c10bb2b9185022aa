"""Plugins: a package of someone else's, installed, adds a format, a dialect, a provider and a tool server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import UsageError
from weft.plugins import hook

PLUGIN = Path(__file__).parent / "support" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plugin as pip does, in a folder of its own; give the folder."""
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PLUGIN, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    pip += ["--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([*pip, "--target", str(folder), str(source)], check=True)
    return folder


def run(installed: Path, home: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(installed), "WEFT_HOME": str(home), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "weft.cli", *words]
    return subprocess.run(command, input=given, env=environ, cwd=home, capture_output=True, text=True, check=False)


def test_a_format_of_a_plugin_is_guessed_read_and_written(installed: Path, tmp_path: Path) -> None:
    log = "ship> Depth?\nharbour> Six metres.\n"

    to_markdown = run(installed, tmp_path, "convert", "-", "--to", "markdown", given=log)
    back = run(installed, tmp_path, "convert", "-", "--to", "harbour-log", given=to_markdown.stdout)

    assert "Six metres." in to_markdown.stdout, to_markdown.stderr
    assert back.stdout == log, back.stderr


def test_a_plugins_format_is_listed(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "formats")

    assert "harbour-log" in listed.stdout, listed.stderr


def test_a_dialect_and_a_provider_of_a_plugin_are_used(installed: Path, tmp_path: Path) -> None:
    asked = run(installed, tmp_path, "ask", "-m", "harbour/pilot", "--dry-run", "Depth?")

    assert '"pilot"' in asked.stdout, asked.stderr
    assert '"Depth?"' in asked.stdout
    assert "http://127.0.0.1:9/v1/chat" in asked.stdout


def test_a_tool_server_of_a_plugin_is_listed(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "mcp", "list")

    assert "tides" in listed.stdout, listed.stderr


def test_a_plugin_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = site / "weft_broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weft-broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[weft]\nbroken = no_such_module\n")

    said = run(site, tmp_path, "formats")

    assert said.returncode == 1
    assert "plugin broken (no_such_module) cannot be loaded" in said.stderr
    assert "uninstall" in said.stderr


def test_a_hook_that_weft_does_not_have_is_refused() -> None:
    def weft_sails() -> list[str]:
        return []

    with pytest.raises(UsageError, match="no hook 'weft_sails'"):
        hook(weft_sails)
