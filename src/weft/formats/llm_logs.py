"""The logs of `llm`: its SQLite database, logs.db.

Since 0.36 messages are a tree by their parents' hashes, and a thread is a name on one of its ends: each tree is one
conversation here, with every thread as a head. What older versions logged (a prompt and a response a row) stays as it
was when llm is upgraded, so both are read; a row that is a turn of a tree too is read there. Someone else's database is
a file format like any other: nothing is written to it.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from weft import jsontext
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Session,
    Usage,
    read_arguments,
)
from weft.errors import CodecError
from weft.formats.foreign import as_role, failure, moment, picture, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "llm"
_TREE = """
with recursive tree(hash) as (
  select hash from messages where hash = ?
  union all
  select messages.hash from messages join tree on messages.parent_hash = tree.hash
)
select messages.rowid as at, messages.* from messages where hash in (select hash from tree) order by rowid
"""
Row = Mapping[str, Any]


def read(source: Source) -> Iterator[Piece]:
    """Read every conversation of a database."""
    with _database(source) as database:
        try:
            tables = {row["name"] for row in database.execute("select name from sqlite_master where type = 'table'")}
            if "messages" in tables and database.execute("select 1 from messages limit 1").fetchone():
                roots = database.execute(
                    "select hash from messages where parent_hash is null order by rowid"
                ).fetchall()
                for root in roots:
                    yield from _Tree(database).pieces(root["hash"])
            if "responses" in tables:
                yield from _logged(database, "turns" in tables)
        except sqlite3.Error as problem:
            raise CodecError(f"not a database of llm: {problem}", where=source.name or "the file") from problem


@contextmanager
def _database(source: Source) -> Iterator[sqlite3.Connection]:
    """Open the file where it lies, or a copy if it lies nowhere; never to write."""
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder) / "logs.db"
            with path.open("wb") as copy:
                for chunk in source.chunks():
                    copy.write(chunk)
        with closing(sqlite3.connect(f"file:{quote(os.fspath(path))}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            yield database


class _Tree:
    """One tree of messages, with what turns and threads say of it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.shelf = Shelf()

    def pieces(self, root: str) -> Iterator[Piece]:
        rows = self.database.execute(_TREE, (root,)).fetchall()
        names = {row["hash"] for row in rows}
        turns = {
            row["tip_message_hash"]: row
            for row in self.database.execute("select * from turns order by datetime_utc")
            if row["tip_message_hash"] in names
        }
        threads = [
            row
            for row in self.database.execute("select * from threads order by datetime_utc, rowid")
            if row["tip_message_hash"] in names
        ]
        newest = threads[-1] if threads else None
        first = threads[0] if threads else None
        yield Opening(
            Session(
                id=None if first is None else first["id"],
                title=None if first is None else first["name"],
                created=None if first is None else moment(first["datetime_utc"]),
            )
        )
        for row in rows:
            yield self._entry(row, turns.get(row["hash"]))
        heads = {row["id"]: row["tip_message_hash"] for row in threads}
        yield Closing(heads, None if newest is None else newest["tip_message_hash"])

    def _entry(self, row: Row, turn: Row | None) -> Entry:
        parts = [
            self._part(part)
            for part in self.database.execute(
                "select * from parts where message_hash = ? order by position", (row["hash"],)
            )
        ]
        role = as_role(row["role"])
        about = _json(row["provider_metadata"])
        ours: dict[str, Any] = {"provider_metadata": about} if about else {}
        model = None
        usage = None
        if turn is not None:
            model = text(turn["resolved_model"]) or text(turn["model"])
            details = _json(turn["token_details"])
            if turn["input_tokens"] is not None or turn["output_tokens"] is not None:
                usage = Usage(turn["input_tokens"], turn["output_tokens"], None, details or {})
            kept = {key: turn[key] for key in ("options_json", "duration_ms", "response_json") if turn[key] is not None}
            ours |= {"turn": kept} if kept else {}
        at = moment(turn["datetime_utc"]) if turn is not None else None
        parent = row["parent_hash"]
        return Entry(
            row["hash"],
            Message(role, parts, None, None, None, at or UNTIMED),
            () if parent is None else (parent,),
            model,
            usage=usage,
            extras={NAME: ours} if ours else {},
            blobs=self.shelf.taken(),
        )

    def _part(self, row: Row) -> Part:
        payload = _json(row["payload"]) or {}
        words = row["text"] if row["text"] is not None else self._pieced(payload)
        about = payload.get("provider_metadata")
        raw = {NAME: {"provider_metadata": about}} if about else None
        match row["type"]:
            case "text":
                return Part("text", words or "", provider_raw=raw)
            case "reasoning":
                made = next(iter(about), None) if isinstance(about, dict) else None
                return Part("thinking", words or "", json={"provider": made, "dialect": NAME}, provider_raw=raw)
            case "tool_call":
                return Part(
                    "tool_call",
                    tool_call_id=text(payload.get("tool_call_id")),
                    tool_name=text(payload.get("name")) or "",
                    tool_args=read_arguments(payload.get("arguments")),
                    provider_raw=raw,
                )
            case "tool_result":
                failed, kept = payload.get("exception"), rest(payload, "tool_call_id", "name", "output")
                return Part(
                    "tool_result",
                    tool_call_id=text(payload.get("tool_call_id")),
                    tool_name=text(payload.get("name")),
                    tool_output=payload.get("output"),
                    provider_raw=failure(failed, {NAME: kept} if kept else None),
                )
            case "attachment":
                reference = payload.get("attachment")
                name = reference.get("id") if isinstance(reference, dict) else None
                return _attachment(self.database, name, self.shelf) or unknown(NAME, payload)
        return unknown(NAME, {**payload, "type": row["type"], "text": words})

    def _pieced(self, payload: Mapping[str, Any]) -> str | None:
        """Put a text together that borrows fragments."""
        pieces = payload.get("text_ref")
        if not isinstance(pieces, list):
            return None
        found = []
        for piece in pieces:
            if not isinstance(piece, Mapping):
                continue
            if "literal" in piece:
                found.append(str(piece["literal"]))
                continue
            row = self.database.execute(
                "select content from fragments where id = ?", (piece.get("fragment"),)
            ).fetchone()
            found.append(row["content"] if row else "")
        return "".join(found)


def _attachment(database: sqlite3.Connection, name: Any, shelf: Shelf) -> Part | None:
    row = database.execute("select * from attachments where id = ?", (name,)).fetchone()
    if row is None:
        return None
    kind = row["type"] or "application/octet-stream"
    if row["content"] is not None:
        return Part(picture(kind), blob=shelf.store.put_blob(row["content"], media_type=kind, kind=picture(kind)))
    place = {"url": row["url"]} if row["url"] else {"path": row["path"]}
    return Part(picture(kind), json={**place, "media_type": kind})


_ROWS = """
select * from responses where (conversation_id = :talk or (:talk is null and conversation_id is null))
order by datetime_utc, rowid
"""
_ROWS_WITHOUT_TURNS = _ROWS.replace("order by", "and id not in (select id from turns) order by")


def _logged(database: sqlite3.Connection, has_turns: bool) -> Iterator[Piece]:
    """Read what versions before 0.36 logged: a prompt and its response a row."""
    every = _ROWS_WITHOUT_TURNS if has_turns else _ROWS
    for talk in database.execute("select * from conversations order by rowid").fetchall():
        rows = database.execute(every, {"talk": talk["id"]}).fetchall()
        if rows or not has_turns:
            yield from _talk(database, rows, id=talk["id"], title=talk["name"], model=talk["model"])
    for row in database.execute(every, {"talk": None}).fetchall():
        yield from _talk(database, [row], model=row["model"])


def _talk(database: sqlite3.Connection, rows: list[Any], **facts: Any) -> Iterator[Piece]:
    system = next((told for row in rows if (told := _system(database, row))), None)
    created = moment(rows[0]["datetime_utc"]) if rows else None
    yield Opening(Session(created=created, instructions=Instructions(system) if system else None, **facts))
    yield from _answers(database, rows)
    yield Closing()


def _system(database: sqlite3.Connection, row: Row) -> str:
    borrowed = [each["content"] for each in _under(database, "system_fragments", row["id"])]
    return "\n\n".join([*borrowed, *([row["system"]] if row["system"] else [])])


def _answers(database: sqlite3.Connection, rows: list[Any]) -> Iterator[Entry]:
    before: tuple[str, ...] = ()
    for row in rows:
        name, at = row["id"], moment(row["datetime_utc"]) or UNTIMED
        shelf = Shelf()
        results = [
            Part("tool_result", tool_call_id=each["tool_call_id"], tool_name=each["name"], tool_output=each["output"])
            for each in _under(database, "tool_results", name)
        ]
        if results:
            yield Entry(f"{name}/results", Message("tool", results, timestamp=at), before)
            before = (f"{name}/results",)
        asked = [Part("text", each["content"]) for each in _under(database, "prompt_fragments", name)]
        asked += [Part("text", row["prompt"])] if row["prompt"] else []
        attached = _under(database, "prompt_attachments", name)
        found = (_attachment(database, each["attachment_id"], shelf) for each in attached)
        asked += [part for part in found if part is not None]
        if asked or not results:
            yield Entry(f"{name}/prompt", Message("user", asked, timestamp=at), before, blobs=shelf.taken())
            before = (f"{name}/prompt",)
        thought = _cell(row, "reasoning")
        said = [Part("thinking", thought, json={"provider": None, "dialect": NAME})] if thought else []
        said += [Part("text", row["response"])] if row["response"] else []
        said += [
            Part(
                "tool_call",
                tool_call_id=each["tool_call_id"],
                tool_name=each["name"],
                tool_args=read_arguments(each["arguments"]),
            )
            for each in _under(database, "tool_calls", name)
        ]
        counts = _json(_cell(row, "token_details")) or {}
        received, sent = _cell(row, "input_tokens"), _cell(row, "output_tokens")
        is_counted = received is not None or sent is not None
        yield Entry(
            name,
            Message("assistant", said, timestamp=at),
            before,
            _cell(row, "resolved_model") or row["model"],
            usage=Usage(received, sent, None, counts) if is_counted else None,
            extras={NAME: {key: row[key] for key in ("options_json", "response_json", "duration_ms") if row[key]}},
        )
        before = (name,)


_UNDER = {
    "prompt_attachments": 'select attachment_id from prompt_attachments where response_id = ? order by "order"',
    "tool_calls": "select * from tool_calls where response_id = ? order by id",
    "tool_results": "select * from tool_results where response_id = ? order by id",
    "prompt_fragments": """
        select content from fragments join prompt_fragments on fragments.id = fragment_id
        where response_id = ? order by "order"
    """,
    "system_fragments": """
        select content from fragments join system_fragments on fragments.id = fragment_id
        where response_id = ? order by "order"
    """,
}


def _under(database: sqlite3.Connection, table: str, name: str) -> list[Any]:
    """Give the rows of a response; versions before tools, attachments or fragments have no such table."""
    has = database.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone()
    return database.execute(_UNDER[table], (name,)).fetchall() if has else []


def _cell(row: Any, name: str) -> Any:
    """Give a cell of a row; None if the version that logged it had no such column."""
    return row[name] if name in row.keys() else None  # noqa: SIM118 - a row is no mapping


def _json(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, str):
        return None
    try:
        found = jsontext.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _sniff(head: Head) -> float:
    if not head.data.startswith(b"SQLite format 3\x00"):
        return 0.0
    return 0.95 if b"_llm_migrations" in head.data or b"prompt_attachments" in head.data else 0.4


FORMAT = Format(
    name=NAME,
    about="the logs of llm (logs.db), with every thread",
    carries=carrying(
        yes="many branches heads ids timestamps model usage title thinking calls images files extras",
        partial="system",
    ),
    read=read,
    sniff=_sniff,
    aliases=("llm-logs",),
    extensions=("logs.db",),
    notes={"system": "where it was given"},
)
