"""The import-linter contract for the order of rooms.

import-linter's own layers say what comes above what; weft's rooms are stricter: each names the rooms it may import,
and enters them by the front door (`from weft.store import Store`, never `from weft.store.sqlite import ...`).
The table is in pyproject.toml; rooms that do not exist yet are passed over, a room that is not in it is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grimp import ImportGraph

__all__ = ["RoomsContract", "violations"]

ROOT = "weft"
ANY = "*"


class RoomsContract(Contract):
    """Every import between rooms is one that the table allows."""

    type_name = "rooms"

    rooms = fields.ListField(subfield=fields.StringField())
    open = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    siblings = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    quiet = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    network = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    exceptions = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Compare each import of the graph with the table."""
        found = violations(
            edges=sorted(_edges(graph)),
            modules=frozenset(graph.modules),
            table=parse_table(_strings(self.rooms), open_rooms=_strings(self.open)),
            siblings=_strings(self.siblings),
            quiet=_strings(self.quiet),
            network=_strings(self.network),
            exceptions=_strings(self.exceptions),
        )
        return ContractCheck(kept=not found, metadata={"violations": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line a violation."""
        for line in check.metadata["violations"]:
            output.print_error(line)
        output.new_line()


def parse_table(rows: Sequence[str], *, open_rooms: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read `room <- other other` rows into the rooms each room may import; a row may only name rooms above it."""
    table: dict[str, frozenset[str]] = {}
    for row in rows:
        room, _, allowed_text = (piece.strip() for piece in row.partition("<-"))
        named = set(allowed_text.split())
        if unknown := named - table.keys() - {ANY}:
            raise ValueError(f"rooms: {room} names {sorted(unknown)}, not above it in the table")
        allowed = set(table) if ANY in named else named
        table[room] = frozenset(allowed | {name for name in open_rooms if name in table})
    return table


def violations(
    *,
    edges: Iterable[tuple[str, str]],
    modules: frozenset[str],
    table: Mapping[str, frozenset[str]],
    siblings: Sequence[str] = (),
    quiet: Sequence[str] = (),
    network: Sequence[str] = (),
    exceptions: Sequence[str] = (),
) -> list[str]:
    """List, as sentences, the imports that the table does not allow."""
    found = [f"{ROOT}.{room} is not in the table of rooms" for room in sorted(_rooms(modules) - table.keys())]
    groups = [group for spec in siblings if len(group := _expand(spec, modules)) > 1]
    excused = {_pair(text) for text in exceptions}
    for importer, imported in edges:
        if (importer, imported) in excused:
            continue
        here, there = _room(importer), _room(imported)
        if here is None or here not in table:
            continue  # the package's own __init__ opens every room; unknown rooms are reported above
        if there is None:
            if imported == ROOT:
                found.append(f"{importer} imports {ROOT} itself: name the room instead")
            elif here in quiet and imported.partition(".")[0] in network:
                found.append(f"{importer} imports {imported}: no network in {here}")
        elif here != there:
            if there not in table[here]:
                found.append(f"{importer} imports {imported}: {here} may not import {there}")
            elif imported != f"{ROOT}.{there}":
                found.append(f"{importer} imports {imported}: use the front door, {ROOT}.{there}")
        found.extend(
            f"{importer} imports {imported}: siblings do not know each other"
            for group in groups
            if (a := _within(importer, group)) and (b := _within(imported, group)) and a != b
        )
    return found


def _edges(graph: ImportGraph) -> Iterator[tuple[str, str]]:
    for importer in graph.modules:
        if importer == ROOT or importer.startswith(f"{ROOT}."):
            for imported in graph.find_modules_directly_imported_by(importer):
                yield importer, imported


def _rooms(modules: Iterable[str]) -> set[str]:
    return {room for module in modules if (room := _room(module))}


def _room(module: str) -> str | None:
    root, _, rest = module.partition(".")
    return rest.partition(".")[0] if root == ROOT and rest else None


def _expand(spec: str, modules: frozenset[str]) -> frozenset[str]:
    if spec.endswith(".*"):
        parent = spec.removesuffix(".*")
        below = {module for module in modules if module.rpartition(".")[0] == parent}
        return frozenset(name for name in below if any(module.startswith(f"{name}.") for module in modules))
    return frozenset(spec.split())


def _within(module: str, group: frozenset[str]) -> str | None:
    return next((name for name in group if module == name or module.startswith(f"{name}.")), None)


def _pair(text: str) -> tuple[str, str]:
    importer, _, imported = (piece.strip() for piece in text.partition("->"))
    return importer, imported


def _strings(value: object) -> list[str]:
    # import-linter's fields are descriptors replaced by plain lists when the contract is built.
    return [str(item) for item in value] if isinstance(value, list | tuple | set) else []
