"""From values to what the page is given: rows, heads and bodies of messages, diffs in runs, tools with their change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.diffing import Script
from weft.web.graph import Picture, Placed
from weft.web.texts import cut, gist_of
from weft.web.values import Body, Facts, Tool

__all__ = ["diff_of", "head_of", "items_of", "message_of", "part_of", "row_of", "tools_of_both"]

_RUN_ITEMS = 200  # of a run that is not folded


def row_of(picture: Picture, spot: Placed, facts: Facts) -> contract.GraphRow:
    """Give a row with its place."""
    return {
        "id": spot.id,
        "row": spot.row,
        "column": spot.column,
        "branch": spot.branch,
        "parent_id": spot.parent_id,
        "parent_row": picture.parent_row(spot),
        "merges": list(facts.merges),
        "new_branch": spot.new_branch,
        "isolated": spot.isolated,
        "child_id": picture.child.get(spot.id),
        "role": facts.role,
        "gist": facts.gist,
        "model": facts.model,
        "provider": facts.provider,
        "timestamp_ms": facts.timestamp_ms,
        "duration_ms": facts.duration_ms,
        "state": facts.state,
        "bookmarks": list(facts.bookmarks),
        "record_id": facts.record_id,
    }


def part_of(body: Body, part: str) -> str:
    """Give a message's text, or the arguments of one of its calls."""
    if part == "content":
        return body.content
    name, _, digits = part.partition("-")
    if name != "call" or not digits.isascii() or not digits.isdigit() or len(digits) > 6:
        raise RefusedError(400, "parameter", "part is content, or call-0, call-1, …")
    if int(digits) >= len(body.calls):
        raise RefusedError(404, "not_found", "no such call")
    return body.calls[int(digits)].arguments


def head_of(body: Body) -> contract.MessageHead:
    """Give a message without its body."""
    return {
        "id": body.id,
        "role": body.role,
        "gist": gist_of(body.content) if body.content or not body.calls else gist_of(_calls_gist(body)),
        "size": len(body.content),
        "lines": body.content.count("\n") + 1 if body.content else 0,
        "calls": [call.name for call in body.calls],
        "tool_use_id": body.tool_use_id,
        "is_error": body.is_error,
        "blobs": list(body.blobs),
    }


def _calls_gist(body: Body) -> str:
    return ", ".join(f"{call.name}({call.arguments[:200]})" for call in body.calls)


def message_of(body: Body, most: int) -> contract.Message:
    """Give a message, its long texts cut."""
    content, is_cut = cut(body.content, most)
    calls: list[contract.ToolCall] = []
    for call in body.calls:
        arguments, call_is_cut = cut(call.arguments, most)
        calls.append(
            {
                "name": call.name,
                "id": call.id,
                "arguments": arguments,
                "size": len(call.arguments),
                "is_cut": call_is_cut,
            }
        )
    return {
        "id": body.id,
        "role": body.role,
        "content": content,
        "size": len(body.content),
        "is_cut": is_cut,
        "tool_calls": calls,
        "tool_use_id": body.tool_use_id,
        "is_error": body.is_error,
        "blobs": list(body.blobs),
    }


Heads = Callable[[Sequence[str]], list[contract.MessageHead]]


def diff_of(script: Script, heads: Heads, *, deleted: Heads | None = None, whole: bool = False) -> contract.Diff:
    """Give a diff in runs; `deleted` knows the messages of the old side if another source does."""
    runs: list[contract.DiffRun] = []
    counts: dict[contract.DiffOp, int] = {"unchanged": 0, "added": 0, "deleted": 0}
    start = 0
    for op, ids in script:
        shown = ids if whole else () if op == "unchanged" else ids[:_RUN_ITEMS]
        look = deleted if deleted is not None and op == "deleted" else heads
        items: list[contract.DiffItem] = [{"op": op, "message": head} for head in look(shown)]
        runs.append({"op": op, "start": start, "count": len(ids), "items": items})
        counts[op] += len(ids)
        start += len(ids)
    return {
        "unchanged": counts["unchanged"],
        "added": counts["added"],
        "deleted": counts["deleted"],
        "runs": runs,
    }


def items_of(
    script: Script, start: int, count: int, heads: Heads, *, deleted: Heads | None = None
) -> contract.DiffItems:
    """Give a window of a diff."""
    items: list[contract.DiffItem] = []
    at = 0
    for op, ids in script:
        first, last = max(start - at, 0), min(start + count - at, len(ids))
        if first < last:
            look = deleted if deleted is not None and op == "deleted" else heads
            items += [{"op": op, "message": head} for head in look(ids[first:last])]
        at += len(ids)
    return {"total": at, "start": start, "items": items}


def tools_of_both(old: Sequence[Tool], new: Sequence[Tool]) -> list[contract.Tool]:
    """Give the tools of the new side, then those that only the old one has, each with its change."""
    before, now = {tool.id for tool in old}, {tool.id for tool in new}
    shown: list[contract.Tool] = [_tool(tool, "unchanged" if tool.id in before else "added") for tool in new]
    return [*shown, *(_tool(tool, "removed") for tool in old if tool.id not in now)]


def _tool(tool: Tool, change: contract.ToolChange) -> contract.Tool:
    return {
        "id": tool.id,
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "is_server_side": tool.is_server_side,
        "change": change,
    }
