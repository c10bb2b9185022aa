"""Resolved contexts in few words, for the tests of the turn face."""

from __future__ import annotations

from typing import Any

from weft.wire.turns import prepare_request

__all__ = ["ask", "assistant", "context", "document", "said", "user"]

Block = dict[str, Any]


def said(role: str, *content: Block | str, cache: bool = False) -> Block:
    """One message; a string stands for a text block."""
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    message: Block = {"role": role, "content": blocks}
    return {**message, "cache": True} if cache else message


def user(*content: Block | str, cache: bool = False) -> Block:
    return said("user", *content, cache=cache)


def assistant(*content: Block | str, cache: bool = False) -> Block:
    return said("assistant", *content, cache=cache)


def document(media_type: str, data: str) -> Block:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}


def context(*messages: Block, **options: Any) -> Block:
    return {"messages": list(messages), "options": options}


def ask(provider: str, asked: Block, **how: Any) -> list[Block]:
    """The messages of the prepared request."""
    body = prepare_request(provider, asked, **how)
    sent: list[Block] = body["contents" if provider == "gemini" else "messages"]
    return sent
