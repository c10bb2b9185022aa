"""Content blocks as lines that people read: text, calls, answers, pictures, and whatever providers think of next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from weft.cli.render import json_text, size_text, visible

__all__ = ["block_lines"]


def block_lines(block: Any) -> Iterator[str]:
    """Give a block as text that is safe to show."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield visible(text)
        case {"type": "thinking", "thinking": str(text)}:
            yield click.style("thinking", dim=True)
            yield visible(text)
        case {"type": "tool_use" | "server_tool_use", "name": name, **rest}:
            yield f"{click.style('calls', bold=True)} {visible(str(name))}{_tag(rest.get('id'))}"
            yield json_text(rest.get("input"))
        case {"type": "tool_result", **rest}:
            outcome = click.style("failed", fg="red", bold=True) if rest.get("is_error") is True else "answered"
            name = click.style(visible(str(rest.get("name") or "tool")), bold=True)
            yield f"{name} {outcome}{_tag(rest.get('tool_use_id'))}"
            content = rest.get("content")
            for item in content if isinstance(content, list) else [{"type": "text", "text": str(content)}]:
                yield from block_lines(item)
        case {"type": str(kind), "source": {"type": "base64", "media_type": media_type, "data": str(data)}}:
            yield f"[{visible(kind)}, {visible(str(media_type))}, {size_text(len(data) * 3 // 4)}]"
        case _:
            yield json_text(block)


def _tag(call_id: Any) -> str:
    return click.style(f"  {visible(str(call_id))}", dim=True) if call_id else ""
