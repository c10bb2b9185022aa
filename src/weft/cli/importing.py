"""`weft import`: conversation files into the store, once or for as long as they grow."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.completing import files, formats_named
from weft.cli.render import counted, json_text, note
from weft.cli.storing import as_json, with_store

if TYPE_CHECKING:
    from weft.canon import Transcript
    from weft.formats import Format, Source
    from weft.threads import Incoming, Store

__all__ = ["import_"]

TRACE = "trace"
POLL_SECONDS = 1.0
BATCH_ENTRIES = 400  # are written at once: waiting for the disk after each conversation takes longer than all else
NAMES_SHOWN = 10
WORDS_CHARS = 48  # of a name made of the first words
_NUMBERED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-", re.IGNORECASE)  # as agents name their sessions
PASSED_SHOWN = 3


@dataclass(slots=True)
class _Result:
    """What became of one file."""

    path: str
    format: str = ""
    conversations: int = 0
    turns: int = 0
    bookmarks: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    is_passed_over: bool = False  # it was in a folder and is no conversation

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "format": self.format,
            "conversations": self.conversations,
            "new_turns": self.turns,
            "bookmarks": self.bookmarks,
            "problems": self.problems,
        }


@click.command(name="import")
@click.argument("paths", metavar="PATH...", nargs=-1, shell_complete=files)
@click.option(
    "--from",
    "of",
    metavar="FORMAT",
    shell_complete=formats_named,
    help="What the files are; else their content tells, then their name.",
)
@click.option(
    "-b",
    "--bookmark",
    metavar="NAME",
    help="A name for the current end; else the title, the file's name, or the first words.",
)
@click.option("--no-bookmarks", is_flag=True, help="Put no names on what is imported.")
@click.option("--session", metavar="ID", help="Make turns of a session that was recorded here; empty is the last one.")
@click.option("--watch", is_flag=True, help="Stay, and take in what is added until ctrl-c.")
@as_json
@with_store(reads=False)
def import_(
    *,
    store: Store,
    paths: tuple[str, ...],
    of: str | None,
    bookmark: str | None,
    no_bookmarks: bool,
    session: str | None,
    watch: bool,
    as_json: bool,
) -> None:
    """Bring conversation files into the store, with all their branches.

    For example: weft import ~/.claude/projects

    PATH is a file, a folder (every conversation file in it), or - for stdin. What is there already is used again, so
    doing it twice changes nothing. Lines that cannot be read are told and passed over, and the exit status is 3; so
    are files of a folder that are no conversations, which is no fault.
    With --watch, files that grow or appear are taken in as they do; one that is deleted stays in the store.
    """
    from weft.cli.importtrace import PARTIAL, import_session
    from weft.formats import format_by_name

    if session is not None:
        click.get_current_context().exit(import_session(store, session, as_json=as_json))
    if not paths:
        raise click.UsageError("name a file or a folder, or - for stdin")
    kind = format_by_name(of) if of else None
    job = _Job(store, kind, bookmark, names=not no_bookmarks, as_json=as_json)
    if watch:
        _watch(job, [Path(path) for path in paths])
        return
    for path in paths:
        if path != "-":
            Path(path).stat()  # before anything is taken in: a slip is found at once
    results = [job.take(path, is_found=path not in paths) for path in _files(paths)]
    if as_json and job.results_to_tell:
        click.echo(json_text([result.to_dict() for result in results if result.format != TRACE]))
    elif any(Path(path).is_dir() for path in paths):
        _tell_folder(results)
    if any(result.problems and not result.is_passed_over for result in results) or job.is_partial:
        click.get_current_context().exit(PARTIAL)


def _tell_folder(results: Sequence[_Result]) -> None:
    """Sum a folder up, and name what in it is no conversation."""
    over = [Path(result.path).name for result in results if result.is_passed_over]
    if over:
        more = f" and {len(over) - PASSED_SHOWN:,} more" if len(over) > PASSED_SHOWN else ""
        names = ", ".join(over[:PASSED_SHOWN]) + more
        note(f"passed over {counted(len(over), 'file')}, no conversation by the look: {names}")
    read = [result for result in results if not result.is_passed_over and result.format != TRACE]
    conversations, turns = sum(each.conversations for each in read), sum(each.turns for each in read)
    said = f"{counted(conversations, 'conversation')}, {counted(turns, 'new turn')}"
    click.echo(f"in all: {counted(len(read), 'file')}, {said}")


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if path != "-" and Path(path).is_dir():
            yield from (str(file) for file in _within(Path(path)))
        else:
            yield path


def _within(folder: Path) -> list[Path]:
    """List the files of a folder and those below it, except hidden ones."""
    found = []
    for file in sorted(folder.rglob("*")):
        inner = file.relative_to(folder).parts
        if file.is_file() and not any(part.startswith(".") for part in inner):
            found.append(file)
    return found


class _Job:
    """What to do with each file."""

    def __init__(self, store: Store, kind: Format | None, bookmark: str | None, *, names: bool, as_json: bool) -> None:
        self._store = store
        self._kind = kind
        self._bookmark = bookmark
        self._names = names
        self._as_json = as_json
        self.is_partial = False
        self.results_to_tell = 0

    def take(self, path: str, *, is_watched: bool = False, is_found: bool = False) -> _Result:
        """Take in a file and tell what came of it; of one that was found in a folder, only if it is a conversation."""
        from weft.cli.convert import opened
        from weft.cli.importtrace import import_trace
        from weft.errors import WeftError
        from weft.formats import known_format

        result = _Result(path)
        speaks = False
        try:
            with opened(path) as source:
                kind = known_format(source, self._kind)
                result.format = kind.name
                speaks = self._kind is not None or kind.sniff(source.head) > 0
                if kind.name == TRACE:
                    with _as_file(source, path) as place:
                        self.is_partial |= import_trace(self._store, place, as_json=self._as_json) != 0
                else:
                    self.results_to_tell += 1
                    self._conversations(source, kind, result, is_watched=is_watched)
        except WeftError as problem:
            result.problems.append(str(problem))
        except FileNotFoundError:
            if not is_watched:
                raise
        except OSError as problem:
            if not is_found:
                raise
            result.problems.append(problem.strerror or str(problem))
            speaks = True
        result.is_passed_over = is_found and not speaks and not result.bookmarks and not result.turns
        if not self._as_json and result.format != TRACE:
            self._tell(result, is_watched=is_watched)
        return result

    def _conversations(self, source: Source, kind: Format, result: _Result, *, is_watched: bool) -> None:
        from weft.formats import EntryBlobs
        from weft.threads import Incoming

        source.bad_lines = []
        batch: list[Incoming] = []
        entries = 0
        try:
            for transcript in kind.transcripts(source):
                title = self._bookmark or transcript.session.title or _called(transcript, Path(source.name).stem)
                batch.append(Incoming(transcript, EntryBlobs(transcript), title if self._names else None))
                entries += len(transcript.entries)
                if entries >= BATCH_ENTRIES:
                    self._store_batch(batch, result)
                    batch, entries = [], 0
        finally:  # what came before a broken place is kept
            self._store_batch(batch, result)
        if not is_watched:  # a line that is still being written is no problem then: it is read when it is whole
            result.problems += [str(problem) for problem in source.bad_lines]

    def _store_batch(self, batch: Sequence[Incoming], result: _Result) -> None:
        from weft.threads import import_transcripts

        for done in import_transcripts(self._store, batch):
            result.conversations += 1
            result.turns += done.new_turns
            result.bookmarks |= done.heads
            result.problems += [f"left out: {place}" for place in done.dropped]

    def _tell(self, result: _Result, *, is_watched: bool) -> None:
        if result.is_passed_over:
            return
        for problem in result.problems:
            note(problem if problem.startswith(Path(result.path).name) else f"{result.path}: {problem}")
        if not result.format or (is_watched and not result.turns):
            return
        names = f": {', '.join(islice(result.bookmarks, NAMES_SHOWN))}" if result.bookmarks else ""
        if len(result.bookmarks) > NAMES_SHOWN:
            names += f" and {len(result.bookmarks) - NAMES_SHOWN:,} more"
        said = f"{counted(result.conversations, 'conversation')}, {counted(result.turns, 'new turn')}"
        click.echo(f"{result.path} ({result.format}): {said}{names}")


def _called(transcript: Transcript, stem: str) -> str:
    """Name a conversation that has no title by its file; where that is but a number, by the first words in it."""
    if not _NUMBERED.search(stem):
        return stem or "imported"
    for entry in transcript.entries:
        for part in entry.message.parts if entry.message.role == "user" else ():
            words = " ".join((part.text or "").split())
            if part.type == "text" and words and not words.startswith("<"):  # what an agent tells in the user's name
                return f"{words[:WORDS_CHARS].rsplit(' ', 1)[0]}…" if len(words) > WORDS_CHARS else words
    return stem


@contextmanager
def _as_file(source: Source, path: str) -> Iterator[str]:
    """Give the place of a file; what was piped in has been looked at already, and is put into one."""
    if path != "-" and Path(path).is_file():
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        for chunk in source.chunks():
            file.write(chunk)
        file.flush()
        yield file.name


# -- watching --------------------------------------------------------------------------------------------------------


def _watch(job: _Job, places: list[Path]) -> None:
    """Take in what is there, then what changes. A file that goes away is no matter: its turns are here."""
    known: dict[Path, tuple[int, int]] = {}

    def look() -> None:
        for file in _present(places):
            try:
                state = file.stat()
            except OSError:
                continue
            mark = (state.st_mtime_ns, state.st_size)
            if known.get(file) != mark:
                known[file] = mark
                job.take(str(file), is_watched=True, is_found=file not in places)

    look()
    note(f"watching {', '.join(map(str, places))}; ctrl-c ends it")
    for _ in _changes(places):
        look()


def _present(places: list[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from _within(place)
        elif place.exists():
            yield place


def _changes(places: list[Path]) -> Iterator[None]:
    """Wait for a change, again and again: told by the system if that can be, else by looking every second."""
    try:
        from watchfiles import watch
    except ImportError:
        yield from _ticks()
        return
    roots = {str(place if place.is_dir() else place.parent) for place in places}
    while True:
        there = [root for root in roots if Path(root).exists()]
        if there:
            # It also wakes without a change, so that a folder that went and came back is seen again.
            for _ in watch(*there, yield_on_timeout=True, rust_timeout=2_000, raise_interrupt=True):
                yield
                if not all(Path(root).exists() for root in there):
                    break
        else:
            time.sleep(POLL_SECONDS)
            yield


def _ticks() -> Iterator[None]:
    while True:
        time.sleep(POLL_SECONDS)
        yield
