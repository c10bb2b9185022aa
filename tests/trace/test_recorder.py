"""The recorder and its files: whole lines or none, whoever writes, whatever fails."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from weft.errors import UsageError
from weft.trace import Capture, Masker, Meta, Recorder, masker_for, open_sink, recover
from weft.trace.decoding import Decoding, zstd_module
from weft.trace.journal import read_part
from weft.trace.multipart import read_multipart

NO_SECRETS = Masker(())


def a_meta(**more: Any) -> Meta:
    return Meta(request_type="application/json", path="/v1/x", **more)


def record_one(recorder: Recorder, value: Any, answer: bytes = b'{"ok":1}') -> Capture:
    capture = recorder.begin(a_meta(), NO_SECRETS)
    capture.request_data(json.dumps(value).encode())
    capture.response_head(200, "application/json", "")
    capture.response_data(answer)
    capture.end()
    return capture


def lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    if path.name.endswith(".zst"):
        data = zstd_module().decompress(data)
    return [json.loads(line) for line in data.splitlines()]


@contextmanager
def a_recorder(path: Path, **more: Any) -> Iterator[Recorder]:
    recorder = Recorder(open_sink(str(path)), **more)
    try:
        yield recorder
    finally:
        recorder.close()


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst", "deep/er/t.jsonl"])
def test_records_are_appended_and_private(tmp_path: Path, name: str) -> None:
    """C-4: folders are made, nobody else may read the file (K-05), a second recording goes on where the first ended."""
    path = tmp_path / name
    for number in range(3):
        with a_recorder(path) as recorder:
            record_one(recorder, {"n": number})
    assert [record["request"]["n"] for record in lines(path)] == [0, 1, 2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_threads_do_not_interleave(tmp_path: Path) -> None:
    """C-4: concurrent recordings of one process."""
    path = tmp_path / "t.jsonl"
    with a_recorder(path) as recorder:
        workers = [
            threading.Thread(
                target=lambda start=start: [record_one(recorder, {"n": n}) for n in range(start, start + 50)]
            )
            for start in range(0, 400, 50)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert sorted(record["request"]["n"] for record in lines(path)) == list(range(400))


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst"])
def test_a_torn_end_is_moved_away(tmp_path: Path, name: str) -> None:
    """C-5: after a kill in the middle of a write, the next recording leaves no bad line behind; the piece is kept."""
    path = tmp_path / name
    with a_recorder(path) as recorder:
        record_one(recorder, {"n": 1})
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:30])
    with a_recorder(path) as recorder:
        record_one(recorder, {"n": 2})
    assert [record["request"]["n"] for record in lines(path)] == [1, 2]
    assert path.with_name(f"{name}.torn").read_bytes().startswith(whole[:30])


def test_a_last_line_without_its_end_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"request":{"n":0}}')
    with a_recorder(path) as recorder:
        record_one(recorder, {"n": 1})
    assert [record["request"]["n"] for record in lines(path)] == [0, 1]


def test_a_file_of_nothing_but_a_torn_line_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"request":{"n"' + b"x" * 100_000)
    with a_recorder(path) as recorder:
        record_one(recorder, {"n": 1})
    assert [record["request"]["n"] for record in lines(path)] == [1]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst"])
def test_a_file_that_is_rotated_away_is_opened_anew(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with a_recorder(path) as recorder:
        record_one(recorder, {"n": 1})
        recorder.flush()
        path.rename(tmp_path / f"old-{name}")
        record_one(recorder, {"n": 2})
    assert [record["request"]["n"] for record in lines(tmp_path / f"old-{name}")] == [1]
    assert [record["request"]["n"] for record in lines(path)] == [2]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst"])
def test_what_is_written_survives_a_kill(tmp_path: Path, name: str) -> None:
    """A frame a batch: `.jsonl.zst` is valid to its last batch after kill -9; what was under way is found again."""
    path = tmp_path / name
    script = (
        "import sys, time\nfrom tests.trace.test_recorder import *\n"
        "r = Recorder(open_sink(sys.argv[1]), tick_seconds=0.02)\n"
        "for n in range(20): record_one(r, {'n': n}); r.flush()\n"
        "c = r.begin(a_meta(), NO_SECRETS); c.request_data(b'{\"n\":20}')\n"
        "c.response_head(200, 'text/event-stream', '')\n"
        "c.response_data(b'data: 1\\n\\n')\ntime.sleep(0.3); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.wait()
    process.stdout.close()
    assert [record["request"]["n"] for record in lines(path)] == list(range(20))
    if name.endswith(".zst"):  # opened to be read, or to be written on
        from weft.trace import read_records

        assert len(list(read_records(path))) == 21
    else:
        with a_recorder(path) as recorder:
            assert recorder.tally.recovered == 1
    last = lines(path)[-1]
    assert (last["request"], last["reason"], last["response"]["sse_lines"]) == ({"n": 20}, "killed", ["data: 1"])


def test_the_journal_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with a_recorder(path, tick_seconds=0.01) as recorder:
        capture = recorder.begin(a_meta(), NO_SECRETS)
        capture.request_data(b'{"n":1}')
        end = time.monotonic() + 5
        while capture.part is None and time.monotonic() < end:
            time.sleep(0.01)
        (part,) = path.with_name("t.jsonl.journal").glob("*/*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in (part.parent, part.parent.parent)} == {0o700}
        assert read_part(part).request_body == b'{"n":1}'
        other = open_sink(str(path))
        assert recover(other) == 0
        other.close()
        capture.response_head(200, "application/json", "")
        capture.response_data(b"{}")
        capture.end()
    assert [record["state"] for record in lines(path)] == ["complete"]
    assert [one.name for one in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_torn_part_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with a_recorder(path, tick_seconds=0.01) as recorder:
        capture = recorder.begin(a_meta(), NO_SECRETS)
        capture.request_data(b'{"n":1}')
        while capture.part is None:
            time.sleep(0.01)
        data = capture.part.read_bytes()
        torn = tmp_path / "torn.part"
        for cut in range(len(data)):
            torn.write_bytes(data[:cut])
            read = read_part(torn)
            assert read.request_body in (b"", b'{"n":1}')
            assert read.meta.reason == "killed"
        capture.discard()
    assert path.read_bytes() == b""


class OddSink:
    """A sink with trouble of the test's choice."""

    def __init__(self, folder: Path, problem: Exception, *, only: int | None = None) -> None:
        self.output, self.journal = str(folder / "odd"), folder / "journal"
        self._problem, self._only = problem, only
        self.written: list[int] = []

    def write(self, batch: Sequence[Capture]) -> None:
        numbers = [capture.exchange().request["n"] for capture in batch]
        if self._only is None or self._only in numbers:
            raise self._problem
        self.written += numbers

    def close(self) -> None: ...


def test_a_recording_that_cannot_be_written_holds_up_no_other(tmp_path: Path) -> None:
    told: list[str] = []
    sink = OddSink(tmp_path, RuntimeError("a bug"), only=3)
    recorder = Recorder(sink, tell=told.append)
    for number in range(6):
        record_one(recorder, {"n": number})
    tally = recorder.close()
    assert sorted(sink.written) == [0, 1, 2, 4, 5]
    assert (tally.recorded, tally.lost) == (5, 1)
    assert any("RuntimeError: a bug" in text for text in told)


def test_what_the_output_never_takes_waits_in_the_journal(tmp_path: Path) -> None:
    """X-13: full to the very end: kept beside, and written when the output is next opened."""
    sink = OddSink(tmp_path, OSError(28, "No space left on device"))
    recorder = Recorder(sink)
    for number in range(3):
        record_one(recorder, {"n": number})
    tally = recorder.close(timeout_seconds=0.2)
    assert (tally.recorded, tally.left) == (0, 3)
    healed = OddSink(tmp_path, RuntimeError(), only=-1)
    assert recover(healed) == 3
    assert sorted(healed.written) == [0, 1, 2]


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """D-06: a full disk: nothing torn, and everything there once there is room again."""
    import resource

    path = tmp_path / "t.jsonl"
    script = (
        "import sys, resource, signal, time\nfrom tests.trace.test_recorder import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "told = []\nr = Recorder(open_sink(sys.argv[1]), tell=told.append)\nrecord_one(r, {'n': 0}); r.flush()\n"
        "size = os.path.getsize(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))\n"
        "record_one(r, {'n': 1}); time.sleep(0.3)\nassert os.path.getsize(sys.argv[1]) == size, 'torn'\nassert told\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "assert r.flush(5); print(r.close())\n"
    )
    assert resource.RLIM_INFINITY
    ran = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert [record["request"]["n"] for record in lines(path)] == [0, 1]


def test_a_large_exchange_is_finished_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with a_recorder(path) as recorder:
        capture = recorder.begin(a_meta(), masker_for((b"sk-large-0123456789",)))
        capture.request_data(b'{"pad":"')
        for _ in range(10):
            capture.request_data(b"x" * (1 << 20) + b"sk-large-0123456789")
        capture.request_data(b'"}')
        capture.response_head(200, "application/json", "")
        capture.response_data(b"{}")
        capture.end()
    (record,) = lines(path)
    assert len(record["request"]["pad"]) == 10 * ((1 << 20) + 4)
    assert b"sk-large" not in path.read_bytes()
    assert recorder.tally.recorded == 1
    assert [one.name for one in tmp_path.iterdir()] == ["t.jsonl"]


def test_one_line_of_a_hundred_mebibytes(tmp_path: Path) -> None:
    """S-07: raw kept; beyond the limit, cut and said to be."""
    path = tmp_path / "t.jsonl"
    with a_recorder(path, body_bytes=9 << 20) as recorder:
        capture = recorder.begin(a_meta(), NO_SECRETS)
        capture.request_data(b'{"stream":true}')
        capture.response_head(200, "text/event-stream", "")
        capture.response_data(b"data: ")
        for _ in range(20):
            capture.response_data(b"x" * (5 << 19))
            time.sleep(0.01)
        capture.end()
    (record,) = lines(path)
    assert [len(line) for line in record["response"]["sse_lines"]] == [9 << 20]
    assert record["notes"] == ["response: only the first 9437184 bytes were recorded"]


@pytest.mark.parametrize("data", [b"\x1f\x8bnonsense that is not deflate", b"plain"])
def test_a_broken_coding_keeps_what_could_be_read(data: bytes) -> None:
    decoding = Decoding("gzip", 100)
    assert decoding.feed(data) == b""
    assert decoding.note.startswith("decoded up to an error")
    assert decoding.feed(b"more") == b""


def test_codings_of_every_kind_are_undone(tmp_path: Path) -> None:
    import gzip
    import zlib

    body = b"warp " * 500
    bare = zlib.compressobj(9, zlib.DEFLATED, -15)
    zstd = zstd_module()
    cases = {
        "gzip": gzip.compress(body[:1000]) + gzip.compress(body[1000:]),  # in members
        "deflate": bare.compress(body) + bare.flush(),  # without its wrapper
        "zstd": zstd.compress(body[:7]) + zstd.compress(body[7:]),  # in frames
        "identity": body,
        "gzip, zstd": zstd.compress(gzip.compress(body)),
    }
    for coding, raw in cases.items():
        for step in (1, 5, len(raw)):
            decoding = Decoding(coding, 1 << 20)
            assert b"".join(decoding.feed(raw[at : at + step]) for at in range(0, len(raw), step)) == body, (
                coding,
                step,
            )
    assert tmp_path.exists()


def test_multipart_of_odd_forms() -> None:
    assert read_multipart(b"x", "multipart/form-data") is None
    assert read_multipart(b"no boundary here", "multipart/form-data; boundary=B") is None
    (part,) = (
        read_multipart(
            b"--B B\r\nContent-Disposition: form-data; name=a\r\n\r\n\xff\r\n--B B--", 'multipart/mixed; boundary="B B"'
        )
        or []
    )
    assert part.as_json(None) == {"name": "a", "base64": "/w=="}


def test_without_a_place_for_blobs_bytes_are_in_the_record(tmp_path: Path) -> None:
    with a_recorder(tmp_path / "t.jsonl") as recorder:
        capture = recorder.begin(Meta(request_type="audio/wav"), NO_SECRETS)
        capture.request_data(b"\xff\x00")
        capture.end("error", "it broke")
        recorder.flush()
        exchange = capture.exchange()
    assert exchange.request == {"raw": "", "base64": "/wA="}
    assert (exchange.error, exchange.reason) == ("it broke", "error")


def test_invalid_utf8_in_a_stream_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with a_recorder(path) as recorder:
        capture = recorder.begin(a_meta(), NO_SECRETS)
        capture.request_data(b"{}")
        capture.response_head(200, "text/event-stream", "")
        capture.response_data(b"data: \xff\r\n\r\ndata: [DONE]\r\r")
        capture.end()
    (record,) = lines(path)
    assert record["response"]["sse_lines"] == ["data: \ufffd", "data: [DONE]"]
    kept = path.with_name("t.jsonl.blobs") / "content" / record["response_blob"]["sha256"]
    assert kept.read_bytes() == b"data: \xff\r\n\r\ndata: [DONE]\r\r"


def test_an_output_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    with pytest.raises(OSError, match=r"t\.jsonl"):
        open_sink(str(tmp_path / "t.jsonl" / "x.jsonl")) if (tmp_path / "t.jsonl").write_bytes(
            b""
        ) is not None else None


def test_zstd_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"weft\[proxy\]"):
        zstd_module()
    decoding = Decoding("zstd", 10)
    assert decoding.feed(b"abc") == b"abc"
    assert decoding.note == "kept as it came: nothing here decodes zstd"


def test_what_looks_like_a_key_is_taken_out_line_by_line(tmp_path: Path) -> None:
    """K-03: also of what goes into the journal piece by piece, and of WebSocket messages."""
    path = tmp_path / "t.jsonl"
    key = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8v"
    with a_recorder(path, redacts=True, tick_seconds=0.01) as recorder:
        capture = recorder.begin(a_meta(), NO_SECRETS)
        capture.request_data(b"{}")
        capture.response_head(200, "text/event-stream", "")
        for at in range(0, len(key), 10):
            capture.response_data((f"data: {key[:10]}" if not at else key[at : at + 10]).encode())
            time.sleep(0.05)
        capture.response_data(b"\n\ndata: [DONE]\n\n")
        capture.frame(from_client=True, is_text=True, payload=f"my key: {key}".encode())
        capture.frame(from_client=False, is_text=True, payload=b"\xff")
        time.sleep(0.1)
        assert all(key.encode() not in part.read_bytes() for part in path.with_name("t.jsonl.journal").glob("*/*.part"))
        capture.end()
    (record,) = lines(path)
    assert record["response"]["sse_lines"] == ["data: [redacted:anthropic]", "data: [DONE]"]
    assert [frame.get("text", frame.get("base64")) for frame in record["frames"]] == [
        "my key: [redacted:anthropic]",
        "/w==",
    ]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_store_is_an_output_too(tmp_path: Path, is_there: bool) -> None:
    """The recorder cares for a sink, not for what is behind it; a name that ends in a slash is a folder to be made."""
    folder = tmp_path / "store"
    if is_there:
        folder.mkdir()
    sink = open_sink(str(folder) if is_there else f"{folder}/")
    recorder = Recorder(sink)
    record_one(recorder, {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    assert recorder.close().recorded == 1
