"""Scripts: a small TOML or JSON file that says how the simulator answers, rule by rule.

    keys = ["sk-good"]                      # any other key is refused; left out, any key will do

    [[rules]]
    when = { text = "how deep", provider = "anthropic" }
    steps = [
        { think = "The tool knows.", tools = [{ name = "depth", arguments = { pier = 4 } }] },
        { say = "At pier 4: {results}" },
    ]

The first rule that fits is used; its steps answer the rounds of one question.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from weft.errors import UsageError
from weft.jsontext import loads
from weft.sim.answer import Answer, Situation, answer_of, step_of

__all__ = ["Rule", "Script", "load_script"]

CACHE_MINIMUM = 1024  # tokens below which OpenAI and Anthropic cache nothing
WHEN = frozenset({"text", "matches", "model", "provider", "dialect", "round"})
SETTINGS = frozenset({"seed", "keys", "models", "cache_minimum", "requests_per_minute", "rules"})


@dataclass(frozen=True, slots=True)
class Rule:
    """When to answer so. Everything that is given must fit; nothing given fits always."""

    steps: tuple[Answer, ...]
    text: str | None = None  # is in the last question, in any case
    matches: re.Pattern[str] | None = None  # is found in the last question
    model: str | None = None  # with * and ? as in file names
    provider: str | None = None
    dialect: str | None = None
    round: int | None = None  # how often the question has been answered already

    @classmethod
    def read(cls, given: Any, where: str) -> Self:
        """Read one rule of a file."""
        if not isinstance(given, Mapping):
            raise UsageError(f"{where}: must be a table with `when` and `reply`")
        if unknown := sorted(set(given) - {"when", "reply", "steps"}):
            raise UsageError(f"{where}: no such setting: {unknown[0]}\n  known: when, reply, steps")
        when = given.get("when", {})
        if not isinstance(when, Mapping) or set(when) - WHEN:
            raise UsageError(f"{where}.when: must be a table of {', '.join(sorted(WHEN))}")
        steps = given.get("steps", [given["reply"]] if "reply" in given else None)
        if not isinstance(steps, list) or not steps or not all(isinstance(step, Mapping) for step in steps):
            raise UsageError(f"{where}: needs `reply`, a table, or `steps`, a list of them")
        try:
            pattern = re.compile(when["matches"]) if "matches" in when else None
        except (re.error, TypeError) as problem:
            raise UsageError(f"{where}.when.matches: not a regular expression: {problem}") from None
        return cls(
            tuple(answer_of(step, f"{where}.steps[{n}]") for n, step in enumerate(steps)),
            matches=pattern,
            **{key: when[key] for key in WHEN & set(when) if key != "matches"},
        )

    def fits(self, now: Situation, model: str, provider: str, dialect: str) -> bool:
        """Tell whether this rule is for this request."""
        return (
            (self.text is None or self.text.lower() in now.text.lower())
            and (self.matches is None or self.matches.search(now.text) is not None)
            and (self.model is None or fnmatchcase(model, self.model))
            and (self.provider is None or self.provider == provider)
            and (self.dialect is None or self.dialect == dialect)
            and (self.round is None or self.round == now.round)
        )


@dataclass(frozen=True, slots=True)
class Script:
    """How the simulator behaves; without anything, it takes any key and echoes."""

    rules: tuple[Rule, ...] = ()
    seed: str = "weft"  # of the signatures on reasoning
    keys: tuple[str, ...] | None = None  # the keys that are taken; None takes any
    models: tuple[str, ...] | None = None  # the models there are; None takes any
    cache_minimum: int = CACHE_MINIMUM
    requests_per_minute: int | None = None

    @classmethod
    def read(cls, given: Any, where: str = "script") -> Self:
        """Read a script from plain data."""
        if not isinstance(given, Mapping):
            raise UsageError(f"{where}: must be a table, not {type(given).__name__}")
        if unknown := sorted(set(given) - SETTINGS):
            raise UsageError(f"{where}: no such setting: {unknown[0]}\n  known: {', '.join(sorted(SETTINGS))}")
        rules = given.get("rules", [])
        if not isinstance(rules, list):
            raise UsageError(f"{where}.rules: must be a list of tables")
        more: dict[str, Any] = {key: tuple(given[key]) for key in ("keys", "models") if given.get(key) is not None}
        more |= {key: given[key] for key in ("seed", "cache_minimum", "requests_per_minute") if key in given}
        return cls(tuple(Rule.read(rule, f"{where}.rules[{n}]") for n, rule in enumerate(rules)), **more)

    def rule_for(self, now: Situation, model: str, provider: str, dialect: str) -> Answer | None:
        """Give what the first fitting rule answers, or None if none fits."""
        for rule in self.rules:
            if rule.fits(now, model, provider, dialect):
                return step_of(rule.steps, now.round)
        return None


def load_script(path: Path) -> Script:
    """Read a script from a file: JSON if it is called so, else TOML."""
    try:
        raw = path.read_bytes()
        given = loads(raw) if path.suffix == ".json" else tomllib.loads(raw.decode("utf-8"))
    except ValueError as problem:  # tomllib's and UnicodeDecodeError are ValueErrors
        raise UsageError(f"{path}: cannot be read: {problem}") from None
    return Script.read(given, path.name)
