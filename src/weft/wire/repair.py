"""Mending what a target would refuse: tool calls and results that do not match, and ids it will not take.

Providers agree on one thing: every call is answered, by results that follow at once, each naming a call. Threads
that were cut, merged, edited or begun elsewhere break that. `repair` puts it right and says what it did; a sound
conversation, which nearly all are, is looked through once and given back as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.canon import Message, Part, output_text
from weft.wire.facts import facts_of

__all__ = ["IdRule", "Repaired", "repair"]

UNANSWERED = "No result was recorded for this call."

_Place = tuple[int, int]  # of a part: the index of its message, and its own in there
_WRITTEN_PLACE = re.compile(r"context\.messages\[(\d+)\](?:\.parts\[(\d+)\])?")


@dataclass(frozen=True, slots=True)
class IdRule:
    """Which tool call ids a target takes."""

    pattern: re.Pattern[str] = re.compile(r".+", re.DOTALL)
    longest: int = 10_000
    needed: bool = True  # whether a call and its result must have one

    def takes(self, call_id: str) -> bool:
        """Tell whether an id may be sent as it is."""
        return len(call_id) <= self.longest and self.pattern.fullmatch(call_id) is not None

    def mend(self, call_id: str) -> str:
        """Give an id the target takes; the same one for the same id, and another for another."""
        digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
        stem = re.sub(r"[^0-9A-Za-z]", "_", call_id)[: max(0, min(self.longest, 40) - 9)]
        made = f"{stem}_{digest[:8]}"
        return made if self.takes(made) else digest[: self.longest]


class Repaired(NamedTuple):
    """A conversation the target will take, a sentence for each mend, and where everything stood before."""

    messages: Sequence[Message]
    mends: list[str]
    origins: list[tuple[int, list[_Place]]] | None = None  # of each message: its old index, its parts' old places
    stand_ins: frozenset[str] = frozenset()  # places of the results that were made up

    def as_given(self, text: str) -> str:
        """Rewrite the places in a sentence to those of the conversation as it was given."""
        origins = self.origins
        if origins is None:
            return text

        def old(found: re.Match[str]) -> str:
            m, places = origins[int(found[1])]
            if found[2] is None:
                return f"context.messages[{m}]"
            m, p = places[int(found[2])]
            return f"context.messages[{m}].parts[{p}]"

        return _WRITTEN_PLACE.sub(old, text)


def repair(messages: Sequence[Message], rule: IdRule, *, keeps_orphans: bool = False) -> Repaired:
    """Give a conversation the target will take; a sound one as it is.

    `keeps_orphans`: the provider remembers the calls itself, so a result without one is not an orphan.
    """
    if _is_sound(messages, rule, keeps_orphans):
        return Repaired(messages, [])
    return _Mender(messages, rule, keeps_orphans).mend()


def _is_sound(messages: Sequence[Message], rule: IdRule, keeps_orphans: bool) -> bool:
    seen: set[str] = set()
    waiting: list[str | None] = []
    for message in messages:
        _, calls, results = facts_of(message)
        if message.role == "tool":
            for call_id in results:
                if waiting and call_id == waiting[0]:
                    del waiting[0]
                elif not keeps_orphans or waiting or not call_id:
                    return False
            continue
        if waiting:
            return False
        if not calls or message.role != "assistant":
            continue
        for call_id in calls:
            if call_id:
                if call_id in seen or not rule.takes(call_id):
                    return False
                seen.add(call_id)
            elif rule.needed:
                return False
            waiting.append(call_id)
    return not waiting


def _pair(messages: Sequence[Message]) -> dict[_Place, _Place]:
    """Find the result of each call.

    A result answers the latest call before it that has its id and no answer yet; one without an id, the earliest
    unanswered call of its name [T-90]. What is left over may answer a call that comes after it.
    """
    answers: dict[_Place, _Place] = {}
    unanswered: dict[_Place, Part] = {}
    by_id: dict[str, list[_Place]] = {}
    orphans: list[tuple[_Place, Part]] = []
    for m, message in enumerate(messages):
        for p, part in enumerate(message.parts):
            if part.type == "tool_call" and message.role == "assistant":
                unanswered[m, p] = part
                by_id.setdefault(part.tool_call_id or "", []).append((m, p))
            elif part.type == "tool_result" and message.role == "tool":
                call = _called(part, unanswered, by_id)
                if call is None:
                    orphans.append(((m, p), part))
                else:
                    answers[call] = (m, p)
                    _settle(call, unanswered, by_id)
    for place, part in orphans:
        calls = by_id.get(part.tool_call_id or "") if part.tool_call_id else None
        if calls:
            answers[calls[0]] = place
            _settle(calls[0], unanswered, by_id)
    return answers


def _called(result: Part, unanswered: dict[_Place, Part], by_id: dict[str, list[_Place]]) -> _Place | None:
    if result.tool_call_id:
        calls = by_id.get(result.tool_call_id)
        return next((call for call in calls if call[0] == calls[-1][0]), None) if calls else None
    name = result.tool_name
    return next((place for place, call in unanswered.items() if name is None or call.tool_name == name), None)


def _settle(call: _Place, unanswered: dict[_Place, Part], by_id: dict[str, list[_Place]]) -> None:
    by_id[unanswered.pop(call).tool_call_id or ""].remove(call)


class _Mender:
    """One pass over a conversation that is not sound."""

    def __init__(self, messages: Sequence[Message], rule: IdRule, keeps_orphans: bool) -> None:
        self._messages = messages
        self._rule = rule
        self._keeps_orphans = keeps_orphans
        self._answers = _pair(messages)
        self._claimed = set(self._answers.values())
        self._given = {part.tool_call_id for message in messages for part in message.parts if part.tool_call_id}
        self._used: set[str] = set()
        self._done: set[int] = set()  # messages that are written already, right after their calls
        self._mended: list[Message] = []
        self._origins: list[tuple[int, list[_Place]]] = []
        self._mends: list[str] = []
        self._stand_ins: list[str] = []

    def mend(self) -> Repaired:
        for m, message in enumerate(self._messages):
            if m in self._done:
                continue
            if message.role == "tool":
                self._leave(m, message)
            elif message.role == "assistant" and any(part.type == "tool_call" for part in message.parts):
                self._ask(m, message)
            else:
                self._write(message, m, [(m, p) for p in range(len(message.parts))])
        return Repaired(self._mended, self._mends, self._origins, frozenset(self._stand_ins))

    def _write(self, message: Message, m: int, places: list[_Place]) -> None:
        self._mended.append(message)
        self._origins.append((m, places))

    def _note(self, m: int, what: str) -> None:
        self._mends.append(f"context.messages[{m}]: {what}")

    def _ask(self, m: int, message: Message) -> None:
        """Write a message with calls, and their results right after it."""
        ids = {
            (m, p): self._legal_id(m, part)
            for p, part in enumerate(message.parts)
            if part.type == "tool_call" and not self._is_hopeless(m, p, part)
        }
        parts = [
            replace(part, tool_call_id=ids[m, p]) if (m, p) in ids else part for p, part in enumerate(message.parts)
        ]
        self._write(replace(message, parts=tuple(parts)), m, [(m, p) for p in range(len(parts))])
        following = self._following(m)
        there = [
            (k, p) for k in following for p, part in enumerate(self._messages[k].parts) if part.type == "tool_result"
        ]
        wanted = [self._answers.get(call) for call in ids]
        if not ids:
            return
        if wanted == there:
            self._keep(following, {place: ids[call] for call, place in self._answers.items() if call in ids})
        else:
            self._gather(m, ids)

    def _is_hopeless(self, m: int, p: int, call: Part) -> bool:
        """Tell of a call that it has neither id nor result: it cannot be mended, and the dialect will leave it out."""
        return self._rule.needed and not call.tool_call_id and (m, p) not in self._answers

    def _following(self, m: int) -> list[int]:
        """Give the tool messages right after a message."""
        end = m + 1
        while end < len(self._messages) and self._messages[end].role == "tool":
            end += 1
        return list(range(m + 1, end))

    def _keep(self, following: list[int], ids: dict[_Place, str | None]) -> None:
        """Write results that stand where they should; only their ids may be others now."""
        for k in following:
            message = self._messages[k]
            parts = [
                replace(part, tool_call_id=ids[k, p]) if (k, p) in ids else part for p, part in enumerate(message.parts)
            ]
            self._write(replace(message, parts=tuple(parts)), k, [(k, p) for p in range(len(parts))])
            self._done.add(k)

    def _gather(self, m: int, ids: dict[_Place, str | None]) -> None:
        """Write one message of results, in call order; a call without one gets a stand-in."""
        parts: list[Part] = []
        places: list[_Place] = []
        home = m
        for call, call_id in ids.items():
            place = self._answers.get(call)
            if place is None:
                self._stand_ins.append(f"context.messages[{len(self._mended)}].parts[{len(parts)}]")
                parts.append(self._stand_in(m, self._messages[m].parts[call[1]], call_id))
                places.append(call)
                continue
            home = place[0]
            parts.append(replace(self._messages[home].parts[place[1]], tool_call_id=call_id))
            places.append(place)
        if home != m:
            self._note(m, "its tool results are sent right after it, in the order of the calls")
            marks = [p for p, part in enumerate(self._messages[home].parts) if part.type == "annotation"][-1:]
            parts += [self._messages[home].parts[p] for p in marks]
            places += [(home, p) for p in marks]
        base = self._messages[home]
        answer = Message("tool", parts, provider=base.provider, turn_id=base.turn_id, timestamp=base.timestamp)
        self._write(answer, home, places)

    def _stand_in(self, m: int, call: Part, call_id: str | None) -> Part:
        self._note(m, f"tool call {call_id or call.tool_name!r} has no result; one that says so is sent")
        return Part(
            "tool_result",
            tool_call_id=call_id,
            tool_name=call.tool_name,
            tool_output=UNANSWERED,
            provider_raw={"is_error": True},
        )

    def _legal_id(self, m: int, call: Part) -> str | None:
        given = call.tool_call_id or ""
        if not given and not self._rule.needed:
            return None
        call_id, number = given, len(self._used)
        while not call_id or (call_id != given and call_id in self._given):
            number += 1
            call_id = f"call_{number}"
        if not self._rule.takes(call_id):
            call_id = self._rule.mend(call_id)
        while call_id in self._used:
            number += 1
            call_id = self._rule.mend(f"{call_id}#{number}")
        self._used.add(call_id)
        if call_id != given:
            why = "missing" if not given else "used twice" if self._rule.takes(given) else "not accepted by the target"
            self._note(m, f"tool call id {given!r} is {why}; {call_id!r} is sent")
        return call_id

    def _leave(self, m: int, message: Message) -> None:
        """Write what of a tool message answered no call: as text, since as results it would be refused."""
        left = [(p, part) for p, part in enumerate(message.parts) if (m, p) not in self._claimed]
        if all(part.type == "annotation" for _, part in left):
            return
        if self._keeps_orphans:
            self._write_some(message, m, left)
            return
        # A result without an id is left as it is where ids are needed: the dialect leaves it out, and says so.
        hopeless = [(p, part) for p, part in left if self._rule.needed and _is_nameless(part)]
        if hopeless:
            self._write_some(message, m, hopeless)
        others = [
            (p, self._as_text(m, part) if part.type == "tool_result" else part)
            for p, part in left
            if not (self._rule.needed and _is_nameless(part))
        ]
        if any(part.type != "annotation" for _, part in others):
            self._write_some(replace(message, role="user"), m, others)

    def _write_some(self, message: Message, m: int, parts: list[tuple[int, Part]]) -> None:
        self._write(replace(message, parts=tuple(part for _, part in parts)), m, [(m, p) for p, _ in parts])

    def _as_text(self, m: int, result: Part) -> Part:
        self._note(m, f"tool result {result.tool_call_id!r} answers no call; it is sent as text")
        named = f" of {result.tool_name}" if result.tool_name else ""
        return Part("text", f"Result{named} (call {result.tool_call_id}): {output_text(result.tool_output)}")


def _is_nameless(part: Part) -> bool:
    return part.type == "tool_result" and not part.tool_call_id
