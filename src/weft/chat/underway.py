"""Calls under way, and those whose process died: each holds something, so that nothing that arrived is lost.

A killed process leaves its lock; whoever asks next finds it free, and makes of the events in the log what the call
would have: an unfinished turn, or an error [T-56, D-05]. In a store in a folder that is a small locked file, with who
was called in it. A store on a server has no folder: there it is a lock of the server's, and who was called is in the
log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from weft.canon import read_arguments, thaw
from weft.chat.record import CALL, ERROR, RECV, append_frame
from weft.errors import StoreError, TurnNotFoundError
from weft.ids import is_turn_id
from weft.jsontext import dumps, loads
from weft.store import Frame, Hold, hold
from weft.threads import Addition, Store, Turn

try:
    _locks: Any = import_module("fcntl")
except ImportError:  # pragma: no cover  # Windows: a killed call stays without an end
    _locks = None

__all__ = ["Underway", "recover"]

Json = dict[str, Any]

DIED = "the program ended while the answer came in"
WHO = "gpt.called"  # a frame that says who was called, in stores on a server
RECENT = 50  # calls that are looked at: more are hardly under way at once


class Underway:
    """One call under way: a lock that is held as long as this process lives."""

    __slots__ = ("_call_id", "_file", "_hold", "_path", "_store")

    def __init__(self, store: Store, call_id: str) -> None:
        """Say that a call has begun."""
        folder = _folder(store)
        self._store, self._call_id = store, call_id
        self._path: Path | None = None
        self._file = -1
        self._hold: Hold | None = None
        if folder is None:
            with suppress(StoreError):  # a server that does not answer is told of by the store
                self._hold = hold(store.frames, call_id)
            return
        if _locks is None:
            return
        with suppress(OSError):  # a full or read-only disk is told of by the store
            folder.mkdir(mode=0o700, exist_ok=True)
            self._file = os.open(folder / call_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            _locks.flock(self._file, _locks.LOCK_EX)
            self._path = folder / call_id

    def who(self, provider: str, model: str) -> None:
        """Say who was called."""
        if self._hold is not None:
            append_frame(self._store, WHO, {"frame_id": self._call_id, "provider": provider, "model": model})
        if self._file >= 0:
            with suppress(OSError):
                os.write(self._file, dumps({"provider": provider, "model": model}))

    def done(self) -> None:
        """Say that the call has its turn or its error."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def recover(store: Store) -> list[Turn]:
    """Give calls whose process died their end; give the turns that came of it."""
    folder = _folder(store)
    if folder is None:
        return _recover_on_server(store)
    if _locks is None or not folder.is_dir():
        return []
    turns = []
    for path in sorted(folder.iterdir()):
        if not is_turn_id(path.name):
            continue
        with suppress(OSError):  # another process has it, or was faster
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                _locks.flock(file, _locks.LOCK_EX | _locks.LOCK_NB)
                turn = _end(store, path.name, os.read(file, 4096))
                path.unlink(missing_ok=True)
                turns += [turn] if turn is not None else []
            finally:
                os.close(file)
    return turns


def _recover_on_server(store: Store) -> list[Turn]:
    """Look at the last calls that have no end; one that nobody holds is dead."""
    turns = []
    for call_id in _open_calls(store):
        held = hold(store.frames, call_id)
        if held is None:
            continue
        try:
            said = [frame.meta for frame in store.frames.frames_of(WHO, after_id=call_id, limit=RECENT)]
            about = next((meta for meta in said if meta.get("frame_id") == call_id), {})
            turn = _end(store, call_id, dumps({key: about[key] for key in ("provider", "model") if key in about}))
            turns += [turn] if turn is not None else []
        finally:
            held.release()
    return turns


def _open_calls(store: Store) -> list[str]:
    """Give the last calls that have neither turn nor error, oldest first, with few questions to the server."""
    calls = store.frames.newest_frames(CALL, RECENT)[::-1]
    if not calls:
        return []
    ends = store.frames.frames_of(ERROR, after_id=calls[0].id)
    asked = [turn for turn in {call.meta.get("continues") for call in calls} if isinstance(turn, str)]
    children = [child for _, child in store.frames.children(asked)]
    ends += [frame for frame in store.frames.frames(children) if frame is not None]
    ended = {frame.meta.get("frame_id") for frame in ends}
    return [call.id for call in calls if call.id not in ended]


def _folder(store: Store) -> Path | None:
    folder = store.frames.folder
    return None if folder is None else folder / "calls"


def _end(store: Store, call_id: str, said: bytes) -> Turn | None:
    try:
        call = store.frame(call_id)
    except TurnNotFoundError:
        return None  # removed since
    if _has_end(store, call):
        return None
    events = [
        loads(store.frames.payload(frame.hash))
        for frame in store.frames.frames_of(RECV, after_id=call_id)
        if frame.meta.get("frame_id") == call_id and frame.hash is not None
    ]
    content = _blocks(events)
    if not content:
        append_frame(store, ERROR, {"frame_id": call_id, "error": DIED})
        return None
    about = loads(said) if said else {}
    message = {"role": "assistant", "stop_reason": None, **about}
    extra = {"frame_id": call_id, "unfinished": True, "error": DIED, "message": message}
    return store.add(Addition(dumps(content), "assistant", [call.meta["continues"]], options=None, extra=extra))


def _has_end(store: Store, call: Frame) -> bool:
    errors = store.frames.frames_of(ERROR, after_id=call.id)
    children = [child for _, child in store.frames.children([call.meta["continues"]])]
    frames = [*errors, *(frame for frame in store.frames.frames(children) if frame is not None)]
    return any(frame.meta.get("frame_id") == call.id for frame in frames)


def _blocks(events: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Make blocks of events as they were shown; what only the provider could have added is not there."""
    blocks: list[Json] = []
    pieces: list[str] = []
    last: tuple[Any, Any, Any] | None = None
    for event in events:
        kind = event.get("type")
        if kind is not None and (here := (kind, event.get("name"), event.get("id"))) != last:
            _close(blocks, pieces)
            last = here
            blocks.append({key: event[key] for key in ("type", "name", "id") if key in event})
        if isinstance(content := event.get("content"), str):
            pieces.append(content)
        elif content is not None:
            pieces.append(dumps(content).decode())
    _close(blocks, pieces)
    return [block for block in blocks if block.get("type") in ("text", "thinking", "refusal", "tool_use")]


def _close(blocks: list[Json], pieces: list[str]) -> None:
    if not blocks:
        pieces.clear()
        return
    text = "".join(pieces)
    pieces.clear()
    kind = blocks[-1]["type"]
    if kind == "tool_use":
        blocks[-1]["input"] = thaw(read_arguments(text))
    else:
        blocks[-1][kind] = text
