"""Names for turns: listing, setting, moving and deleting them.

A bookmark moves along by itself as turns carry it on (weft.threads.append). Setting and deleting one by hand is kept in
the log too, as a `weft.bookmark` frame, so that the log says everything that happened to a name.
"""

from __future__ import annotations

from weft.errors import BookmarkConflictError
from weft.store import Draft, FrameStore, FrameWriter
from weft.threads.headish import Headish, check_bookmark_name, find, unknown

__all__ = ["BOOKMARK_TOPIC", "delete_bookmark", "point", "rename_bookmark", "set_bookmark"]

BOOKMARK_TOPIC = "weft.bookmark"


def set_bookmark(store: FrameStore, name: str, headish: Headish, *, move: bool = False) -> str:
    """Put a name on a turn and give the turn's id; a name that is on another turn is moved only if asked."""
    check_bookmark_name(name)

    def write(writer: FrameWriter) -> str:
        spot = find(writer, headish)
        holder = writer.bookmark_spot(name)
        if holder is not None and holder.seq != spot.seq and not move:
            raise BookmarkConflictError(f"bookmark {name!r} is on turn {holder.id}; say move to put it on {spot.id}")
        point(writer, name, spot.seq, spot.id)
        return spot.id

    return store.write(write)


def delete_bookmark(store: FrameStore, name: str) -> str:
    """Take a name away and give the id of the turn it was on; no new turn inherits it."""

    def write(writer: FrameWriter) -> str:
        holder = writer.bookmark_spot(name)
        if holder is None:
            raise unknown(writer, name)
        point(writer, name, None, None)
        return holder.id

    return store.write(write)


def rename_bookmark(store: FrameStore, old: str, new: str) -> str:
    """Give a turn's name another spelling."""
    check_bookmark_name(new)

    def write(writer: FrameWriter) -> str:
        holder = writer.bookmark_spot(old)
        if holder is None:
            raise unknown(writer, old)
        taken = writer.bookmark_spot(new)
        if taken is not None:
            raise BookmarkConflictError(f"bookmark {new!r} is on turn {taken.id} already")
        point(writer, old, None, None)
        point(writer, new, holder.seq, holder.id)
        return holder.id

    return store.write(write)


def point(writer: FrameWriter, name: str, seq: int | None, turn_id: str | None) -> None:
    """Move a name, and say so in the log."""
    writer.append(Draft(BOOKMARK_TOPIC, {"name": name, "turn": turn_id}))
    writer.point_bookmark(name, seq)
