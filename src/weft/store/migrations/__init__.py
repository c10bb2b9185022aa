"""The tables of each backend, version by version.

A version is a list of statements that takes the version before it one step on, in one transaction. Released steps are
frozen: a change is a new step.
"""

from __future__ import annotations

from weft.store.migrations import postgres_steps, sqlite_steps

__all__ = ["POSTGRES", "SQLITE"]

SQLITE = sqlite_steps.STEPS
POSTGRES = postgres_steps.STEPS
