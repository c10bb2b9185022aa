"""What the simulator says no with: a status, the words, and what a provider puts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

__all__ = ["RefusedError", "listed", "refuse"]


@dataclass(slots=True)
class RefusedError(Exception):
    """A request is not answered. Each face writes it in its provider's own body.

    `message` empty stands for the provider's usual words for the status; `code` and `param` are OpenAI's, `kind` is
    the provider's name for the error where the status alone does not say it.
    """

    status: int
    message: str = ""
    code: str | None = None
    param: str | None = None
    kind: str | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None  # sent as it is, whatever the provider would say


def refuse(message: str, status: int = 400, **more: Any) -> NoReturn:
    """Refuse a request, unless told otherwise as the caller's mistake."""
    raise RefusedError(status, message, **more)


def listed(value: Any) -> list[Mapping[str, Any]]:
    """Give the objects in a list; what is neither is for the decoder to complain about."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
