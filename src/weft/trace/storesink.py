"""A store as the place recordings go: each batch of the recorder is one transaction, each run of it one session."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import TraceFormatError
from weft.ids import is_turn_id, new_id
from weft.jsontext import dumps
from weft.store import Draft, ExchangeWriter, NewExchange, open_frames
from weft.trace.keeping import new_exchange

if TYPE_CHECKING:
    from weft.trace.capture import Capture

__all__ = ["BLOB", "StoreSink"]

BLOB = "weft.blob"  # topic of the frames that hold bytes no JSON text can
_SESSION = re.compile(r"#session=(\w+)$")


class StoreSink:
    """Where a recorder's finished captures go when its output is a store.

    The address may end in `#session=ID`, to go on with a session: so another process can write to the same one.
    """

    def __init__(self, output: str, *, journal: Path | None = None, meta: Mapping[str, Any] | None = None) -> None:
        """Open the store. `meta` says what the session is of, `journal` where the recorder keeps what is under way."""
        named = _SESSION.search(output)
        address = _SESSION.sub("", output)
        self.frames = open_frames(address)
        self.session_id = named[1].lower() if named and is_turn_id(named[1]) else new_id()
        self.output = f"{self.frames.url}#session={self.session_id}"
        self.journal = journal or self._journal_of(address)
        self._writer = ExchangeWriter(self.frames, self.session_id, meta or {"kind": "proxy"})
        self.count = 0

    def write(self, batch: Sequence[Capture]) -> None:
        """Keep captures; durable when this returns. One that is there already is not kept again."""
        new = [_new(one.line(self._keep), f"capture:{one.id}", one.id) for one in batch]
        self.count += sum(number is not None for number in self._writer.add(new))

    def note(self, **meta: Any) -> None:
        """Say something about the session, such as what was run or how it ended."""
        self._writer.note(meta)

    def close(self) -> None:
        """Let go of the store."""
        self.frames.close()

    def _keep(self, data: bytes, media_type: str) -> Mapping[str, Any]:
        """Keep bytes that are no text as the payload of a frame of their own, stored once."""
        about = {"media_type": media_type, "size_bytes": len(data)}
        frame_id = self.frames.write(lambda writer: writer.append(Draft(BLOB, about, data))[0])
        return {"sha256": hashlib.sha256(data).hexdigest(), **about, "id": frame_id}

    def _journal_of(self, address: str) -> Path:
        if self.frames.folder is not None:
            return self.frames.folder / "recording"
        # A server has no folder for it: what is under way is kept on this machine.
        from platformdirs import user_state_path  # noqa: PLC0415

        name = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return user_state_path("weft", appauthor=False) / "recording" / name


def _new(line: bytes, token: str, name: str) -> NewExchange:
    """Take a line apart; one that is nested past all reading is kept whole, as text [J-01]."""
    try:
        return new_exchange(line, token=token)
    except TraceFormatError as problem:
        raw = dumps({"raw": line.decode("utf-8", "replace")})
        return NewExchange(token, name, {"id": name, "notes": [f"unparsed: {problem}"]}, raw, None)
