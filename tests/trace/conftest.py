"""Stores and simulators for the tests of this folder."""

from __future__ import annotations

from tests.support.stores import sqlite_store, store, store_url

__all__ = ["sqlite_store", "store", "store_url"]
