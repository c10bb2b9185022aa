"""docs/reference/library-model.md says of every type what it really has."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import canon
from weft.canon import Event

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "library-model.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?:`(?P<type>\w+)` )?\| `(?P<field>\w+)` \| .+ \| (?P<default>[^|]*)\|$", re.MULTILINE)


def told() -> dict[str, list[tuple[str, str]]]:
    """The fields of each type, in the order of the page, with their defaults."""
    types: dict[str, list[tuple[str, str]]] = {}
    latest: list[tuple[str, str]] = []
    for row in ROW.finditer(PAGE):
        if row["type"]:
            latest = types[row["type"]] = []
        latest.append((row["field"], row["default"].strip()))
    return types


def default(field: Any) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return ""
    value = field.default if field.default is not MISSING else field.default_factory()
    match value:
        case None | ():
            return f"{value}" if value is None else "`()`"
        case dict():
            return "`{}`"
        case True:
            return "True"
        case weft.Cursor():
            return "an empty one"
        case weft.InMemoryBlobStore():
            return "a new one in memory"
        case _:
            return "empty" if value == {} else "now, in UTC"


@pytest.mark.parametrize("name", told())
def test_the_page_has_the_fields_and_defaults_of_a_type(name: str) -> None:
    kind: Any = getattr(weft, name)

    assert told()[name] == [(field.name, default(field)) for field in fields(kind)]


def test_the_page_has_every_type_of_the_model() -> None:
    """Section 1 of the model."""
    assert set(told()) == {
        *("Part", "Message", "Context", "Cursor", "Usage", "RunSpec", "Instructions", "ToolSpecification"),
        *("RequestPlan", "ExcludedItem", "AdapterId", "AdapterCapabilities", "BlobReference", "BlobEntry"),
        *("PruneReport", "Reply"),
    }


EVENT = re.compile(r"^\| `(?P<type>[a-z_.]+)` \| `(?P<class>\w+)` \| (?P<fields>.*) \|$", re.MULTILINE)


def test_the_page_has_every_event_and_its_fields() -> None:
    """W-29: the table of stream events, and the three that are weft's own."""
    on_the_page = {
        row["class"]: (row["type"], re.findall(r"`(\w+)`", row["fields"].partition(";")[0]))
        for row in EVENT.finditer(PAGE)
    }
    kinds: list[Any] = [kind for kind in vars(canon).values() if isinstance(kind, type) and issubclass(kind, Event)]

    assert on_the_page == {
        kind.__name__: (kind.type, [field.name for field in fields(kind)]) for kind in kinds if kind is not Event
    }
