"""One browser for all scenarios: they are run once, by Node, and every test looks up what came of its own."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.components import PROJECT, require
from tests.viewer.world import built_world

BROWSER = Path(__file__).with_name("browser")
PICTURES = PROJECT / "build" / "viewer"  # screenshots: looked at by people, kept by CI


# What the documentation shows, when asked to make it anew (docs/how-to/see-a-recording.md).
DOCUMENTED = {
    "graph": "graph-1280-light",
    "compare": "compare-1280-dark",
    "understand": "understand-1280-light",
    "approval": "approval",
    "narrow": "graph-390-dark",
}


def _wanted_pictures() -> dict[str, Any]:
    if not os.environ.get("WEFT_PICTURES"):
        return {}
    return {"pictures": DOCUMENTED, "pictureFolder": str(PROJECT / "docs" / "pictures")}


def run_browser(world: dict[str, Any], folder: Path, *, seconds: float) -> dict[str, Any]:
    """Send the browser into a world; give what it found, by scenario."""
    (folder / "world.json").write_text(json.dumps(world), encoding="utf-8")
    command = [
        "node",
        str(BROWSER / "run.mjs"),
        str(folder / "world.json"),
        str(folder / "results.json"),
        str(PICTURES),
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"the browser's run broke off:\n{done.stdout}\n{done.stderr}"
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every scenario came to. Of several workers the first one runs them, and the others wait for it."""
    require("chromium")
    require("viewer")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    found = shared / "viewer-results.json"
    with (shared / "viewer-results.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            folder = tmp_path_factory.mktemp("viewer")
            with built_world(folder / "world") as world:
                made = run_browser(world | _wanted_pictures(), folder, seconds=400)
                found.write_text(json.dumps(made), encoding="utf-8")
        results: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return results
