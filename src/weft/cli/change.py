"""`weft edit`, `weft drop` and `weft merge`: new chains from old ones, which stay as they are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from weft.cli.completing import bookmarks
from weft.cli.newturn import bookmark_options
from weft.cli.render import json_text, note
from weft.cli.storing import as_json, name_of, names_of, piped_input, with_store

if TYPE_CHECKING:
    from weft.threads import Store, Turn

__all__ = ["drop", "edit", "merge"]

_end = click.option(
    "--end", metavar="HEADISH", help="Where the thread to replay ends; else its bookmark or newest end."
)
_bookmark = click.option(
    "-b", "--bookmark", metavar="NAME", help="A name for the new chain; the old one keeps its own."
)


@click.command()
@click.argument("headish", shell_complete=bookmarks)
@click.option("-t", "--text", help="The new text; calls and results of the turn stay.")
@click.option("-f", "--file", type=click.File("rb"), help="Take the new content from a file; - is stdin.")
@click.option("-j", "--json-content", "is_json", is_flag=True, help="The content is JSON: the turn's blocks.")
@_end
@_bookmark
@as_json
@with_store(reads=False)
def edit(
    *,
    store: Store,
    headish: str,
    text: str | None,
    file: BinaryIO | None,
    is_json: bool,
    end: str | None,
    bookmark: str | None,
    as_json: bool,
) -> None:
    """Change one turn, anywhere in its thread.

    Opens $EDITOR on the turn's text (as Markdown with marked blocks, if it has more than text), unless the content is
    given by --text, --file or a pipe. Turns never change: a new chain is written with everything after the turn
    replayed, the old one stays, and calls keep their results. Prints the id of the new chain's end.
    """
    from weft.threads import edited_blocks

    if text is not None and file is not None:
        raise click.UsageError("give --text or --file, not both")
    name = name_of(store, headish)
    turn = store.turn(name)
    given = _given(text, file)
    if given is None:
        given, is_json = _from_editor(store, turn, is_json=is_json)
    blocks = None if given is None else edited_blocks(turn, given, is_json=is_json)
    if blocks is None:
        note("nothing changed")
        return
    new = store.edit(name, blocks, json=True, end=None if end is None else name_of(store, end), bookmark=bookmark)
    _told(store, turn, new, as_json=as_json)


def _given(text: str | None, file: BinaryIO | None) -> str | None:
    from weft.errors import UsageError

    if text is not None:
        return text
    if file is None:
        return piped_input(needed=False)
    try:
        return file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file.name} is not UTF-8 text (byte {error.start})") from None


def _from_editor(store: Store, turn: Turn, *, is_json: bool) -> tuple[str | None, bool]:
    """Let the user edit: text where that says it all, else Markdown; None if the file was not saved."""
    from weft.errors import UsageError
    from weft.threads import draft_of

    if not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor; give the content with --text, --file or a pipe")
    draft = draft_of(turn, as_json=is_json)
    if draft.is_json and not is_json:
        return _as_markdown(store, turn), True
    written = click.edit(draft.text, extension=".json" if draft.is_json else ".md")
    return written, draft.is_json


def _as_markdown(store: Store, turn: Turn) -> str | None:
    """Let the user edit a turn as Markdown; give its blocks as JSON, or None if they are as they were."""
    from weft import jsontext
    from weft.canon import UNTIMED, Message, Transcript
    from weft.errors import CodecError, UsageError
    from weft.formats import format_by_name
    from weft.threads import transcript_of, turns_from_messages

    markdown = format_by_name("markdown")
    entries = [entry for entry in transcript_of(store, [turn.id]).entries if entry.message.turn_id == turn.id]
    shown = [Message(each.message.role, each.message.parts, timestamp=UNTIMED) for each in entries]
    before = Transcript.of(shown, blobs=entries[0].blobs)
    text = markdown.dump(before)[0].decode()
    written = click.edit(text, extension=".md")
    if written is None or written == text:
        return None
    try:
        after = markdown.load(written)
    except CodecError as error:
        raise UsageError(f"what was written cannot be read back, and nothing was changed\n  {error}") from error
    if after == before:
        return None
    if not after.entries:
        raise UsageError("no message is left in it; to leave the turn out: weft drop")
    drafts, lost = turns_from_messages([entry.message for entry in after.entries], after.entries[0].blobs)
    if lost:
        raise UsageError(f"{lost[0].description}: {lost[0].reason}")
    return jsontext.dumps_text([block for draft in drafts for block in draft.blocks])


def _told(store: Store, old: Turn, new: Turn, *, as_json: bool) -> None:
    """Print the new end, and say beside it what became of the thread."""
    if as_json:
        click.echo(json_text(new.to_dict()))
        return
    click.echo(new.id)
    if sys.stderr.isatty():
        note(f"{len(store.thread(new.id))} turns; before: weft log {old.id}, what differs: weft diff {old.id} {new.id}")


@click.command()
@click.argument("headish", shell_complete=bookmarks)
@_end
@_bookmark
@as_json
@with_store(reads=False)
def drop(*, store: Store, headish: str, end: str | None, bookmark: str | None, as_json: bool) -> None:
    """Leave one turn out of its thread.

    A new chain is written without it, and without the other half of its calls and results; the old one stays. Prints
    the id of the new chain's end.
    """
    name = name_of(store, headish)
    old = store.turn(name)
    new = store.drop(name, end=None if end is None else name_of(store, end), bookmark=bookmark)
    _told(store, old, new, as_json=as_json)


@click.command()
@click.argument("headishes", metavar="A B...", nargs=-1, required=True, shell_complete=bookmarks)
@click.option("-t", "--text", help="What the joining turn says; without it, nothing.")
@bookmark_options("A name for the joined thread; else that of the last one.")
@as_json
@with_store(reads=False)
def merge(
    *,
    store: Store,
    headishes: tuple[str, ...],
    text: str | None,
    bookmark: str | None,
    move_bookmark: bool,
    as_json: bool,
) -> None:
    """Join threads: one turn that continues all of them, in the order given.

    Whatever continues it sees the turns of all, each once. Prints its id.
    """
    new = store.merge(*names_of(store, headishes), content=text, bookmark=bookmark, move_bookmark=move_bookmark)
    click.echo(json_text(new.to_dict()) if as_json else new.id)
