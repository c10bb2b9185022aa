"""Blob folders under kill -9 and many processes: real ones, nothing simulated."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from weft.blobs import BlobReference, FileBlobStore

if TYPE_CHECKING:
    from pathlib import Path

PUT_FOREVER = """
import sys
from weft.blobs import FileBlobStore
store, size, number = FileBlobStore(sys.argv[1]), int(sys.argv[2]), 0
print("ready", flush=True)
while True:
    ref = store.put_blob(number.to_bytes(8) * (size // 8))
    print(ref.id, flush=True)
    number += 1
"""

PUT_THE_SAME = """
import json, sys
from weft.blobs import FileBlobStore
store = FileBlobStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    ref = store.put_blob(b"same content" * 1000)
    print(json.dumps([ref.id, ref.sha256, ref.media_type, ref.kind, ref.size]), flush=True)
"""

PUT_AND_COLLECT_FOREVER = """
import sys
from weft.blobs import FileBlobStore
store = FileBlobStore(sys.argv[1])
print("ready", flush=True)
while True:
    ref = store.put_blob(b"reused", kind="old")
    if ref.id < "8":
        store.delete_blob(ref)
    else:
        store.prune_blobs(kind="old", max_bytes=0)
"""

PRUNE_OLD = """
import sys
from weft.blobs import FileBlobStore
store = FileBlobStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
store.prune_blobs(kind="old", max_bytes=0)
"""

IN_AND_OUT = """
import json, sys
from weft.blobs import FileBlobStore, put_file

def peak():
    try:  # of this program alone; what getrusage says includes the parent that started it
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except FileNotFoundError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)

store = FileBlobStore(sys.argv[1])
before = peak()
ref = put_file(store, sys.argv[2])
read = sum(len(chunk) for chunk in store.read_chunks(ref))
print(json.dumps([ref.size, read, peak() - before]))
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a program and wait until it is ready."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill a process without a chance to clean up; give the whole lines it had written."""
    process.send_signal(signal.SIGKILL)
    written, _ = process.communicate()
    return [line.rstrip("\n") for line in written.splitlines(keepends=True) if line.endswith("\n")]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kill_while_writing(root: Path, *, runs: int, size: int, seconds: tuple[float, float]) -> None:
    chance = random.Random(1)
    acknowledged: list[str] = []

    for _ in range(runs):
        process = start(PUT_FOREVER, root, size)
        time.sleep(chance.uniform(*seconds))
        acknowledged += kill(process)

        store = FileBlobStore(root)
        listed = {entry.ref.id: entry.ref for entry in store.list_blobs()}
        assert set(acknowledged) <= set(listed)
        assert all(path.name == sha256(path) for path in (root / "content").glob("[!.]*"))
        assert all(path.stat().st_size == size for path in root.glob("*.blob"))
        assert all(sha256(root / f"{ref.id}.blob") == ref.sha256 for ref in listed.values())
        for ref in listed.values():  # or the disk fills up before all runs are done
            store.delete_blob(ref)
        for path in [*root.glob("*.blob"), *(root / "content").glob("*")]:
            path.unlink()
        acknowledged.clear()


def test_b01_a_writer_that_is_killed_leaves_no_half_blob(tmp_path: Path) -> None:
    """B-01: no partial file under a final name, and everything acknowledged is there."""
    kill_while_writing(tmp_path, runs=4, size=4 << 20, seconds=(0.005, 0.15))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_b01_fifty_killed_writers_of_large_blobs_leave_no_half_blob(tmp_path: Path) -> None:
    """B-01: 64 MiB, 50 runs."""
    kill_while_writing(tmp_path, runs=50, size=64 << 20, seconds=(0.02, 0.6))


def test_b02_one_content_put_by_eight_processes_is_one_file(tmp_path: Path) -> None:
    """B-02: 104 puts at once; one file, one size, every reference valid."""
    processes = [start(PUT_THE_SAME, tmp_path, 13) for _ in range(8)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    written = [line for process in processes for line in process.communicate()[0].splitlines()]
    refs = [BlobReference(*json.loads(line)) for line in written]

    store = FileBlobStore(tmp_path)

    assert [process.returncode for process in processes] == [0] * 8
    assert len({ref.id for ref in refs}) == 104
    assert {store.get_blob(ref) for ref in refs} == {b"same content" * 1000}
    assert {entry.ref for entry in store.list_blobs()} == set(refs)
    assert len({path.stat().st_ino for path in [*tmp_path.glob("*.blob"), *(tmp_path / "content").iterdir()]}) == 1


def put_against_collectors(root: Path, *, rounds: int, collectors: int) -> None:
    processes = [start(PUT_AND_COLLECT_FOREVER, root) for _ in range(collectors)]
    try:
        store = FileBlobStore(root)
        refs = []
        for _ in range(rounds):
            refs.append(store.put_blob(b"reused", kind="new"))
            assert store.get_blob(refs[-1]) == b"reused"
            if len(refs) > 3:  # leave few references, so that the content is often about to go
                assert store.get_blob(refs[0]) == b"reused"
                assert store.delete_blob(refs.pop(0))
        assert [process.poll() for process in processes] == [None] * collectors
    finally:
        for process in processes:
            kill(process)

    assert [FileBlobStore(root).get_blob(ref) for ref in refs] == [b"reused"] * len(refs)


def test_b07_a_blob_reused_while_others_are_collected_is_there(tmp_path: Path) -> None:
    """B-07: whoever was given a reference can read the blob, though the same bytes are deleted all the time."""
    put_against_collectors(tmp_path, rounds=60, collectors=2)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_b07_a_blob_reused_a_thousand_times_is_always_there(tmp_path: Path) -> None:
    """B-07: 1,000 rounds."""
    put_against_collectors(tmp_path, rounds=1_000, collectors=3)


def test_b08_a_collector_that_is_killed_takes_nothing_it_should_not(tmp_path: Path) -> None:
    """B-08: killed midway, three times; what is kept shares its bytes with what goes; the last run finishes."""
    store = FileBlobStore(tmp_path)
    kept = [store.put_blob(b"%d" % number, kind="new") for number in range(10)]
    for number in range(120):
        store.put_blob(b"%d" % (number % 40), kind="old")

    for left in (100, 70, 40):
        process = start(PRUNE_OLD, tmp_path)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        while process.poll() is None and len(list(tmp_path.glob("*.blob"))) > left:
            pass
        kill(process)
        again = FileBlobStore(tmp_path)
        assert [again.get_blob(ref) for ref in kept] == [b"%d" % number for number in range(10)]
    again = FileBlobStore(tmp_path)
    again.prune_blobs(kind="old", max_bytes=0)

    assert {entry.ref for entry in again.list_blobs()} == set(kept)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".tmp-")} == {
        *(f"{ref.id}.blob" for ref in kept),
        *(f"{ref.id}.meta.json" for ref in kept),
        *(ref.sha256 for ref in kept),
    }


def growth_in_and_out(folder: Path, size: int) -> int:
    """Put a file of this size and read it back, in a process of its own; give by how many KiB its peak grew."""
    source = folder / "large.bin"
    with source.open("wb") as file:
        file.truncate(size)

    command = [sys.executable, "-c", IN_AND_OUT, str(folder / "blobs"), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)

    stored, read, grown = json.loads(result.stdout)
    assert (stored, read) == (size, size)
    return int(grown)


def test_b10_a_large_blob_goes_in_and_out_without_filling_the_memory(tmp_path: Path) -> None:
    """B-10: 128 MiB, a quarter of which would be too much."""
    assert growth_in_and_out(tmp_path, 128 << 20) <= 32 << 10


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_b10_a_blob_of_a_gibibyte_takes_at_most_64_mebibytes_of_memory(tmp_path: Path) -> None:
    """B-10: 1 GiB."""
    assert growth_in_and_out(tmp_path, 1 << 30) <= 64 << 10
