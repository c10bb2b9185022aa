"""What is installed with weft, and what a wheel of it holds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

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


def test_every_extra_has_its_reason_in_the_decisions_and_all_of_them_are_in_all() -> None:
    page = (PROJECT / "docs" / "decisions" / "0001-dependencies.md").read_text(encoding="utf-8")
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [everything] = extras.pop("all")

    assert set(extras) <= set(re.findall(r"^\| `([\w.-]+)` \|", page, re.MULTILINE))
    assert everything == f"weft[{','.join(sorted(extras))}]"


def built_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.mark.soak
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_c05_the_oldest_and_the_newest_versions_we_allow_install_and_work(tmp_path: Path, resolution: str) -> None:
    """C-05: from a package index, so not among the tests that need no network."""
    uv, home = str(PROJECT / ".tools" / "bin" / "uv"), tmp_path / "installed"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
    command = [uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python"), "--resolution", resolution]
    subprocess.run([*command, str(built_wheel(tmp_path))], check=True)

    ran = subprocess.run([home / "bin" / "weft", "demo", "--once"], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Booked: pier 4 for two nights." in ran.stdout


def test_c06_a_wheel_holds_the_package_and_nothing_that_runs_by_itself(tmp_path: Path) -> None:
    wheel = built_wheel(tmp_path)

    with ZipFile(wheel) as archive:
        names = {PurePosixPath(name) for name in archive.namelist()}
    assert wheel.name == f"weft-{__version__}-py3-none-any.whl"
    assert {name.parts[0] for name in names} == {"weft", f"weft-{__version__}.dist-info"}
    assert {name for name in names if name.suffix in {".pth", ".so", ".pyc"}} == set()
    sources = {path.relative_to(PROJECT / "src") for path in (PROJECT / "src").rglob("*.py")}
    assert {Path(name) for name in names if name.suffix == ".py"} == sources
    assert PurePosixPath("weft/py.typed") in names
