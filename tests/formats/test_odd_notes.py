"""Notes in `extras` that are not as their format writes them: the file may have been edited, or made by anyone.

What they say is lost and told, or a WeftError says what is wrong; a writer never falls over them.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import weft.formats
from weft.canon import UNTIMED, Entry, Message, Part, Role, Session, Stray, Transcript
from weft.errors import WeftError
from weft.formats import Format, formats

FOLDER = Path(weft.formats.__file__).parent
WORDS = {path.stem: re.findall(r'"([A-Za-z_]{2,24})"', path.read_text("utf-8")) for path in FOLDER.glob("*.py")}
FILES = {"openai-finetuning": "finetuning"}
ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")


class Odd:
    """Values of any shape under the names that a format itself uses."""

    def __init__(self, name: str, seed: int) -> None:
        """Choose by `seed`."""
        stem = FILES.get(name, name.replace("-", "_"))
        self.name = name
        self.words = sorted({word for file, words in WORDS.items() if file.startswith(stem) for word in words})
        self.chance = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        match self.chance.randrange(8 if depth < 4 else 5):
            case 5 | 6:
                return [self.value(depth + 1) for _ in range(self.chance.randrange(4))]
            case 7:
                return self.object(depth + 1)
        return self.chance.choice([None, 0, 2.5, True, 10**30, "", "x", "2026-01-01T00:00:00Z", "\ud800"])

    def object(self, depth: int = 0) -> dict[str, Any]:
        return {self.chance.choice(self.words): self.value(depth) for _ in range(self.chance.randrange(5))}

    def part(self) -> Part:
        json, raw = self.object() or None, self.object() or None
        return self.chance.choice(
            [
                Part("text", "high tide"),
                Part("thinking", "hm", json=json, provider_raw=raw),
                Part("tool_call", tool_call_id="c", tool_name="t", tool_args={"a": 1}, provider_raw=raw),
                Part("tool_result", tool_call_id="c", tool_output=self.value(), json=json),
                Part("image", json=json, provider_raw=raw),
                Part("provider", json=json, provider_raw=raw),
                Part("annotation", json=json),
            ]
        )

    def notes(self) -> dict[str, Any]:
        return {self.name: self.object() if self.chance.random() < 0.8 else self.value()}

    def transcript(self) -> Transcript:
        entries = []
        for number in range(1, 4):
            parts = [self.part() for _ in range(self.chance.randrange(3))]
            provider = self.chance.choice([None, "anthropic", "openai"])
            message = Message(self.chance.choice(ROLES), parts, None, provider, None, UNTIMED)
            above = (str(number - 1),) if number > 1 else ()
            entries.append(Entry(str(number), message, above, extras=self.notes()))
        strays = (Stray(self.name, '{"type":"x"}'), Stray(self.name, '{"payload":5}', 1))
        return Transcript(tuple(entries), Session(extras=self.notes(), parameters=self.object()), strays=strays)


WRITTEN = [kind for kind in formats() if kind.write is not None]


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.name)
def test_odd_notes_never_make_a_writer_fall(kind: Format) -> None:
    """The third law of formats: a result or a WeftError, never a crash."""
    for seed in range(30):
        with suppress(WeftError):
            kind.dump(Odd(kind.name, seed).transcript())


@pytest.mark.soak
@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.name)
def test_odd_notes_of_many_shapes_never_make_a_writer_fall(kind: Format) -> None:
    """The third law of formats, with more shapes."""
    for seed in range(1000, 4000):
        with suppress(WeftError):
            kind.dump(Odd(kind.name, seed).transcript())
