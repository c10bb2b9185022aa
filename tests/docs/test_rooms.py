"""docs/explanation/rooms.md tells of the rooms there are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "rooms.md").read_text(encoding="utf-8")


def test_every_room_is_told_of_in_the_order_of_the_import_table() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = settings["tool"]["importlinter"]["contracts"]
    rooms = [line.split()[0] for line in contract["rooms"]]

    told = [room for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for room in re.findall(r"`(\w+)`", row)]

    assert told == rooms


def test_every_room_is_a_folder_or_a_module_and_every_one_of_those_a_room() -> None:
    there = {path.stem for path in (ROOT / "src" / "weft").iterdir() if path.suffix == ".py" or path.is_dir()}

    told = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))

    assert told == {name for name in there if not name.startswith("_")}


def test_modules_that_are_named_are_there() -> None:
    walks = PAGE[PAGE.index("## Three walks") :]

    named = sorted(set(re.findall(r"`(\w+/\w+)`", walks)))

    assert named
    assert [path for path in named if not (ROOT / "src" / "weft" / f"{path}.py").is_file()] == []
