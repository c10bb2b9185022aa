"""How each entry point wants Gemini spoken, where it is particular to Gemini.

`Policy` says what the entry points want of every dialect. The four chapters differ here in more than that: in
where settings stand, what a system prompt is, and what becomes of a tool's output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from weft.wire.codec import Policy
from weft.wire.gemini.spelling import SNAKE

__all__ = ["Way", "way_of"]


@dataclass(frozen=True, slots=True)
class Way:
    """What one entry point wants. The defaults say back exactly what was heard."""

    as_given: bool = False  # the marks of a decoded request are honoured
    config: bool = False  # settings ride in `config`, as the SDK takes them; else REST's places
    snake: bool = False  # new keys in snake_case, and kept ones respelled
    system: Literal["content", "text", "texts"] = "content"  # one content; one joined text; a list of texts
    merge: Literal["marked", "results", "all"] = "marked"  # which neighbours of equal role become one content
    empty_text: Literal["send", "refuse", "drop"] = "send"  # "drop" only beside calls
    ids: bool = True  # ids of calls and results are sent
    results: Literal["mapping", "parsed", "item"] = "mapping"  # what becomes of a tool's output
    documents: Literal["data", "text"] = "data"  # "text": only what is no image or PDF goes as text
    remote: bool = True  # media may be named by address
    json_schema: bool = True  # tools whose schema is beyond Gemini's own subset go under the JSON Schema key
    answer_schema: str = ""  # the key for the schema of an answer; "" chooses by what the schema uses
    foreign_thinking: Literal["drop", "text"] = "drop"

    def spell(self, name: str) -> str:
        """Spell a new key."""
        return SNAKE[name] if self.snake else name


WAYS = {
    "faithful": Way(as_given=True),
    # model.md, sections 9 and 10
    "adapter": Way(config=True, system="text", merge="all", empty_text="refuse", answer_schema="responseSchema"),
    # message-codecs.md, section 4: W-12, W-13, W-16, W-17
    "step": Way(
        config=True,
        system="texts",
        merge="results",
        empty_text="drop",
        results="parsed",
        remote=False,
        answer_schema="responseJsonSchema",
    ),
    # threads.md, section 15: T-83 to T-86
    "turn": Way(ids=False, results="item", documents="text", json_schema=False),
}


def way_of(policy: Policy) -> Way:
    """Find the way of an entry point; casing and foreign thinking are the policy's own to say."""
    known = _KNOWN.get(policy.name)
    if known is not None and known[0] is policy:  # nearly always: policies are constants
        return known[1]
    way = WAYS.get(policy.name, WAYS["faithful"])
    if policy.name not in WAYS and policy.merge:
        way = replace(way, merge="all")
    way = replace(way, snake=policy.casing == "snake", foreign_thinking=policy.foreign_thinking)
    if policy.name in WAYS:
        _KNOWN[policy.name] = policy, way
    return way


_KNOWN: dict[str, tuple[Policy, Way]] = {}
