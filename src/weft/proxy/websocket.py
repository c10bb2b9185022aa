"""WebSocket messages (RFC 6455, 7692), read for the recording while their bytes pass by untouched [X-27]."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.trace import Capture

__all__ = ["FrameTap"]

_LARGEST = 16 << 20  # a message larger than this is left out of the recording
_CONTINUATION, _TEXT, _BINARY, _CLOSE = 0, 1, 2, 8


class FrameTap:
    """Listens to both directions of a WebSocket."""

    __slots__ = ("_capture", "_sides", "_told", "is_closed")

    def __init__(self, capture: Capture, response_lines: Sequence[bytes]) -> None:
        """Begin, knowing from the response whether messages are compressed."""
        said = b",".join(
            line for line in response_lines if line.lower().startswith(b"sec-websocket-extensions:")
        ).lower()
        deflates = b"permessage-deflate" in said
        self._capture = capture
        self._told: set[bool] = set()
        self.is_closed = False  # somebody said goodbye
        self._sides = {
            True: _Side(deflates=deflates, forgets=b"client_no_context_takeover" in said),
            False: _Side(deflates=deflates, forgets=b"server_no_context_takeover" in said),
        }

    def feed(self, data: bytes, *, from_client: bool) -> None:
        """Take bytes of one direction."""
        side = self._sides[from_client]
        for opcode, payload in side.feed(data):
            if opcode == _CLOSE:
                self.is_closed = True
            elif opcode in (_TEXT, _BINARY):
                self._capture.frame(from_client=from_client, is_text=opcode == _TEXT, payload=payload)
        if side.is_broken and from_client not in self._told:
            self._told.add(from_client)
            who = "client" if from_client else "server"
            self._capture.note(f"frames of the {who} after this are missing: {side.is_broken}")


class _Side:
    """One direction: finds frames, unmasks, joins fragments, inflates."""

    __slots__ = ("_buffer", "_forgets", "_inflate", "_message", "_opcode", "_squeezed", "is_broken")

    def __init__(self, *, deflates: bool, forgets: bool) -> None:
        self._buffer = b""
        self._message: list[bytes] = []
        self._opcode = 0
        self._squeezed = False
        self._inflate = zlib.decompressobj(-15) if deflates else None
        self._forgets = forgets
        self.is_broken = ""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Give the messages that are whole now."""
        if self.is_broken:
            return []
        buffer = self._buffer + data if self._buffer else data
        at = 0
        messages: list[tuple[int, bytes]] = []
        while (frame := self._frame(buffer, at)) is not None:
            first, payload, at = frame
            opcode = first & 0x0F
            if opcode >= _CLOSE:
                messages.append((opcode, payload))
                continue
            if opcode != _CONTINUATION:
                self._message, self._opcode, self._squeezed = [], opcode, bool(first & 0x40)
            self._message.append(payload)
            if first & 0x80:
                whole = self._whole()
                if whole is None:
                    break
                messages.append((self._opcode, whole))
        self._buffer = buffer[at:]
        return messages

    def _frame(self, buffer: bytes, at: int) -> tuple[int, bytes, int] | None:
        if len(buffer) - at < 2:
            return None
        first, second = buffer[at], buffer[at + 1]
        length, at = second & 0x7F, at + 2
        extra = {126: 2, 127: 8}.get(length, 0)
        masked = bool(second & 0x80)
        if len(buffer) - at < extra + 4 * masked:
            return None
        if extra:
            length = int.from_bytes(buffer[at : at + extra])
            at += extra
        if length > _LARGEST:
            self.is_broken = f"a frame of {length} bytes"
            return None
        mask = buffer[at : at + 4] if masked else b""
        at += 4 * masked
        if len(buffer) - at < length:
            return None
        payload = buffer[at : at + length]
        return first, _unmasked(payload, mask) if masked else payload, at + length

    def _whole(self) -> bytes | None:
        """Give the message that has come together; None if it cannot be read."""
        message = b"".join(self._message)
        self._message = []
        if not self._squeezed or self._inflate is None:
            return message
        try:
            plain = self._inflate.decompress(message + b"\x00\x00\xff\xff", _LARGEST)
        except zlib.error as problem:
            self.is_broken = str(problem)
            return None
        if self._inflate.unconsumed_tail:
            self.is_broken = "a compressed message is too large"
            return None
        if self._forgets:
            self._inflate = zlib.decompressobj(-15)
        return plain


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
