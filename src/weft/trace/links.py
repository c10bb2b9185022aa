"""What requests say themselves about where they belong: the answer they continue, the conversation, the session.

Told beside the forest, not mixed into it: section 8 finds parents by content alone. With `--links` a response id or a
conversation decides, and a session's own requests are preferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from weft.trace.cooked import Link

__all__ = ["Ties", "links_of", "ties_of"]


class Ties(NamedTuple):
    """The ids in a record that tie it to others; empty where it has none."""

    answer: str = ""  # the id of its own response
    continues: str = ""
    conversation: str = ""
    session: str = ""


_NONE = Ties()


class Tied(Protocol):
    """What has ties."""

    id: str
    index: int
    ties: Ties


def ties_of(record: Mapping[str, Any], request: Mapping[str, Any], body: Mapping[str, Any]) -> Ties:
    """Find the ids in a record. Headers are not recorded, so a session is what the body says of one."""
    conversation = request.get("conversation")
    if isinstance(conversation, Mapping):
        conversation = conversation.get("id")
    metadata = request.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    sessions = (
        record.get("session"),
        metadata.get("session_id"),
        request.get("session_id"),
        request.get("prompt_cache_key"),
        metadata.get("user_id"),
    )
    found = Ties(
        _text(body.get("id")),
        _text(request.get("previous_response_id")),
        _text(conversation),
        next((each for each in map(_text, sessions) if each), ""),
    )
    return found if any(found) else _NONE


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def links_of(requests: Iterable[Tied]) -> dict[int, tuple[Link, ...]]:
    """Give the links of the requests that have any, by index, with the earlier request each means."""
    answers: dict[str, str] = {}
    conversations: dict[str, str] = {}
    sessions: dict[str, str] = {}
    found = {}
    for request in requests:  # in order of time
        ties = request.ties
        if ties is _NONE:
            continue
        links = []
        if ties.continues:
            links.append(Link("response", ties.continues, answers.get(ties.continues)))
        if ties.conversation:
            links.append(Link("conversation", ties.conversation, conversations.get(ties.conversation)))
            conversations[ties.conversation] = request.id
        if ties.session:
            links.append(Link("session", ties.session, sessions.get(ties.session)))
            sessions[ties.session] = request.id
        if ties.answer:
            answers[ties.answer] = request.id
        if links:
            found[request.index] = tuple(links)
    return found
