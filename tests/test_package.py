"""What is installed with weft, and what a wheel of it holds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from weft.version import __version__

PROJECT = Path(__file__).resolve().parents[1]


def core_dependencies() -> list[str]:
    requirements: list[str] = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [re.split(r"[\s<>=!~\[;]", requirement)[0] for requirement in requirements]


def test_c07_the_core_has_at_most_five_direct_dependencies() -> None:
    assert len(core_dependencies()) <= 5


def test_every_core_dependency_has_its_reason_in_the_decisions() -> None:
    page = (PROJECT / "docs" / "decisions" / "0001-dependencies.md").read_text(encoding="utf-8")

    explained = set(re.findall(r"^\| `([\w.-]+)` \|", page, re.MULTILINE))
    assert set(core_dependencies()) <= explained


def test_c06_a_wheel_holds_the_package_and_nothing_that_runs_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)

    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = {PurePosixPath(name) for name in archive.namelist()}
    assert wheel.name == f"weft-{__version__}-py3-none-any.whl"
    assert {name.parts[0] for name in names} == {"weft", f"weft-{__version__}.dist-info"}
    assert {name for name in names if name.suffix in {".pth", ".so", ".pyc"}} == set()
    sources = {path.relative_to(PROJECT / "src") for path in (PROJECT / "src").rglob("*.py")}
    assert {Path(name) for name in names if name.suffix == ".py"} == sources
    assert PurePosixPath("weft/py.typed") in names
