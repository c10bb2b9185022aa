"""How long and how much a tool server may: every wait has an end, every buffer a size [M-03 to M-08]."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one connection; the defaults are those of the hardening rules, tests use shorter ones."""

    start_s: float = 30.0  # until initialised [M-03]
    call_s: float = 60.0  # of a call without progress [M-04]
    hard_s: float = 600.0  # of a call, whatever the progress [M-04]
    leave_s: float = 0.5  # for a server to go by itself once its stdin is closed
    term_s: float = 2.0  # between TERM and KILL [M-03]
    message_bytes: int = 16 * MIB  # of a message in memory [M-06]
    spill_bytes: int = 256 * MIB  # of a message on disk, where a great result waits to be kept as a blob [M-08]
    stderr_bytes: int = 64 * KIB  # of its last words [M-07]
    result_chars: int = 256 * KIB  # of text a model is given from one result; the rest is in a blob [M-08]
    pages: int = 100  # of a list of tools, each with a cursor to the next
