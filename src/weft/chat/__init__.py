"""The loop: resolve a thread, call, append, run tools, again. And what of a repository is put before a model.

The front door of the room. `Chat` is what a program or a command line asks with.
"""

from __future__ import annotations

from weft.chat.captured import Captured, plan_captured, pointer_of
from weft.chat.loop import Called, Chat, Outcome, tool_calls
from weft.chat.mend import NOT_RUN, Mended, mend
from weft.chat.repo import repo_context
from weft.chat.request import Prepared, prepare
from weft.chat.underway import recover

__all__ = [
    "NOT_RUN",
    "Called",
    "Captured",
    "Chat",
    "Mended",
    "Outcome",
    "Prepared",
    "mend",
    "plan_captured",
    "pointer_of",
    "prepare",
    "recover",
    "repo_context",
    "tool_calls",
]
