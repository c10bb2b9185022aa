"""`weft ask` and `weft call`: a question to a model, and a turn answered again."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any

import click

from weft.cli.asking import (
    LOSSY,
    TERMINATED,
    Asked,
    How,
    asking_options,
    attachments,
    default_model,
    guarded,
    new_chat,
    take_up,
)
from weft.cli.calling import run_async
from weft.cli.completing import bookmarks, files, models
from weft.cli.concluding import conclude, kept
from weft.cli.newturn import bookmark_options, content_options, continuing_options, given_text, onward_options
from weft.cli.render import json_text, note
from weft.cli.storing import name_of, names_of, redact_option, redacted, with_store
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.chat import Outcome, Prepared
    from weft.threads import Addition, Store

__all__ = ["ask", "call"]


@click.command()
@click.argument("prompt", nargs=-1)
@continuing_options
@click.option(
    "-p",
    "--provider-ptr",
    metavar="ALIAS",
    help="Who answers from here on, by a pointer such as kilo.",
    shell_complete=models,
)
@click.option(
    "-m",
    "--model",
    metavar="PROVIDER/MODEL",
    help="Who answers from here on, by name; or a pointer. Else WEFT_MODEL.",
    shell_complete=models,
)
@bookmark_options("A name for the thread; else that of the turn it continues.")
@click.option("-s", "--system", metavar="TEXT", help="What the model is told before the question.")
@click.option(
    "-a",
    "--attach",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="A file to go with it; - for stdin; repeatable.",
)
@onward_options
@content_options(turn="question", text="prompt")
@redact_option
@asking_options
@with_store(reads=False)
def ask(
    *,
    store: Store,
    how: How,
    prompt: tuple[str, ...],
    continues: tuple[str, ...],
    respond: bool,
    provider_ptr: str | None,
    model: str | None,
    bookmark: str | None,
    move_bookmark: bool,
    system: str | None,
    attach: tuple[str, ...],
    is_json: bool,
    redact: bool,
    **onward: Any,
) -> int:
    """Ask a model, and print its answer; `weft "prompt"` is the same.

    What is piped in comes before PROMPT. The answer goes to stdout; thinking, tools and notes to stderr. Everything is
    kept: go on with -c, branch by continuing an older turn, switch provider with -m at any point.
    """
    if provider_ptr is not None and model is not None:
        raise click.UsageError("give -p or -m, not both")
    how.schema  # noqa: B018  # a file that cannot be read is said before anything is stored
    text = _prompt(prompt, is_attached="-" in attach)
    if redact:
        text, system = redacted(text), None if system is None else redacted(system)
    take_up(store)
    parents = _parents(store, continues, respond=respond)
    named = model or provider_ptr or (None if parents else default_model())
    files = attachments(attach, redact=redact)
    options = {"provider_ptr": named, **onward}
    if how.dry_run:
        return _show(store, how, _context(store, parents, system, files, text, options, is_json=is_json))
    if system is not None:
        parents = [store.add_turn(system, role="system", continues=parents).id]
    documents = [store.add(file).id for file in files]
    question = store.add_turn(
        text,
        continues=[*documents, *parents],  # the thread last: it is the one whose bookmark is carried on
        bookmark=bookmark,
        move_bookmark=move_bookmark,
        json=is_json,
        **options,
    )
    try:
        return _answer(store, question.id, how)
    except WeftError as error:
        raise kept(error, question.id) from error.__cause__


def _parents(store: Store, continues: Sequence[str], *, respond: bool) -> list[str]:
    parents = names_of(store, continues)
    if respond:
        latest = store.latest()
        if latest is None:
            raise UsageError('there is nothing to respond to: the store has no turns yet\n  ask something: weft "…"')
        parents.append(latest.id)
    return parents


@click.command()
@click.argument("headish", required=False, shell_complete=bookmarks)
@click.option(
    "-m",
    "--model",
    metavar="PROVIDER/MODEL",
    help="Who answers this once; a pointer will do too.",
    shell_complete=models,
)
@asking_options
@with_store(reads=False)
def call(*, store: Store, how: How, headish: str | None, model: str | None) -> int:
    """Have a turn answered that is there already, and print the answer.

    HEADISH is a bookmark, a turn id, or the beginning of one; without it, the newest turn. An answer whose tools were
    not run yet goes on with those. Calling a turn again makes a second answer beside the first: a branch.
    """
    take_up(store)
    turn = store.latest() if headish is None else store.turn(name_of(store, headish))
    if turn is None:
        raise UsageError('there is nothing to call: the store has no turns yet\n  ask something: weft "…"')
    if how.dry_run:
        return _show(store, how, store.resolve(turn.id), model)
    return _answer(store, turn.id, how, model)


def _answer(store: Store, turn_id: str, how: How, model: str | None = None) -> int:
    from weft.cli.answering import Printer

    asked = Asked()
    printer = Printer(raw=how.raw, quiet=how.quiet, text=not how.as_json, plain=how.plain)
    chat = new_chat(store, how, printer, asked)

    async def work() -> Outcome:
        try:
            async with chat.client:
                return await chat.process(turn_id, model=model, schema=how.schema, stream=not how.no_stream)
        finally:
            await chat.close()

    broken: BrokenPipeError | None = None
    outcome: Outcome | None = None
    try:
        outcome = run_async(guarded(work(), asked))
    finally:
        try:
            printer.finish()
        except BrokenPipeError as gone:
            broken = gone
        if outcome is None and asked.turns and asked.turns[-1].meta.get("unfinished"):
            note(f'what arrived is kept; go on: weft ask -c {asked.turns[-1].id} "Go on."')
    if broken is not None:
        raise broken
    return TERMINATED if outcome is None else conclude(outcome, how, asked)


def _prompt(words: Sequence[str], *, is_attached: bool) -> str:
    if text := given_text(words, reads_pipe=not is_attached):
        return text
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("ask", err=True))
    raise UsageError('there is nothing to ask\n  say it: weft "When is high water?"\n  or pipe it in')


# -- what would be sent ----------------------------------------------------------------------------------------


def _show(store: Store, how: How, context: dict[str, Any], model: str | None = None) -> int:
    """Print the request of a thread, and what is not in it."""
    from weft.cli.answering import Printer

    chat = new_chat(store, how, Printer(quiet=how.quiet), Asked())

    async def work() -> Prepared:
        try:
            return await chat.prepare(context, model=model, schema=how.schema, strict=False)
        finally:
            await chat.close()

    prepared = run_async(work())
    click.echo(json_text(prepared.to_dict(stream=not how.no_stream)))
    return LOSSY if how.strict and prepared.excluded else 0


def _context(
    store: Store,
    parents: Sequence[str],
    system: str | None,
    files: Sequence[Addition],
    text: str,
    given: dict[str, Any],
    *,
    is_json: bool,
) -> dict[str, Any]:
    """Put a thread together as it would be with a question that is not stored."""
    from weft.jsontext import loads
    from weft.store import merge_options

    context = store.resolve(list(parents)) if parents else {"messages": [], "options": {}}
    messages = list(context["messages"])
    if system is not None:
        messages.append({"role": "system", "content": [{"type": "text", "text": system}]})
    messages += [{"role": "user", "content": [_document(file)]} for file in files]
    content = loads(text) if is_json else [{"type": "text", "text": text}]
    question = {"role": "user", "content": content if isinstance(content, list) else [content]}
    messages.append({**question, "cache": True} if given["cache"] else question)
    names = ("provider_ptr", "servers", "search", "tool_mode")
    delta = {name: given[name] for name in names if given[name] is not None}
    return {"messages": messages, "options": merge_options(context["options"], delta), "stored": list(parents)}


def _document(file: Addition) -> dict[str, Any]:
    media_type = (file.extra or {})["content_type"]
    data = base64.b64encode(file.payload or b"").decode("ascii")
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}
