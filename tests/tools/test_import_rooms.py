from __future__ import annotations

import pytest

from tools.import_rooms import parse_table, violations

TABLE = parse_table(
    ["errors", "canon", "wire", "store", "threads <- store", "trace <- wire threads", "cli <- *"],
    open_rooms=["errors", "canon"],
)
DIALECTS = frozenset({"weft.wire.gemini", "weft.wire.gemini.stream", "weft.wire.cohere", "weft.wire.cohere.stream"})


def found(importer: str, imported: str) -> list[str]:
    return violations(
        edges=[(importer, imported)],
        modules=DIALECTS | {"weft"},
        table=TABLE,
        siblings=["weft.wire.*"],
        quiet=["canon", "wire"],
        network=["socket"],
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("weft.trace.cook", "weft.wire"),
        ("weft.trace.cook", "weft.canon"),
        ("weft.trace.cook", "weft.trace.graph"),
        ("weft.cli.ask", "weft.threads"),
        ("weft.wire.gemini.stream", "weft.wire"),
        ("weft", "weft.canon.part"),
        ("weft.trace.cook", "socket"),
        ("weft.wire.gemini.stream", "json"),
    ],
)
def test_what_the_table_allows_is_no_violation(importer: str, imported: str) -> None:
    assert found(importer, imported) == []


@pytest.mark.parametrize(
    ("importer", "imported", "why"),
    [
        ("weft.wire.gemini", "weft.trace", "wire may not import trace"),
        ("weft.trace.cook", "weft.store", "trace may not import store"),
        ("weft.trace.cook", "weft.canon.part", "use the front door, weft.canon"),
        ("weft.wire.gemini.stream", "weft.wire.cohere", "siblings do not know each other"),
        ("weft.wire.gemini.stream", "weft", "name the room instead"),
        ("weft.wire.gemini.stream", "socket", "no network in wire"),
        ("weft.canon.part", "weft.wire", "canon may not import wire"),
    ],
)
def test_what_the_table_does_not_allow_is_told(importer: str, imported: str, why: str) -> None:
    [line] = found(importer, imported)

    assert line.startswith(f"{importer} imports {imported}: {why}") or line == f"{importer} imports weft itself: {why}"


def test_a_room_that_is_not_in_the_table_is_told() -> None:
    lines = violations(edges=[], modules=frozenset({"weft.attic.things"}), table=TABLE)

    assert lines == ["weft.attic is not in the table of rooms"]


def test_an_exception_is_excused() -> None:
    edges = [("weft.canon.context", "weft.store")]

    lines = violations(edges=edges, modules=frozenset(), table=TABLE, exceptions=["weft.canon.context -> weft.store"])

    assert lines == []


def test_a_row_may_only_name_rooms_above_it() -> None:
    with pytest.raises(ValueError, match="threads names"):
        parse_table(["threads <- store", "store"], open_rooms=[])
