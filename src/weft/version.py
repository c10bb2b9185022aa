"""The version of weft, alone in its file so that asking for it loads nothing else."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
