"""A store and a simulator for the tests of this folder."""

from __future__ import annotations

from tests.support.chatting import simulator, talk
from tests.support.stores import sqlite_store

__all__ = ["simulator", "sqlite_store", "talk"]
