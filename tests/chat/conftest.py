"""A store and a simulator for the tests of this folder."""

from __future__ import annotations

from tests.support.chatting import simulator, talk

__all__ = ["simulator", "talk"]
