"""Recorded exchanges in a store: exact, kept once, and looked after like everything else; on both databases."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.agents import agent_trace, as_lines, claude_record, sse
from weft.errors import StoreError
from weft.store import (
    Exchanges,
    ExchangeWriter,
    NewExchange,
    cuts_of,
    open_frames,
    parse_query,
    remove_session,
    search_exchanges,
)
from weft.store.chunking import Cutter
from weft.store.reflist import apply, change, pack_numbers, unpack_numbers
from weft.trace.keeping import fields_of, keep_lines, records_of

if TYPE_CHECKING:
    import weft

NEVER_SEEN = "hunter2-correct-horse"


def bodies(store: weft.Store) -> list[tuple[bytes, bytes | None]]:
    exchanges = Exchanges(store.frames)
    return [(request, response) for _, request, response, _ in exchanges.bodies(exchanges.rows())]


# -- exact -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spaced", [False, True])
def test_bodies_come_back_byte_for_byte(store: weft.Store, spaced: bool) -> None:
    """X-31: key order, spacing, escapes, repeated keys and long numbers are those of the wire."""
    lines = as_lines(agent_trace(12), spaced=spaced)
    said = b'[{"role":"user","content":"\\u00e9\\ud83d"}]'
    odd = b'{"model":"m","messages":' + said + b',"n":123456789012345678901234567890,"n":1.0}'
    lines.append(b'{"id":"odd","timestamp":"t","duration_ms":1,"request":' + odd + b',"response":null,"error":"cut"}')

    keep_lines(store.frames, lines, {"kind": "import"})

    kept = [line for _, line in records_of(Exchanges(store.frames))]
    assert [fields_of(line)["request"] for line in kept] == [fields_of(line)["request"] for line in lines]
    assert [fields_of(line)["response"] for line in kept] == [fields_of(line)["response"] for line in lines]
    assert [json.loads(line) for line in kept[:-1]] == [json.loads(line) for line in lines[:-1]]
    assert store.fsck() == []


def test_unknown_fields_and_large_ones_are_kept(store: weft.Store) -> None:
    """C-2: what another program adds to a record is its own, and stays."""
    frames = [{"from": "client", "ms": n, "text": "x" * 100} for n in range(50)]
    record = claude_record(
        1, [{"role": "user", "content": "Hi"}], [], state="incomplete", reason="killed", frames=frames
    )

    keep_lines(store.frames, as_lines([record]), {})

    assert [json.loads(line) for _, line in records_of(Exchanges(store.frames))] == [record]


def test_names_no_column_can_hold_are_found_by(store: weft.Store) -> None:
    """D-20: NUL and lone surrogates in an id are no trouble for either database."""
    names = ["a\0b", "\ud800x", "n" * 5000, ""]
    records = [{**claude_record(n, [], []), "id": name} for n, name in enumerate(names)]

    keep_lines(store.frames, [json.dumps(record).encode() for record in records], {})

    exchanges = Exchanges(store.frames)
    assert [exchanges.named(name)[0].meta["id"] for name in names] == names


# -- once --------------------------------------------------------------------------------------------------------------


def test_a_session_costs_what_is_new_in_it(tmp_path: Path) -> None:
    """Requirement: n requests cost at most about 1.3 times their distinct content, lists of chunks included."""
    records = agent_trace(60, text_bytes=900)
    lines = as_lines(records)
    distinct = {
        json.dumps(item)
        for record in records
        for key in ("messages", "system", "tools")
        for item in record["request"][key]
    } | {json.dumps(record["response"]) for record in records}
    with closing(open_frames(tmp_path / "empty")) as nothing:
        empty = nothing.stats().disk_bytes

    with closing(open_frames(tmp_path / "store")) as frames:
        keep_lines(frames, lines, {})
        frames.scrub()
        grown = frames.stats().disk_bytes - empty

    assert grown <= 1.3 * sum(map(len, distinct))
    assert grown * 8 < sum(map(len, lines))


def test_a_mark_that_moves_costs_the_mark(store: weft.Store) -> None:
    text = {"type": "text", "text": "A long message. " * 400}
    marked = {**text, "cache_control": {"type": "ephemeral"}}
    one = claude_record(1, [{"role": "user", "content": [text]}], [])
    two = claude_record(2, [{"role": "user", "content": [marked]}], [])

    keep_lines(store.frames, as_lines([one]), {})
    before = Exchanges(store.frames).counts()["chunk_bytes"]
    keep_lines(store.frames, as_lines([two]), {})

    assert Exchanges(store.frames).counts()["chunk_bytes"] - before < 1000


def test_what_comes_twice_is_kept_once(store: weft.Store) -> None:
    lines = as_lines(agent_trace(5))

    first = keep_lines(store.frames, lines, {"kind": "import"})
    again = keep_lines(store.frames, [*lines, *lines], {"kind": "import"})

    assert (first[1:], again[1:]) == ((5, 0), (0, 10))
    assert [row.exchanges for row in Exchanges(store.frames).sessions()] == [5]


def test_several_writers_share_what_they_have_in_common(store_url: str, store: weft.Store) -> None:
    """X-10: two proxies on one store, all records valid; each distinct piece still once."""
    lines = as_lines(agent_trace(20))

    def record(part: list[bytes]) -> None:
        with closing(open_frames(store_url)) as frames:
            for line in part:
                keep_lines(frames, [line], {"kind": "proxy"})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(record, [lines[::2], lines[1::2]]))

    kept = sorted(line for _, line in records_of(Exchanges(store.frames)))
    assert len(kept) == 20
    assert sorted(fields_of(line)["request"] for line in kept) == sorted(fields_of(line)["request"] for line in lines)
    assert store.fsck() == []


def test_a_write_that_fails_leaves_nothing_and_spoils_nothing(sqlite_store: weft.Store) -> None:
    """D-08: an exchange is there whole or not at all, and the next one does not build on what is not on disk."""
    frames = sqlite_store.frames
    writer = ExchangeWriter(frames, "s", {})
    new = [
        NewExchange(f"t{n}", f"n{n}", {"id": f"n{n}"}, line, None) for n, line in enumerate(as_lines(agent_trace(6)))
    ]
    writer.add(new[:2])
    real = frames.write

    def broken(work: object) -> object:
        def failing(tx: object) -> object:
            work(tx)  # type: ignore[operator]
            raise StoreError("the disk is full")

        return real(failing)

    frames.write = broken  # type: ignore[method-assign,assignment]
    with pytest.raises(StoreError):
        writer.add(new[2:4])
    frames.write = real  # type: ignore[method-assign]
    writer.add(new[2:])

    assert [body for body, _ in bodies(sqlite_store)] == [one.request for one in new]
    assert sqlite_store.fsck() == []


# -- cutting -----------------------------------------------------------------------------------------------------------


def test_cutting_with_a_memory_is_cutting_without_one() -> None:
    """What was seen before only saves work: the pieces are the same, in any order of bodies."""
    requests = [fields_of(line)["request"] for line in as_lines(agent_trace(20), spaced=True)]
    random.Random(3).shuffle(requests)
    cutter, numbers, pieces = Cutter(), dict[bytes, int](), list[bytes]()
    for body in requests:
        refs = []
        for piece in cutter.cut(body):
            if isinstance(piece, bytes):
                if piece not in numbers:
                    numbers[piece] = len(pieces)
                    pieces.append(piece)
                refs.append(numbers[piece])
            else:
                refs.append(piece)
        cutter.remember(body, refs)
        ends = list(cuts_of(body))
        plain = [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        assert [pieces[ref] for ref in refs] == plain
        assert b"".join(plain) == body


def test_lists_of_numbers_come_back() -> None:
    chance = random.Random(5)
    base = list[int]()
    for _ in range(200):
        refs = [
            *base[: chance.randrange(len(base) + 1)],
            *(chance.randrange(1 << 40) for _ in range(chance.randrange(9))),
        ]
        refs += base[len(base) - chance.randrange(len(base) + 1) :]
        assert apply(base, change(base, refs)) == refs
        base = refs
    with pytest.raises(ValueError, match="cut short"):
        unpack_numbers(pack_numbers([300])[:1])
    with pytest.raises(ValueError, match="does not fit"):
        apply([], pack_numbers([1, 1]))
    with pytest.raises(ValueError, match="cut short"):
        apply([], b"")


# -- care --------------------------------------------------------------------------------------------------------------


def test_purge_takes_a_secret_out_of_every_recorded_body(store: weft.Store) -> None:
    """K-09: as it is, behind JSON's escapes, inside a call's arguments, in an error, and said in pieces by a stream."""
    secret = 'pass"word\n' + NEVER_SEEN
    said = {"role": "user", "content": f"my key is {secret} " + "and more " * 60}
    nested = {"type": "tool_use", "id": "t", "name": "n", "input": {"json": json.dumps({"k": json.dumps(secret)})}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in ("hunter", "2-correct", "-horse", " said")
    ]
    records = [
        claude_record(1, [said], [nested]),
        {**claude_record(2, [], []), "response": sse(*deltas)},
        {**claude_record(3, [], []), "response": None, "error": f"lost: {secret}"},
        claude_record(4, [{"role": "user", "content": "innocent"}], []),
    ]
    keep_lines(store.frames, as_lines(records), {"kind": "record", "command": f"run {secret}"})

    gone = store.purge(text=secret)
    pieces = store.purge(text=NEVER_SEEN)

    everything = b"".join(line for _, line in records_of(Exchanges(store.frames))).decode()
    assert {"c1", "c3"} <= set(gone.turns)
    assert "c2" in pieces.turns
    assert NEVER_SEEN not in everything
    assert '"2-correct"' not in everything
    assert "innocent" in everything
    assert NEVER_SEEN not in str(Exchanges(store.frames).sessions())
    assert store.fsck() == []
    if store.frames.folder is not None:
        files = [path for path in store.frames.folder.rglob("*") if path.is_file()]
        assert [path.name for path in files if NEVER_SEEN.encode() in path.read_bytes()] == []


def test_a_writer_goes_on_after_a_purge(store: weft.Store) -> None:
    """Chunks that changed or went are no longer built upon by who remembered them."""
    lines = as_lines(agent_trace(6))
    writer = ExchangeWriter(store.frames, "s", {})
    new = [NewExchange(f"t{n}", f"n{n}", {}, fields_of(line)["request"], None) for n, line in enumerate(lines)]
    writer.add(new[:3])
    store.purge(text="harbour")
    writer.add(new[3:])

    assert [request for request, _ in bodies(store)][3:] == [one.request for one in new[3:]]
    assert store.fsck() == []


def test_fsck_finds_damage_in_exchanges(sqlite_store: weft.Store) -> None:
    """D-22: a flipped byte, a missing chunk, a lost base, a lost session, broken meta: each is found and named."""
    keep_lines(sqlite_store.frames, as_lines(agent_trace(4)), {})
    sqlite_store.close()
    path = Path(str(sqlite_store.frames.folder)) / "weft.db"
    damages = {
        "chunk": "UPDATE chunks SET data = x'00' WHERE number = 3",
        "missing": "DELETE FROM chunks WHERE number = 2",
        "empty": "UPDATE chunks SET data = NULL WHERE number = 4",
        "base": "UPDATE exchanges SET base = 99 WHERE number = 2",
        "list": "UPDATE exchanges SET request = x'80' WHERE number = 3",
        "session": "UPDATE exchanges SET session = 7 WHERE number = 1",
        "meta": "UPDATE exchanges SET meta = '{' WHERE number = 4",
    }
    sound = path.read_bytes()
    for name, damage in damages.items():
        with sqlite3.connect(path) as connection:
            connection.execute(damage)
        connection.close()

        assert sqlite_store.fsck() != [], name

        sqlite_store.close()
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(sound)
    assert sqlite_store.fsck() == []


def test_what_cannot_be_read_is_said_in_one_line(sqlite_store: weft.Store) -> None:
    """B-03: damaged content never comes out as if it were sound."""
    keep_lines(sqlite_store.frames, as_lines(agent_trace(2)), {})
    folder = Path(str(sqlite_store.frames.folder))
    sqlite_store.close()
    with sqlite3.connect(folder / "weft.db") as connection:
        connection.execute("DELETE FROM chunks WHERE number = 1")
    connection.close()

    with pytest.raises(StoreError, match="weft fsck"):
        list(records_of(Exchanges(sqlite_store.frames)))


def test_a_session_that_is_removed_leaves_what_others_need(store: weft.Store) -> None:
    trace = agent_trace(8)
    first, _, _ = keep_lines(store.frames, as_lines(trace[:4]), {})
    keep_lines(store.frames, as_lines(trace[4:]), {})
    exchanges = Exchanges(store.frames)
    before = exchanges.counts()

    gone = remove_session(store.frames, next(row.number for row in exchanges.sessions() if row.id == first))

    after = exchanges.counts()
    assert (gone, after["exchanges"], after["sessions"]) == (4, 4, 1)
    assert 0 < after["chunk_bytes"] < before["chunk_bytes"]
    assert [json.loads(line) for _, line in records_of(exchanges)] == trace[4:]
    assert store.fsck() == []


def test_recorded_bodies_can_be_searched(store: weft.Store) -> None:
    """Requirement: search knows exchanges; a text is found once, in the request that first had it."""
    trace = agent_trace(4)
    asked = claude_record(9, [{"role": "user", "content": "Where is the Grönland whale? " * 20}], [])
    streamed = {
        **claude_record(10, [], []),
        "response": sse({"type": "x", "delta": {"text": "Moby"}}, {"delta": {"text": "Dick"}}),
    }
    keep_lines(store.frames, as_lines([*trace, asked, streamed]), {})

    found = [
        search_exchanges(store.frames, parse_query(query), 5) for query in ("gronland whale", "mobydick", "kraken")
    ]

    assert [[hit.exchange.name for hit in hits] for hits in found] == [["c9"], ["c10"], []]


def test_secrets_in_recorded_requests_are_found(store: weft.Store) -> None:
    """K-03: a key typed into a prompt is content, in a recording as in a turn; the finder names the request."""
    from weft.threads import scan_secrets

    drawn = hashlib.sha512(b"by lot").digest() + hashlib.sha512(b"again").digest()
    key = "sk-ant-api03-" + base64.urlsafe_b64encode(drawn).decode()[:93] + "AA"
    asked = [{"role": "user", "content": f"use {key} " + "x " * 200}]
    keep_lines(store.frames, as_lines([*agent_trace(2), claude_record(7, asked, []), claude_record(8, asked, [])]), {})

    assert [(leak.id, leak.place) for leak in scan_secrets(store)] == [("c7", "recorded")]


def test_stats_count_exchanges_and_backup_has_them(sqlite_store: weft.Store, tmp_path: Path) -> None:
    """D-17: a backup is a store like any other, exchanges included."""
    lines = as_lines(agent_trace(3))
    keep_lines(sqlite_store.frames, lines, {})

    sqlite_store.backup(tmp_path / "copy")

    details = sqlite_store.stats().details
    assert (details["sessions"], details["exchanges"]) == (1, 3)
    with closing(open_frames(tmp_path / "copy")) as copy:
        assert [json.loads(line) for _, line in records_of(Exchanges(copy))] == [json.loads(line) for line in lines]


def test_very_large_chunks_are_files_that_gc_leaves_alone(sqlite_store: weft.Store) -> None:
    """B-08: gc removes no content that an exchange names."""
    noise = random.Random(2).randbytes(5_000_000).hex()
    keep_lines(sqlite_store.frames, as_lines([claude_record(1, [{"role": "user", "content": noise}], [])]), {})

    swept = sqlite_store.gc()

    assert swept.files == 0
    assert noise.encode() in bodies(sqlite_store)[0][0]
    assert sqlite_store.fsck() == []
