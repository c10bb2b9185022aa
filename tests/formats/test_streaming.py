"""Files larger than memory: read and written piece by piece, whatever the sizes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.strategies import json_values
from tests.support.transcripts import transcripts
from tests.support.wire_messages import wire_messages
from weft.canon import Entry, Message, Opening, Part, Stray, Transcript, gather
from weft.errors import CodecError, UsageError
from weft.formats import Ledger, Source, convert, converting, format_by_name, guess, jsonfeed, lockstep, proof
from weft.formats.flatten import flattened
from weft.formats.jsonfeed import JsonFeed, keys_of
from weft.formats.wiremessages import MessageReader, is_usual
from weft.wire import decode_message, encode_message


def pieces_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(st.lists(json_values(max_leaves=4), max_size=5), st.integers(1, 40), st.booleans())
def test_an_array_in_pieces_gives_its_elements(values: list[Any], size: int, spaced: bool) -> None:
    data = json.dumps(values, indent=1 if spaced else None).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonfeed, "CHUNK_BYTES", 1)
        feed = JsonFeed(pieces_of(data, size))

        assert list(feed.elements()) == values
        feed.end()


def test_ends_of_elements_are_guessed_and_never_wrong() -> None:
    """What stands between two elements may stand inside one, in a text or in a list."""
    values = [{"a": i, "b": ['},{"a":', {"a": 1}, {"a": 2}], "c": 'x},{"a":1},{"a":2}' * (i % 3)} for i in range(50)]
    data = json.dumps(values, separators=(",", ":")).encode()

    for size in (7, 64, 10_000):
        assert list(JsonFeed(pieces_of(data, size)).elements()) == values


@pytest.mark.parametrize("text", ["[1", "[1,", "[", '[{"a":', "[1 2]", "[1}", '{"a" 1}', "{1:2}", '["x', "[,]", '["\\'])
def test_what_is_no_array_is_an_error_with_its_byte(text: str) -> None:
    with pytest.raises(CodecError, match="byte"):
        for _ in JsonFeed(iter([text.encode()])).elements() if text[0] == "[" else _members(text):
            pass


def _members(text: str) -> Iterator[Any]:
    feed = JsonFeed(iter([text.encode()]))
    for _ in feed.members():
        yield feed.value()


def test_members_of_an_object_come_one_by_one() -> None:
    feed = JsonFeed(iter([b'\xef\xbb\xbf {"a": 1, "b": ', b'[1,2], "c": "x"} ']))
    assert [(key, feed.value()) for key in feed.members()] == [("a", 1), ("b", [1, 2]), ("c", "x")]
    feed.end()
    with pytest.raises(CodecError, match="more after"):
        JsonFeed(iter([b"x"])).end()


def test_the_beginning_of_an_object_is_enough_to_know_its_keys() -> None:
    assert keys_of(b'{"a": {"x": 1}, "b": [1, 2') == {"a": {"x": 1}, "b": None}
    assert keys_of(b'{"a": 1, "b') == {"a": 1}
    assert keys_of(b"[1]") == keys_of(b"{") == keys_of(b"{}") == keys_of(b'{"a" 1}') == {}


def test_a_source_gives_its_lines_and_what_is_in_compressed_files(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"a":1}\n\n {"b":2} \r\n{"c":3}'
    lines = [(1, {"a": 1}), (3, {"b": 2}), (4, {"c": 3})]
    assert list(Source.of(text).json_lines()) == lines
    assert [line for _, line in Source.of(text).lines()] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    for name, data in (("x.jsonl.gz", gzip.compress(text)), ("x.jsonl.zst", _zstd(text))):
        (tmp_path / name).write_bytes(data)
        with Source.open(tmp_path / name) as source:
            assert source.head.first == {"a": 1}
            assert list(source.json_lines()) == lines
            source.rewind()
            assert list(source.json_lines()) == lines
    for damaged in (gzip.compress(text)[:12], b"\x1f\x8b"):
        with pytest.raises(CodecError, match="damaged"):
            Source.of(damaged)


def _zstd(data: bytes) -> bytes:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd  # type: ignore[no-redef,unused-ignore]
    compressed: bytes = zstd.compress(data)
    return compressed


class Pipe(io.RawIOBase):
    """Bytes that come a few at a time, and once."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(memoryview(buffer)[:1000])


def test_a_pipe_is_looked_at_and_then_read_whole() -> None:
    text = b'{"role":"user","content":"x"}\n' * 5000
    source = Source(io.BufferedReader(Pipe(text)))

    assert source.head.is_lines
    assert not source.can_rewind
    assert source.data() == text
    packed = Source(io.BufferedReader(Pipe(gzip.compress(text))))
    assert not packed.can_rewind
    assert packed.data() == text


def zipped(**files: str | bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def chat(title: str) -> dict[str, Any]:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [title]}, "recipient": "all"}
    return {"title": title, "current_node": "n", "mapping": {"n": {"id": "n", "parent": None, "message": said}}}


@pytest.mark.parametrize(
    "files",
    [
        {"user.json": "{}", "conversations.json": json.dumps([chat("a"), chat("b")]), "chat.html": "<html>"},
        {"x/conversations.json": json.dumps([chat("a"), chat("b")]), "__MACOSX/x/._conversations.json": b"\0"},
        {"conversations-001.json": json.dumps([chat("b")]), "conversations-000.json": json.dumps([chat("a")])},
        {"conversations-0.json": json.dumps([chat("a")]), "conversations-1.json": "[]", "conversations-10.json": "[]\n"}
        | {"conversations-2.json": json.dumps([chat("b")], indent=1)},
    ],
)
def test_an_export_is_read_from_the_zip_file_it_comes_in(files: dict[str, str | bytes], tmp_path: Path) -> None:
    """Whole or in numbered files, from disk or through a pipe, and a second time."""
    data = zipped(**files)
    (tmp_path / "export.zip").write_bytes(data)
    kind = format_by_name("chatgpt")

    with Source.open(tmp_path / "export.zip") as source:
        assert guess(source) is kind
        for _ in range(2):
            assert [each.session.title for each in kind.transcripts(source)] == ["a", "b"]
            source.rewind()
    piped = Source(io.BufferedReader(Pipe(data)))
    assert [each.session.title for each in kind.transcripts(piped)] == ["a", "b"]
    assert guess(data) is kind


def test_a_zip_file_of_something_else_says_what_is_in_it() -> None:
    with pytest.raises(CodecError, match=r"x\.zip: a zip file without a conversations\.json: it holds a\.txt, b\.txt"):
        Source.of(zipped(**{"a.txt": "", "b.txt": ""}), "x.zip")
    with pytest.raises(CodecError, match="and 2 more"):
        Source.of(zipped(**{f"{name}.txt": "" for name in "abcdefg"}))
    with pytest.raises(CodecError, match="it holds nothing"):
        Source.of(zipped())


def test_damage_in_a_packed_file_is_named_wherever_it_is() -> None:
    """Not only in the bytes that are looked at first."""
    chats = json.dumps([chat(f"{number:x}" * 40) for number in range(4_000)]).encode()
    whole = zipped(**{"conversations.json": chats})
    torn = bytearray(whole)
    torn[len(torn) // 2 : len(torn) // 2 + 200] = bytes(200)
    kind = format_by_name("chatgpt")

    for data in (bytes(torn), gzip.compress(chats)[:-9000], _zstd(chats)[:-9000]):
        reading = kind.transcripts(Source.of(data, "export"))
        assert next(reading).session.title == "0" * 40
        with pytest.raises(CodecError, match=r"export: it is compressed, and damaged|byte \d+: not JSON"):
            list(reading)
    with pytest.raises(CodecError, match="damaged"):
        Source.of(whole[:-30])


def test_a_large_export_is_unpacked_as_it_is_read() -> None:
    """Sixty megabytes, packed to a few; the memory that takes is counted."""
    import tracemalloc

    one = json.dumps(chat("x" * 20_000))
    data = zipped(**{"conversations.json": f"[{','.join([one] * 1500)}]"})
    tracemalloc.start()
    count = sum(1 for _ in format_by_name("chatgpt").transcripts(Source.of(data)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (count, peak < 12_000_000) == (1500, True)


def test_text_that_is_not_utf8_is_named_by_its_line() -> None:
    with pytest.raises(CodecError, match="line 2"):
        Source.of(b"a\n\xff").text()
    with pytest.raises(CodecError, match="not JSON"):
        Source.of(b"{", "x.json").json()
    with pytest.raises(UsageError, match=r"Source\.open"):
        Source.of(Path("x"))


@given(transcripts())
@settings(max_examples=settings().max_examples // 3)
def test_a_file_read_twice_is_flattened_as_one_that_is_held(given_one: Transcript) -> None:
    """The current branch, whether the transcript was in memory or not."""

    def chain(**options: Any) -> tuple[list[str], list[Any]]:
        ledger = Ledger(places=None)
        found = [piece for piece in flattened(given_one.pieces(), ledger, "x", **options) if isinstance(piece, Entry)]
        return [entry.id for entry in found], ledger.totals

    held, told = chain()
    assert (held, told) == chain(again=given_one.pieces)
    assert held == [entry.id for entry in given_one.linear()] or _is_reordered(given_one)


def _is_reordered(transcript: Transcript) -> bool:
    """Parents after their children, or several of them: then the order is the file's."""
    at = {entry.id: number for number, entry in enumerate(transcript.entries)}
    return any(
        len(entry.parent_ids) > 1 or any(at.get(parent, -1) > number for parent in entry.parent_ids)
        for number, entry in enumerate(transcript.entries)
    )


@given(wire_messages)
def test_messages_are_read_soon_and_as_ever(message: dict[str, Any]) -> None:
    """What is read in a short way is what the long way gives."""
    plain = json.loads(json.dumps(message, default=lambda data: data.hex()))
    entry = MessageReader().take(json.dumps(plain).encode())

    read, slow = entry.message, decode_message(plain)
    assert (read.role, read.parts, read.id) == (slow.role, slow.parts, slow.id) or any(
        part.blob is not None for part in read.parts
    )
    if is_usual(plain):
        assert encode_message(read, entry.blobs) == [plain]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "a", "tool_calls": [{"name": "x", "arguments": '{"a": 1}', "id": "k"}]},
        {"role": "assistant", "content": "a", "tool_calls": [{"name": "x", "arguments": "cut", "id": "k"}]},
        {"role": "assistant", "content": "a", "tool_calls": []},
        {"role": "tool", "content": "a", "call_id": "k"},
        {"role": "tool", "content": "a", "call_id": ""},
        {"role": "user", "content": "a", "call_id": "k"},
        {"role": "critic", "content": "a"},
        {"role": "tool", "content": "a"},
    ],
)
def test_usual_messages_are_read_as_ever(message: dict[str, Any]) -> None:
    read = MessageReader().entry(message).message
    slow = decode_message(message)
    assert (read.role, read.parts, read.id) == (slow.role, slow.parts, slow.id)


def test_numbers_past_64_bits_are_kept() -> None:
    """J-02: the fast decoder would make a float of them."""
    line = b'{"role":"user","content":"x","extra":{"n":123456789012345678901234567890}}'
    assert next(format_by_name("ndjson").transcripts(line)).entries[0].native == ("wire", json.loads(line), None)


def test_converting_holds_no_more_than_a_few_messages(tmp_path: Path) -> None:
    """Twenty megabytes through every streaming format, and the memory that takes is counted."""
    import tracemalloc

    message = {"role": "user", "content": "x" * 20_000}
    (tmp_path / "big.ndjson").write_bytes(b"\n".join([json.dumps(message).encode()] * 1000))

    class Gone:
        def write(self, data: bytes) -> None:
            self.size = len(data)

    given_format = format_by_name("ndjson")
    for kind in [format_by_name(name) for name in ("json", "ndjson", "stf", "markdown", "weft", "toml")]:
        with Source.open(tmp_path / "big.ndjson") as source:
            tracemalloc.start()
            convert(source, Gone(), kind, of=given_format)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 8_000_000, kind


@pytest.mark.parametrize("to", ["claude-code", "codex", "weft", "ndjson"])
def test_a_session_of_any_length_is_converted_in_the_same_memory(to: str, tmp_path: Path) -> None:
    """A session that is much longer takes no more, though it is read back while it is written."""
    import tracemalloc

    def lines(count: int) -> Iterator[bytes]:
        for number in range(count):
            role = "assistant" if number % 2 else "user"
            message = {"role": role, "content": [{"type": "text", "text": "x" * 20_000}]}
            names = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s"}
            yield json.dumps({"type": role, **names, "cwd": "/", "message": message}).encode() + b"\n"

    class Gone:
        def write(self, data: bytes) -> None:
            self.size = len(data)

    peaks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(converting, "HELD_BYTES", 1000)
        patch.setattr(proof, "HELD_PIECES", 50)
        for count in (150, 400):
            (tmp_path / "session.jsonl").write_bytes(b"".join(lines(count)))
            with Source.open(tmp_path / "session.jsonl") as source:
                tracemalloc.start()
                ledger = convert(source, Gone(), format_by_name(to), of=format_by_name("claude-code"))
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
            assert ledger.kept["message"] == count
    assert peaks[1] < peaks[0] + 1_500_000  # of five megabytes more


def test_lines_that_have_no_place_are_not_held_until_the_end(tmp_path: Path) -> None:
    """Issue 8, speed: memory that does not grow with the file, though most of it is lines without a place in Codex."""
    import tracemalloc

    def lines(count: int) -> Iterator[bytes]:
        for number in range(count):
            names = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s"}
            message = {"role": "user", "content": f"line {number}"}
            yield json.dumps({"type": "user", **names, "cwd": "/", "message": message}).encode() + b"\n"
            yield json.dumps({"type": "progress", "data": f"{number}" + "x" * 20_000}).encode() + b"\n"

    class Gone:
        def write(self, data: bytes) -> None:
            self.size = len(data)

    peaks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(converting, "HELD_BYTES", 1000)
        patch.setattr(proof, "HELD_PIECES", 50)
        patch.setattr(lockstep, "STRAYS_HELD", 20)
        for count in (100, 350):
            (tmp_path / "session.jsonl").write_bytes(b"".join(lines(count)))
            with Source.open(tmp_path / "session.jsonl") as source:
                tracemalloc.start()
                ledger = convert(source, Gone(), format_by_name("codex"), of=format_by_name("claude-code"))
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
            assert ("lost", "strays", "codex has no place for it", count) in ledger.totals
    assert peaks[1] < peaks[0] + 1_500_000  # of five megabytes more


def test_a_long_session_of_many_branches_is_compared_in_time() -> None:
    """Issue 8, speed: what points where is found once for all entries, not by looking through them for each."""
    import time

    step = lockstep.Lockstep()
    count = 20_000
    entries = [
        Entry(f"e{n}", Message("user", (Part("text", "x"),)), (f"e{n - 2}",) if n > 1 else ()) for n in range(count)
    ]
    began = time.process_time()
    given = step.watch(iter(entries))
    found: list[Any] = []
    for entry in given:
        step.find(entry)
        found += step.differences()
    found += step.rest()

    assert found == []
    assert time.process_time() - began < 4


def test_entries_that_are_late_are_like_any_other() -> None:
    import copy
    import dataclasses

    late = MessageReader().entry({"role": "user", "content": "x"})
    there = Entry("1", Message("user", (Part("text", "x"),), timestamp=late.message.timestamp))

    assert late == there
    assert copy.copy(late) == dataclasses.replace(late, model=None) == there
    assert (late.model, late.usage, late.finish_reason) == (None, None, None)
    assert (late.parent_ids, dict(late.extras)) == ((), {})
    with pytest.raises(AttributeError):
        _ = late.nothing
    with pytest.raises(dataclasses.FrozenInstanceError):
        late.id = "2"  # type: ignore[misc]
    read = next(gather(format_by_name("json").pieces(Source.of('[{"role":"u","content":""}]'))))
    assert [entry.id for entry in read.entries] == ["1"]


def test_a_large_file_with_branches_is_read_twice_and_written_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too large to be held while its branches are sorted out gives the same file and the same account."""
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "High water?"}},
        {"type": "user", "uuid": "u2", "parentUuid": None, "message": {"role": "user", "content": "Low water?"}},
        {
            "type": "assistant",
            "uuid": "a2",
            "parentUuid": "u2",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "At noon."}]},
        },
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps({'sessionId': 's', **line})}\n" for line in lines))

    def converted() -> tuple[bytes, Any]:
        sink = io.BytesIO()
        with Source.open(path) as source:
            ledger = convert(source, sink, format_by_name("json"), of=format_by_name("claude-code"))
        return sink.getvalue(), ledger.to_dict()

    held = converted()
    monkeypatch.setattr(converting, "HELD_BYTES", 0)

    assert converted() == held
    assert b"Low water?" in held[0]
    assert b"High water?" not in held[0]


def test_conversations_come_one_by_one_whatever_stands_between_them() -> None:
    first, second = (Transcript.of([Message("user", (Part("text", name),))]) for name in ("one", "two"))
    pieces = chain(first.pieces(), [Stray("x", "between")], second.pieces(), [Opening()])

    found = [[piece.__class__.__name__ for piece in inner] for _, inner in converting.conversations(pieces)]

    assert found == [["Opening", "Entry", "Closing"], ["Opening", "Entry", "Closing"], ["Opening"]]
