"""Any two rows side by side, of one source or of two: what they say, answers included, their tools and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from weft.jsontext import dumps_text, loads
from weft.trace import diff
from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.diffing import Script, script_of
from weft.web.shaping import diff_of, items_of, tools_of_both
from weft.web.source import Source

__all__ = ["compare", "compare_items"]

_MOST = 50_000  # messages of a side; two threads of a hundred thousand turns are not read side by side


def compare(left: Source, left_id: str, right: Source, right_id: str, *, whole: bool = False) -> contract.Compare:
    """Compare two rows."""
    script = _script(left, left_id, right, right_id)
    sides: list[contract.Side] = []
    for source, row_id in ((left, left_id), (right, right_id)):
        with source.lock:
            sides.append({"source_id": source.id, "row": source.row(row_id), "header": source.header(row_id)})
    old, new = (
        sorted(source.tools_of(row), key=lambda tool: tool.name)
        for source, row in _both(left, left_id, right, right_id)
    )
    if left is not right:  # ids of tools are each source's own; what they say is not
        old = [tool._replace(id=dumps_text(tool[1:])) for tool in old]
        new = [tool._replace(id=dumps_text(tool[1:])) for tool in new]
    return {
        "left": sides[0],
        "right": sides[1],
        "diff": diff_of(script, _heads(right), deleted=_heads(left), whole=whole),
        "tools": tools_of_both(old, new),
        "options": _options(sides[0]["header"]["options"], sides[1]["header"]["options"]),
    }


def compare_items(
    left: Source, left_id: str, right: Source, right_id: str, start: int, count: int
) -> contract.DiffItems:
    """Give a window of a comparison."""
    script = _script(left, left_id, right, right_id)
    return items_of(script, start, count, _heads(right), deleted=_heads(left))


def _both(left: Source, left_id: str, right: Source, right_id: str) -> list[tuple[Source, str]]:
    return [(left, left_id), (right, right_id)]


def _heads(source: Source) -> Callable[[Sequence[str]], list[contract.MessageHead]]:
    def heads(message_ids: Sequence[str]) -> list[contract.MessageHead]:
        with source.lock:
            return source.heads(message_ids)

    return heads


def _script(left: Source, left_id: str, right: Source, right_id: str) -> Script:
    old, new = _said(left, left_id), _said(right, right_id)
    if left is right and left.kind != "threads":
        return script_of(old, new)
    if max(len(old), len(new)) > _MOST:
        raise RefusedError(413, "too_large", f"more than {_MOST} messages are not compared across sources")
    old_keys = _keys(left, old, by_content=left is not right)
    new_keys = _keys(right, new, by_content=left is not right)
    left_at, right_at = iter(old), iter(new)
    script: Script = []
    for kind, group in groupby(diff(old_keys, new_keys).items, key=lambda item: item.kind):
        ids = []
        for _ in group:  # keys stand for messages one by one, in order
            mine = next(left_at) if kind != "added" else ""
            ids.append(next(right_at) if kind != "deleted" else mine)
        script.append((kind, ids))
    return script


def _said(source: Source, row_id: str) -> list[str]:
    source.spot(row_id)
    with source.lock:
        context = source.context(row_id)
        return [*context.sent, *context.answered]


def _keys(source: Source, ids: Sequence[str], *, by_content: bool) -> list[str]:
    with source.lock:
        if not by_content:
            return [source.key_of(each) for each in ids]
        return [
            dumps_text([body.role, body.content, [call[::2] for call in body.calls], bool(body.is_error)])
            for body in source.bodies(ids)
        ]


def _options(left: str, right: str) -> list[contract.OptionChange]:
    old, new = (value if isinstance(value := loads(text), dict) else {} for text in (left, right))
    return [
        {
            "name": name,
            "left": dumps_text(old[name]) if name in old else None,
            "right": dumps_text(new[name]) if name in new else None,
        }
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name) or (name in old) != (name in new)
    ]
