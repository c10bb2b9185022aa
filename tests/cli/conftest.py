"""The command line for the tests of this folder."""

from __future__ import annotations

from tests.support.asking import sim, simulator
from tests.support.cli import weft

__all__ = ["sim", "simulator", "weft"]
