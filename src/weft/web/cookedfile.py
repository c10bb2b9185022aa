"""A cooked file as a source: shown as it is [C-15]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from weft.errors import CodecError, UsageError
from weft.jsontext import dumps
from weft.trace import Cooked, CookedRequest
from weft.web import contract
from weft.web.cookedrows import CookedRows

__all__ = ["CookedSource"]

_PROBLEMS = 20


class CookedSource(CookedRows):
    """A file that `weft cook` wrote, or another program. Its ids are anybody's, so rows and messages get new ones."""

    kind: ClassVar[contract.SourceKind] = "cooked"

    def __init__(self, source_id: str, name: str, value: Mapping[str, Any]) -> None:
        """Read a cooked file."""
        super().__init__(source_id, name)
        try:
            cooked = Cooked.from_dict(value)
        except CodecError as error:
            raise UsageError(f"{name} is not a cooked trace: {error}") from None
        self._value = value
        messages = {message.id: f"m{number}" for number, message in enumerate(cooked.messages)}
        tools = {tool.id: f"t{number}" for number, tool in enumerate(cooked.tools)}
        requests = [self._renamed(request, messages, tools) for request in cooked.requests]
        requests.sort(key=lambda request: request.timestamp)
        self.take(Cooked(cooked.messages, cooked.tools, requests), lambda place, _request: place)
        self._first: dict[str, str] = {}
        for row_id, request in self._requests.items():
            for message_id in (*request.request_messages, *request.response_messages):
                self._first.setdefault(message_id, row_id)

    def _renamed(self, request: CookedRequest, messages: Mapping[str, str], tools: Mapping[str, str]) -> CookedRequest:
        def known(ids: Sequence[Any], names: Mapping[str, str]) -> list[str]:
            found = [names[each] for each in ids if isinstance(each, str) and each in names]
            if len(found) < len(ids) and len(self.problems) < _PROBLEMS:
                self.problems.append(f"request {request.id} names messages or tools that are not in the file")
            return found

        return replace(
            request,
            id=str(request.id),
            timestamp=_whole(request.timestamp),
            duration_ms=_whole(request.duration_ms),
            model=str(request.model),
            request_messages=known(request.request_messages, messages),
            response_messages=known(request.response_messages, messages),
            tools=known(request.tools, tools),
        )

    @property
    def version(self) -> int:
        """A file that does not change."""
        return 1

    def first_row_of(self, number: int) -> str | None:
        """Give the first row that has a message."""
        return self._first.get(f"m{number}")

    def cooked(self) -> bytes:
        """Give the file."""
        return dumps(self._value)


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 1e15 else 0
