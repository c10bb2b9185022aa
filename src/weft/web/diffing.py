"""Diffs as runs: neighbouring messages of one kind together, so that a hundred thousand unchanged ones are one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

from weft.trace import diff
from weft.web.contract import DiffOp

__all__ = ["Script", "grown", "script_of"]

Script: TypeAlias = list[tuple[DiffOp, Sequence[str]]]


def script_of(old: Sequence[str], new: Sequence[str]) -> Script:
    """Compare two lists of ids: section 10."""
    if not old:
        return grown([], list(new))
    rest = list(new[len(old) :])
    if list(new[: len(old)]) == list(old) and len({*old}) == len(old) and {*old}.isdisjoint(rest):
        # What an agent does nearly always: all that was, and something more. No message is there twice, so there is
        # only one way to see it.
        return grown(list(old), rest)
    items = diff(old, new).items
    return [(kind, [item.id for item in group]) for kind, group in groupby(items, key=lambda item: item.kind)]


def grown(old: Sequence[str], rest: Sequence[str]) -> Script:
    """Say that something only grew."""
    runs: Script = [("unchanged", old), ("added", rest)]
    return [run for run in runs if run[1]]
