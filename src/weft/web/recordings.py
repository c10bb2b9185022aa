"""Recordings as sources: a trace that is cooked as it comes in and followed while it grows, and a cooked file."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from weft.errors import UsageError, WeftError
from weft.jsontext import dumps, loads
from weft.threads import sniff
from weft.trace import (
    Cooked,
    Cooker,
    Heard,
    Hearing,
    Place,
    dialect_of,
    error_of,
    find_pictures,
    is_packed,
    stop_reason_of,
    token_counts,
    usage_of,
)
from weft.web import contract
from weft.web.addresses import provider_of, request_to
from weft.web.answers import RefusedError
from weft.web.blocks import attachment
from weft.web.cookedfile import CookedSource
from weft.web.cookedrows import CookedRows, Told, row_number
from weft.web.copying import Request
from weft.web.reels import FileReel, Line, PackedReel, Reel, WholeReel, first_value, open_regular, whole_value
from weft.web.source import Source
from weft.web.stats import Used
from weft.web.values import Body

__all__ = ["Pricing", "RecordedSource", "open_recorded"]

Pricing = Callable[[str, str, Mapping[str, Any], int], float | None]
_SLICE_S = 0.05  # one look takes no longer, so that others have their turn
_REST = 4.0  # of what taking stock took, before it is done again
_LOOK = 1 << 16  # bytes that tell what a file is
_PROBLEMS = 20
_FILE = re.compile(r"\[[a-z]+/[A-Za-z0-9.+-]+\]")  # what stands for bytes that are no picture
_CACHE_APART = frozenset({"anthropic", "bedrock"})  # whose count of a prompt leaves out what was cached


def open_recorded(source_id: str, path: Path, *, price: Pricing | None = None) -> Source:
    """Open a trace or a cooked file, told apart by what is in it [C-13, C-15]."""
    with open(open_regular(path), "rb") as file:
        if is_packed(path):
            return RecordedSource(source_id, path.name, PackedReel(path), price=price)
        head = file.read(_LOOK)
        is_all = len(head) < _LOOK
        head = head.removeprefix(b"\xef\xbb\xbf")
        # An agent's first request is often longer than that; all of a file is only read if its first line is no record.
        line = head if b"\n" in head.lstrip() else head + file.readline()
        if head.lstrip()[:1] in (b"[", b"{") and not _is_record(first_value(line.lstrip())):
            value = whole_value(line + file.read())
            if _is_cooked(value):
                return CookedSource(source_id, path.name, value)
            if isinstance(value, list) or _is_record(value):
                records = value if isinstance(value, list) else [value]
                return RecordedSource(source_id, path.name, WholeReel(path.name, records), price=price)
    if is_all and head.strip() and not any(_is_record(first_value(line)) for line in head.split(b"\n")):
        raise UsageError(
            f"{path} is no recording: there is no request in it\n  make one: weft record -- COMMAND\n"
            f"  if it is a conversation: weft import {path}, then weft view"
        )
    return RecordedSource(source_id, path.name, FileReel(path), price=price)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and ("request" in value or "response" in value)


def _is_cooked(value: Any) -> bool:
    return isinstance(value, dict) and {"messages", "tools", "requests"} <= value.keys()


class RecordedSource(CookedRows):
    """A trace, cooked as it comes in."""

    def __init__(
        self,
        source_id: str,
        name: str,
        reel: Reel,
        *,
        price: Pricing | None = None,
        kind: contract.SourceKind = "trace",
        expected: int = 0,
    ) -> None:
        """Begin before the first record; `poll` reads. `expected` is how many there are, as far as that is known."""
        self._kind: contract.SourceKind = kind
        super().__init__(source_id, name)
        self._reel, self._price, self._expected = reel, price, expected
        self._hearing = Hearing(reel.journal) if reel.journal is not None else None
        self.is_live, self.is_loading = reel.is_live, True
        self._begin()
        self._version = 1
        self._events: list[contract.LiveEvent] = []

    @property
    def kind(self) -> contract.SourceKind:  # type: ignore[override]  # of each, not of all
        """A file, or a session of a store."""
        return self._kind

    def _begin(self) -> None:
        self._cooker = Cooker()
        self._counts: list[int] = []  # messages known after each request, in the order they came
        self._told: list[Told] = []
        self._accounts: list[Mapping[str, Any] | None] = []
        self._used: dict[int, Used] = {}
        self._places: list[Place | None] = []
        self._record_rows: dict[str, str] = {}
        self._taken = (0, 0.0, 0.0)  # requests of the last stock, when it was taken, and how long that took
        self.take(Cooked(), lambda place, _request: place)

    @property
    def version(self) -> int:
        """A number that grows with every record."""
        return self._version

    def counts(self) -> tuple[int, int | None]:
        """How many requests and messages there are by now."""
        count = len(self._cooker)
        return (count, self._cooker.message_count) if self.is_wanted else (self._expected, None)

    # -- reading -----------------------------------------------------------------------------------------------

    def poll(self) -> bool:
        """Take in what is new, for a moment; and hear what is under way."""
        until = time.monotonic() + _SLICE_S
        changed = False
        while True:
            lines, has_more = self._reel.more()
            with self.lock:
                if self._reel.was_replaced():
                    self._begin()
                    self._tally = (None, 0.0, 0.0)
                    self._scripts.clear()
                    changed = True
                for line in lines:
                    self._add(line)
                if lines or changed:
                    changed = True
                    self._version += 1
                    self._cooker.settle()  # a little at a time: nobody waits for all parents at once
            if not has_more:
                if self._reel.problem:
                    self._note(self._reel.problem)
                if self.is_loading:
                    self._get_ready()
                    self.is_loading, changed = False, True
                break
            if time.monotonic() > until:
                break
        with self.lock:
            self._events += self._listen()
        return changed or bool(self._events)

    def _get_ready(self) -> None:
        """Prepare what is looked at first: whoever reads has the time, whoever opens a page does not."""
        with self.lock:
            self._version += 1
            self._take_stock()
        picture = self.picture(is_final=True)
        if picture.spots:
            self.view_in(picture, picture.spots[0])  # with what is read for the first price, and the first text

    def _add(self, line: Line) -> None:
        before = len(self._cooker)
        try:
            handle = self._cooker.add(line.data, line.place)
        except WeftError as error:
            handle = None
            self._note(str(error))
        if handle is None:
            for problem in self._cooker.problems[-1:]:
                self._note(str(problem))
            return
        told, account = self._heard_in(line.data, handle.dialect)
        for number in range(before, len(self._cooker)):
            is_first = number == before
            self._counts.append(self._cooker.message_count)
            self._told.append(told)
            self._accounts.append(account if is_first else None)
            self._places.append(line.place)
        self._record_rows[handle.id] = f"r{before}"

    def _note(self, problem: str) -> None:
        if len(self.problems) < _PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def _heard_in(self, line: bytes, dialect: str) -> tuple[Told, Mapping[str, Any] | None]:
        record = _without_request(line)
        provider = record.get("provider")
        if not isinstance(provider, str) or not provider:
            spoken = dialect_of(record) or dialect  # an error body has no shape; the path it came from tells more
            provider = provider_of(spoken)
        status, path, method = record.get("status"), record.get("path"), record.get("method")
        error, turn = error_of(record), record.get("turn_id")
        state: contract.RowState = "complete"
        if record.get("state") == "incomplete":
            state = "incomplete"
        elif error is not None or record.get("response") is None:
            state = "failed"
        endpoint = f"{method or 'POST'} {path}" if isinstance(path, str) else ""
        told = Told(
            provider,
            state,
            status if isinstance(status, int) else None,
            endpoint,
            error,
            turn if isinstance(turn, str) else None,
        )
        return told, usage_of(record.get("response"))

    def refresh(self) -> None:
        """Take stock of what is cooked, unless that was done a moment ago; parents are found then."""
        count, when, took = self._taken
        if count == len(self._cooker) or (self.is_loading and time.monotonic() - when < _REST * took):
            return
        self._take_stock()

    def _take_stock(self) -> None:
        began = time.thread_time()
        self.take(self._cooker.cooked(), lambda _place, request: request.index)
        self._taken = (len(self._cooker), time.monotonic(), time.thread_time() - began)

    def first_row_of(self, number: int) -> str | None:
        """Give the row during whose cooking a message was first met."""
        place = bisect_right(self._counts, number)
        return f"r{place}" if place < len(self._counts) else None

    def _listen(self) -> list[contract.LiveEvent]:
        if self._hearing is None:
            return []
        return [self._event(heard) for heard in self._hearing.poll()]

    def _event(self, heard: Heard) -> contract.LiveEvent:
        match heard.what:
            case "begun":
                return {
                    "type": "begun",
                    "source_id": self.id,
                    "exchange_id": heard.id,
                    "row_id": None,
                    "model": heard.model,
                    "gist": heard.text,
                    "timestamp_ms": heard.timestamp_ms,
                }
            case "ended":
                row_id = self._record_rows.get(heard.id)
                state: contract.RowState = self.told_of(row_id).state if row_id is not None else "complete"
                return {
                    "type": "ended",
                    "source_id": self.id,
                    "exchange_id": heard.id,
                    "row_id": row_id,
                    "state": state,
                }
            case kind:
                return {
                    "type": "delta",
                    "source_id": self.id,
                    "exchange_id": heard.id,
                    "kind": kind,
                    "name": heard.name,
                    "text": heard.text,
                }

    def told(self) -> Sequence[contract.LiveEvent]:
        """Give what was heard since the last time."""
        with self.lock:
            events, self._events = self._events, []
        return events

    # -- one request -------------------------------------------------------------------------------------------

    def told_of(self, row_id: str) -> Told:
        """Give what the record of a row says."""
        number = row_number(row_id)
        return self._told[number] if 0 <= number < len(self._told) else Told()

    def record_of(self, row_id: str) -> Mapping[str, Any] | None:
        """Read the record of a row again."""
        number = row_number(row_id)
        place = self._places[number] if 0 <= number < len(self._places) else None
        if place is None:
            return None
        try:
            record = self._reel.again(place)
        except (OSError, ValueError, WeftError):
            return None  # moved away since
        return record if isinstance(record, dict) else None

    def bodies(self, message_ids: Sequence[str]) -> list[Body]:
        """Messages by id, each with the pictures that its record carries; they are looked for when one is fetched."""
        return [self._with_pictures(body) for body in super().bodies(message_ids)]

    def _with_pictures(self, body: Body) -> Body:
        names = self._cooker.pictures_of(int(body.id[1:])) if body.role != "thinking" else ()
        if not names:
            return body
        kind = body.content[1:-1] if _FILE.fullmatch(body.content) else ""
        blobs: list[contract.Attachment] = [
            {
                "id": f"{body.id}.{number}",
                "name": None,
                "media_type": kind,
                "size_bytes": None,
                "is_image": not kind,
            }
            for number in range(len(names))
        ]
        return replace(body, blobs=tuple(blobs))

    def blob(self, blob_id: str) -> tuple[bytes, contract.Attachment]:
        """Give a picture that a request carries, out of the first record that has it."""
        message_id, _, digits = blob_id.partition(".")
        with self.lock:
            bodies = self.bodies([message_id])
            about = next((one for body in bodies for one in body.blobs if one["id"] == blob_id), None)
            row_id = self.first_row_of(int(message_id[1:])) if about is not None else None
            names = self._cooker.pictures_of(int(message_id[1:])) if about is not None else []
            record = self.record_of(row_id) if row_id is not None else None
        if about is None or record is None:
            raise RefusedError(404, "not_found", "no such picture")
        name = names[int(digits)]
        picture = find_pictures(record, [name]).get(name)
        if picture is None:
            raise RefusedError(404, "not_found", "the recording has no picture here, only its address")
        kind = picture.media_type or sniff(picture.data)
        return picture.data, attachment(blob_id, None, kind, len(picture.data))

    def stop_reason_of(self, record: Mapping[str, Any]) -> str | None:
        """Give why an answer ended."""
        return stop_reason_of(record.get("response"))

    def used_of(self, row_id: str) -> Used | None:
        """Give what a row used, priced once."""
        number = row_number(row_id)
        if number in self._used:
            return self._used[number]
        account = self._accounts[number] if 0 <= number < len(self._accounts) else None
        if account is None:
            return None
        request = self._requests.get(row_id)
        dialect, model = (request.dialect, request.model) if request is not None else ("", "")
        counts = token_counts(account, excludes_cached=True if dialect in _CACHE_APART else None)
        cost = None
        if self._price is not None and request is not None:
            cost = self._price(self._told[number].provider, model, account, request.timestamp)
        used = self._used[number] = Used(*counts, cost)
        self._accounts[number] = None
        return used

    def is_counted(self, row_id: str) -> bool:
        """Tell whether a row is priced already."""
        number = row_number(row_id)
        return number in self._used or self._accounts[number] is None

    def address_of(self, row_id: str, record: Mapping[str, Any]) -> Request:
        """Say where a request went, as far as that is known."""
        request = self.request_of(row_id)
        return request_to(request.dialect, request.model, record)

    def cooked(self) -> bytes:
        """Give all of it as cooked JSON."""
        with self.lock:
            return dumps(self._cooker.cooked().to_dict())

    def newest(self, count: int) -> Sequence[str]:
        """Give the rows that came last."""
        total = len(self._cooker)
        return [f"r{number}" for number in range(max(0, total - count), total)]


def _without_request(line: bytes) -> Mapping[str, Any]:
    """Read what stands behind the request of a record: its response and what follows.

    A request repeats the whole history and is read sparsely by the cook. What is behind it begins with `"response":` at
    the top level; the only such place from which the rest of the line is one whole object is that one.
    """
    at = len(line)
    for _ in range(8):
        at = line.rfind(b'"response":', 0, at)
        if at < 0:
            break
        try:
            found = orjson.loads(b"{" + line[at:])
        except orjson.JSONDecodeError:
            continue
        if isinstance(found, dict):
            return found
    try:
        whole = loads(line)
    except ValueError:
        return {}
    return whole if isinstance(whole, dict) else {}
