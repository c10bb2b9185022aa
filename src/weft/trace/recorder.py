"""The recorder: takes captures from the traffic, and sees to it that they are kept. Never in the traffic's way.

Two threads. The writer waits for finished captures and hands all there are to the sink at once, so that one sync to the
disk serves many. The journal looks at what is still under way a few times a second and saves what is new of it [X-06].
What waits in memory is bounded; beyond the bound recordings are lost, and counted [X-13]. A capture too large to be
parsed beside traffic (holding Python's lock would stall it [X-14]) is finished by a process of its own, from its part
in the journal.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep

from weft.errors import StoreError
from weft.trace.capture import Capture, Meta
from weft.trace.journal import Journal, read_part, recover
from weft.trace.masking import Masker
from weft.trace.record import is_recorded
from weft.trace.sink import Sink

__all__ = ["Recorder", "Tally"]

MEMORY_BYTES = 48 << 20  # 64 MiB are allowed; the allocator takes its share
BODY_BYTES = 128 << 20  # of one body; the rest is left out, and said to be
EAGER_BYTES = 1 << 20  # a capture that holds this much is journaled at once
LARGE_BYTES = 8 << 20  # a capture of this size is finished by another process
BATCH_BYTES = 16 << 20
TICK_SECONDS = 0.25
GATHER_SECONDS = 0.01  # after the first finished capture: others share its sync, and the traffic is woken less often
RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 5.0


@dataclass(slots=True)
class Tally:
    """What became of the exchanges so far."""

    recorded: int = 0
    incomplete: int = 0
    recovered: int = 0
    lost: int = 0
    left: int = 0  # in the journal, as the output would not take them; whoever opens it next does


class Recorder:
    """Keeps what the traffic shows it. One for a process; any thread may call it."""

    def __init__(
        self,
        sink: Sink,
        *,
        memory_bytes: int = MEMORY_BYTES,
        body_bytes: int = BODY_BYTES,
        redacts: bool = False,
        tick_seconds: float = TICK_SECONDS,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Recover what an earlier process left, and start. `tell` is told of trouble, from any thread."""
        self.tally = Tally()
        self._sink = sink
        self._memory_bytes = memory_bytes
        self._body_bytes = body_bytes
        self._redacts = redacts
        self._tick = tick_seconds
        self._tell = tell
        self._told: dict[str, float] = {}
        self._markers: dict[str, threading.Event] = {}
        self._journal = Journal(sink.journal)
        self._open: dict[str, Capture] = {}
        self._finished: SimpleQueue[Capture | None] = SimpleQueue()
        self._pending = 0
        self._lock = threading.Lock()
        self._nudge = threading.Event()
        self._closing = False
        self._deadline = float("inf")
        self._helpers: list[tuple[subprocess.Popen[bytes], Capture]] = []
        self.tally.recovered = recover(sink)
        # Daemons: a program that forgets to close its recorder still ends.
        self._threads = [
            threading.Thread(target=target, name=f"weft-{name}", daemon=True)
            for name, target in (("writer", self._write_on), ("journal", self._journal_on))
        ]
        for thread in self._threads:
            thread.start()

    # -- the traffic's side ----------------------------------------------------------------------------------------

    def begin(self, meta: Meta, masker: Masker) -> Capture:
        """Start recording an exchange."""
        capture = Capture(meta, masker, self, limit_bytes=self._body_bytes, redacts=self._redacts)
        if self._pending >= self._memory_bytes:
            capture.is_lost = True
            capture.note("recording could not keep up: the rest is missing")
            self._count_lost(capture)
        self._open[capture.id] = capture
        return capture

    def admit(self, capture: Capture, size_bytes: int) -> bool:
        """Tell whether so many bytes more may be held for a capture."""
        with self._lock:
            fits = self._pending + size_bytes <= self._memory_bytes
            if fits:
                self._pending += size_bytes
                capture.kept_bytes += size_bytes
        if not fits:
            self._count_lost(capture)
        if capture.kept_bytes > EAGER_BYTES or not fits:
            self._nudge.set()
        return fits

    def finished(self, capture: Capture) -> None:
        """Take a capture that has ended."""
        self._open.pop(capture.id, None)
        self._finished.put(capture)

    def discarded(self, capture: Capture) -> None:
        """Forget a capture that is not to be recorded."""
        self._open.pop(capture.id, None)
        capture.meta.method = "GET"  # which nobody records [C-8]
        self._finished.put(capture)

    @property
    def pending_bytes(self) -> int:
        """Tell how much waits in memory."""
        return self._pending

    def flush(self, timeout_seconds: float = 10.0) -> bool:
        """Wait until everything finished so far is written; False if that took too long."""
        done = threading.Event()
        marker = Capture(Meta(method="GET"), Masker(()), None, limit_bytes=0)
        marker.meta.notes.append("flush")
        self._markers[marker.id] = done
        self._finished.put(marker)
        return done.wait(timeout_seconds)

    def close(self, timeout_seconds: float = 10.0) -> Tally:
        """End what is under way as killed, write everything, stop; give what became of it all."""
        if self._closing:
            return self.tally
        for capture in list(self._open.values()):
            capture.end("killed")
        self._deadline = monotonic() + timeout_seconds
        self._closing = True
        self._nudge.set()
        self._finished.put(None)
        for thread in self._threads:
            thread.join(timeout_seconds + 5)
        self._journal.close()
        self._sink.close()
        return self.tally

    # -- the writer --------------------------------------------------------------------------------------------------

    def _write_on(self) -> None:
        waiting: list[Capture] = []
        is_over = False
        while not (is_over and not waiting):
            is_over = self._collect(waiting, is_over=is_over) or is_over
            self._reap()
            try:
                self._write(waiting)
            except (OSError, StoreError) as problem:
                self._trouble(f"recordings cannot be written: {problem}")
                if monotonic() > self._deadline:
                    self._give_up(waiting)
                else:
                    threading.Event().wait(RETRY_SECONDS)
        while self._helpers:
            self._reap(wait=True)

    def _collect(self, waiting: list[Capture], *, is_over: bool) -> bool:
        """Add what is finished to what waits; True when nothing more will come."""
        try:
            capture = self._finished.get(timeout=0 if waiting or is_over else None if not self._helpers else 0.1)
            if not self._closing:
                sleep(GATHER_SECONDS)
            while True:
                if capture is None:
                    is_over = True
                else:
                    waiting.append(capture)
                capture = self._finished.get_nowait()
        except Empty:
            return is_over

    def _write(self, waiting: list[Capture]) -> None:
        while waiting:
            batch: list[Capture] = []
            size = count = 0
            for capture in waiting:
                count += 1
                if self._seal(capture):
                    batch.append(capture)
                    size += len(capture.request_body) + len(capture.response_body)
                if size > BATCH_BYTES:
                    break
            self._hand_over(batch)
            written = {capture.id for capture in batch}
            for capture in waiting[:count]:
                if capture.id in written:
                    self.tally.recorded += 1
                    self.tally.incomplete += capture.meta.reason is not None
                self._forget(capture)
            del waiting[:count]

    def _hand_over(self, batch: list[Capture]) -> None:
        if not batch:
            return
        try:
            self._sink.write(batch)
        except (OSError, StoreError):
            raise
        except Exception as problem:  # noqa: BLE001 - one capture that cannot be written must not hold up the others
            if len(batch) == 1:
                self._count_lost(batch[0])
                self._trouble(f"a recording cannot be written: {type(problem).__name__}: {problem}")
                batch.clear()
                return
            for capture in list(batch):
                alone = [capture]
                self._hand_over(alone)
                if not alone:
                    batch.remove(capture)

    def _seal(self, capture: Capture) -> bool:
        """Bring a finished capture's bodies together; False if there is nothing to write here."""
        with capture.lock:
            if capture.is_sealed:
                return is_recorded(capture.meta, capture.request_body, capture.frames)
            _, clean = capture.drain(is_last=True)
            clean = capture.backlog + clean
            capture.backlog = []
            capture.is_sealed = True
            if capture.part is None and sum(len(data) for _, data in clean) <= LARGE_BYTES:
                capture.absorb(clean)
            else:
                try:
                    path = self._journal.append(capture, clean, is_last=True)
                except OSError:  # no room for the journal: what it has, and the rest from memory
                    if capture.part is not None:
                        _take_back(capture, read_part(capture.part))
                    capture.absorb(clean)
                else:
                    if path.stat().st_size > LARGE_BYTES:
                        self._finish_elsewhere(capture, path)
                        return False
                    _take_back(capture, read_part(path))
        return is_recorded(capture.meta, capture.request_body, capture.frames)

    def _finish_elsewhere(self, capture: Capture, path: Path) -> None:
        command = [sys.executable, "-m", "weft.trace.finishing", str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(self._sink.output.encode())  # not an argument: it may hold a password
                process.stdin.close()
        self._helpers.append((process, capture))
        self._journal.forget(capture)
        capture.part = None  # it is that process's now

    def _reap(self, *, wait: bool = False) -> None:
        for helper in list(self._helpers):
            process, capture = helper
            if wait:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(1.0, self._deadline - monotonic()))
            if process.poll() is None and not wait:
                continue
            self._helpers.remove(helper)
            if process.returncode == 0:
                self.tally.recorded += 1
                self.tally.incomplete += capture.meta.reason is not None
            else:
                self._trouble("a large recording is kept in the journal: it is written when the output is next opened")

    def _forget(self, capture: Capture) -> None:
        self._journal.drop(capture)
        self._release(capture, capture.kept_bytes)
        if (done := self._markers.pop(capture.id, None)) is not None:
            done.set()

    def _give_up(self, waiting: list[Capture]) -> None:
        """Save in the journal what the sink does not take; what that does not take either is lost."""
        for capture in waiting:
            with capture.lock:
                try:
                    if (
                        capture.is_sealed
                        and capture.part is None
                        and is_recorded(capture.meta, capture.request_body, capture.frames)
                    ):
                        self._journal.append(capture, capture.as_pieces(), is_last=True)
                    self.tally.left += capture.part is not None
                    capture.part = None  # left for whoever opens the output next
                except OSError:
                    self._count_lost(capture)
            self._forget(capture)
        waiting.clear()

    # -- the journal --------------------------------------------------------------------------------------------------

    def _journal_on(self) -> None:
        while not self._closing:
            self._nudge.wait(self._tick)
            self._nudge.clear()
            for capture in list(self._open.values()):
                if capture.age_seconds >= self._tick or capture.kept_bytes > EAGER_BYTES:
                    self._save(capture)

    def _save(self, capture: Capture) -> None:
        with capture.lock:
            if capture.is_ended or capture.is_sealed:
                return  # the writer has it
            taken, clean = capture.drain()
            capture.drained_bytes += taken
            clean = capture.backlog + clean
            if not clean and capture.part is not None:
                return
            try:
                self._journal.append(capture, clean)
            except OSError as problem:
                capture.backlog = clean
                self._trouble(f"what is under way cannot be saved: {problem}")
                return
            capture.backlog = []
            self._release(capture, capture.drained_bytes)
            capture.drained_bytes = 0

    # -- shared -------------------------------------------------------------------------------------------------------

    def _release(self, capture: Capture, size_bytes: int) -> None:
        with self._lock:
            self._pending -= size_bytes
            capture.kept_bytes -= size_bytes

    def _count_lost(self, capture: Capture) -> None:
        if not capture.is_counted_lost:
            capture.is_counted_lost = True
            self.tally.lost += 1
            self._trouble(f"recording cannot keep up: {self.tally.lost} lost so far", key="lost")

    def _trouble(self, text: str, *, key: str = "") -> None:
        """Tell of trouble, but not all the time of the same."""
        now = monotonic()
        if now - self._told.get(key or text, -PATIENCE_SECONDS) >= PATIENCE_SECONDS:
            self._told[key or text] = now
            self._tell(text)


def _take_back(capture: Capture, read: Capture) -> None:
    capture.request_body, capture.response_body, capture.frames = read.request_body, read.response_body, read.frames
