"""Whether a tool may run: the four answers of a person, what they cover, and what stands in without one.

    yes                         run it
    no: do something different  do not; the text that follows goes back as its result
    no                          stop here
    activate: yolo              yes, and to everything after it in this process

[T-62 to T-65, M-10 to M-13]. Nothing is remembered on disk, and a grant is for one tool as it was described then.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from weft.errors import UsageError
from weft.jsontext import dumps
from weft.tools.names import Route
from weft.tools.visible import hidden_marks, reveal, reveal_line

__all__ = ["Approval", "Choice", "Decision", "Policy", "Question", "ToolInfo", "is_yolo"]

TRUE = frozenset({"1", "true", "yes", "on"})
YOLO_VARIABLE = "WEFT_YOLO"


class Choice(StrEnum):
    """The four answers, as they are offered, and the one given when nobody can be asked."""

    YES = "yes"
    DIFFERENT = "no: do something different"
    NO = "no"
    YOLO = "activate: yolo"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer: `text` goes with DIFFERENT and REFUSED, `remember` with YES: no more questions for this tool."""

    choice: Choice
    text: str = ""
    remember: bool = False

    @property
    def runs(self) -> bool:
        """Whether the tool is to be run."""
        return self.choice in {Choice.YES, Choice.YOLO}


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool as its server describes it."""

    shown: str
    route: Route
    listed: Mapping[str, Any] = field(hash=False)

    @property
    def description(self) -> str:
        """What the server says it does."""
        text = self.listed.get("description")
        return text if isinstance(text, str) else ""

    def fingerprint(self) -> str:
        """Hash all that is said about it; what changes this voids a grant [M-10]."""
        return hashlib.sha256(dumps(_sorted(self.listed))).hexdigest()

    def hidden(self) -> tuple[str, ...]:
        """Name the characters in its description and schema that a reader would not see [M-11]."""
        return hidden_marks(_texts(self.listed))


@dataclass(frozen=True, slots=True)
class Question:
    """One call that wants to run."""

    tool: ToolInfo
    arguments: Mapping[str, Any] = field(hash=False)
    changes: str = ""  # since it was last approved
    call_id: str | None = None

    def text(self) -> str:
        """Write all a person needs to decide, in full, with nothing hidden."""
        server = f"server {self.tool.route.server}" if self.tool.route.server is not None else "a Python function"
        lines = [f"tool: {reveal_line(self.tool.route.tool)} ({server}), called as {self.tool.shown}"]
        if marks := self.tool.hidden():
            lines.append(f"warning: its description has characters that do not show: {' '.join(marks)}")
        if self.tool.description:
            lines += ["description:", _indented(reveal(self.tool.description))]
        if self.changes:
            lines += ["changed since it was last approved:", _indented(self.changes)]
        arguments = json.dumps(self.arguments, indent=2, ensure_ascii=False, default=dict)
        lines += ["arguments:", _indented(reveal(arguments))]
        return "\n".join(lines)


Answer = Decision | Choice | str | bool
Policy = Literal["all", "none"] | Callable[[Question], Answer | Awaitable[Answer]]


def is_yolo(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment approves everything [T-62]."""
    return environ.get(YOLO_VARIABLE, "").strip().lower() in TRUE


class Approval:
    """Decides call by call, for one running process."""

    def __init__(
        self, policy: Policy = "none", *, yolo: bool = False, say: Callable[[str], None] | None = None
    ) -> None:
        """Ask by `policy`: a function that is given a Question, or `all`, or `none` (the default) [T-65]."""
        if not callable(policy) and policy not in {"all", "none"}:
            raise UsageError(f"approve is all, none or a function, not {policy!r}")
        self._policy = policy
        self._say = say or (lambda _: None)
        self._yolo = yolo
        self._grants: dict[Route, str] = {}
        self._seen: dict[Route, Mapping[str, Any]] = {}  # as it was when it last ran or was granted
        if yolo:
            self._say("yolo: every tool call runs without being asked about")

    @property
    def yolo(self) -> bool:
        """Whether everything runs unasked."""
        return self._yolo

    def grant(self, tool: ToolInfo) -> None:
        """Let a tool run unasked from now on, as it is described now."""
        self._grants[tool.route] = tool.fingerprint()
        self._seen[tool.route] = tool.listed

    def granted(self, tool: ToolInfo) -> bool:
        """Tell whether a grant covers the tool as it is described now."""
        return self._grants.get(tool.route) == tool.fingerprint() and not tool.hidden()

    async def decide(self, tool: ToolInfo, arguments: Mapping[str, Any], *, call_id: str | None = None) -> Decision:
        """Answer one call."""
        before = self._seen.get(tool.route)
        changes = _difference(before, tool.listed) if before is not None else ""
        if changes and self._grants.pop(tool.route, None) is not None:
            self._say(f"{tool.shown} is not what was approved any more; the approval is void\n{_indented(changes)}")
        decision = self._standing(tool)
        if decision is None:
            decision = await self._ask(Question(tool, arguments, changes, call_id))
        if decision.choice is Choice.YOLO and not self._yolo:
            self._yolo = True
            self._say("yolo: from now on every tool call runs without being asked about")
        if decision.runs:
            self._seen[tool.route] = tool.listed
            if decision.remember:
                self.grant(tool)
        return decision

    def _standing(self, tool: ToolInfo) -> Decision | None:
        """Give the answer that needs no question, if there is one; what hides text is always asked about [M-11]."""
        if marks := tool.hidden():
            return (
                None
                if callable(self._policy)
                else Decision(
                    Choice.REFUSED,
                    f"{tool.shown} describes itself with characters that do not show ({' '.join(marks)})",
                )
            )
        if self._yolo or self._policy == "all" or self.granted(tool):
            return Decision(Choice.YES)
        return None

    async def _ask(self, question: Question) -> Decision:
        if not callable(self._policy):
            return Decision(Choice.REFUSED, f"{question.tool.shown} was not run: nobody approved it")
        answer = self._policy(question)
        if inspect.isawaitable(answer):
            answer = await answer
        match answer:
            case Decision():
                return answer
            case bool():
                return Decision(Choice.YES if answer else Choice.NO)
            case str() if answer in set(Choice):
                return Decision(Choice(answer))
        raise UsageError(f"an approval is one of {', '.join(map(repr, Choice))}, not {answer!r}")


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def _texts(value: Any) -> str:
    if isinstance(value, Mapping):
        return "".join(f"{key}{_texts(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "".join(map(_texts, value))
    return value if isinstance(value, str) else ""


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if _sorted(before) == _sorted(now):
        return ""
    was, is_now = (json.dumps(_sorted(side), indent=1, ensure_ascii=False).splitlines() for side in (before, now))
    lines = difflib.unified_diff(was, is_now, lineterm="", n=0)
    return "\n".join(reveal_line(line) for line in lines if not line.startswith(("---", "+++", "@@")))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
