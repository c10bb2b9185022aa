"""`weft chat`: a conversation at the prompt, with branches.

What is typed is a question, unless it begins with a slash. Every question and answer is a turn like any other, so a
chat can be left and gone on with, looked at and branched by every other command.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from weft import config
from weft.cli.asking import Asked, How, default_model, guarded, new_chat, take_up
from weft.cli.completing import bookmarks, models
from weft.cli.concluding import conclude
from weft.cli.newturn import server_names
from weft.cli.render import note, visible
from weft.cli.storing import name_of, redact_option, redacted, with_store
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from weft.cli.answering import Printer
    from weft.threads import Store, Turn

__all__ = ["chat"]

HELP = """\
/branch NAME   go on under a new name, from here
/undo          go back to before the last question
/edit [TEXT]   ask the last question again in other words; without TEXT, in
               an editor
/model NAME    have another model answer: provider/model, or a pointer
/quit          leave; so does ctrl-d
A line that ends in \\ goes on in the next; between two lines of \"\"\" a text
may have many."""
MARKS = '"""'


@click.command()
@click.option("-c", "--continues", metavar="HEADISH", help="The turn to go on from.", shell_complete=bookmarks)
@click.option(
    "-m", "--model", metavar="PROVIDER/MODEL", help="Who answers; a pointer will do too.", shell_complete=models
)
@click.option("-b", "--bookmark", metavar="NAME", help="A name for the thread.", shell_complete=bookmarks)
@click.option("-s", "--system", metavar="TEXT", help="What the model is told before the first question.")
@click.option("--servers", metavar="NAMES", help="Tool servers, with commas between.")
@click.option("--search/--no-search", default=None, help="Whether the provider may search.")
@click.option("--yolo", is_flag=True, help="Run every tool that is called, without asking.")
@click.option("-q", "--quiet", is_flag=True, help="Show answers alone: no thinking, tools or notes.")
@click.option("--plain", is_flag=True, help="Show answers as they are written, their Markdown not drawn.")
@click.option("-u", "--usage", is_flag=True, help="Say what each answer took and cost, also where nobody watches.")
@redact_option
@with_store(reads=False)
def chat(
    *,
    store: Store,
    continues: str | None,
    servers: str | None,
    yolo: bool,
    quiet: bool,
    plain: bool,
    usage: bool,
    redact: bool,
    **rest: Any,
) -> int:
    """Talk with a model, line by line; /help lists what can be done beside asking.

    Without a terminal every line that is piped in is a question.
    """
    from weft.cli.answering import Printer

    how = How(yolo=yolo, quiet=quiet, plain=plain, usage=usage)
    take_up(store)
    head = None if continues is None else store.find(name_of(store, continues))
    talk = _Talk(store, how, Printer(quiet=quiet, plain=plain), head, servers, redact=redact, **rest)
    with asyncio.Runner() as runner, _history():
        return talk.run(runner)


class _Talk:
    """Where a chat stands: the turn it goes on from, and what the next question says beside its text."""

    def __init__(
        self,
        store: Store,
        how: How,
        printer: Printer,
        head: str | None,
        servers: str | None,
        *,
        model: str | None,
        bookmark: str | None,
        system: str | None,
        search: bool | None,
        redact: bool,
    ) -> None:
        self.store, self.how, self.printer, self.head = store, how, printer, head
        self.asked = Asked()
        self.chat = new_chat(store, how, printer, self.asked)
        first = model or (default_model() if head is None else None)
        self.next: dict[str, Any] = {
            "provider_ptr": first,
            "servers": server_names(servers),
            "search": search,
            "bookmark": bookmark,
        }
        self.safe = redacted if redact else str
        self.system = None if system is None else self.safe(system)
        self.status = 0

    def run(self, runner: asyncio.Runner) -> int:
        watched, began = sys.stdin.isatty(), self.head
        if watched:
            note("/help says what can be done; ctrl-d leaves")
        try:
            while (text := _read(watched)) is not None:
                if not text.strip():
                    continue
                try:
                    if not self._take(runner, text):
                        break
                except WeftError as error:
                    self._failed(error)
                if self.asked.terminated:
                    return 143
                if not watched and self.status:
                    break
        finally:
            runner.run(self._close())
        if watched and self.head is not None and self.head != began:
            names = [row.name for row in self.store.bookmarks() if row.id == self.head]
            note(f"go on with it: weft chat -c {names[0] if names else self.head}")
        return 0 if watched else self.status

    def _failed(self, error: WeftError) -> None:
        from weft.errors import ProviderError

        self.status = 4 if isinstance(error, ProviderError) else 1
        click.echo(f"weft: {visible(str(error))}", err=True)

    def _take(self, runner: asyncio.Runner, text: str) -> bool:
        """Do what was typed; False to leave."""
        if not text.startswith("/"):
            self._ask(runner, text)
            return True
        word, _, rest = text.partition(" ")
        match word:
            case "/quit" | "/exit":
                return False
            case "/help":
                note(HELP)
            case "/branch":
                self._branch(rest.strip())
            case "/undo":
                self._undo()
            case "/edit":
                self._edit(runner, rest)
            case "/model":
                self._model(rest.strip())
            case _:
                raise UsageError(
                    f"{word} is nothing that can be done here\n  see: /help; to ask it, put a blank before"
                )
        return True

    def _ask(self, runner: asyncio.Runner, text: str) -> None:
        parents = [] if self.head is None else [self.head]
        if self.system is not None:
            parents = [self.store.add_turn(self.system, role="system", continues=parents).id]
            self.system = None
        question = self.store.add_turn(self.safe(text), continues=parents, **self.next)
        self.next = {}
        self.head = question.id
        try:
            outcome = runner.run(guarded(self.chat.process(question.id), self.asked))
        except KeyboardInterrupt:
            outcome = None
        finally:
            self.printer.finish()
        if outcome is not None:
            self.head = outcome.turn.id
            self.status = conclude(outcome, self.how, self.asked)
        elif self.asked.turns and self.asked.turns[-1].meta.get("unfinished"):
            self.head = self.asked.turns[-1].id
            note("stopped; what arrived is kept")

    def _branch(self, name: str) -> None:
        if self.head is None:
            raise UsageError("there is nothing to branch from yet\n  ask something first")
        if not name:
            raise UsageError("a branch needs a name: /branch NAME")
        self.store.branch(name, self.head)
        self.next = {**self.next, "bookmark": name}
        note(f"from here on this is {name}")

    def _undo(self) -> None:
        question = self._last_question()
        parents = self.store.parent_ids(question.id)
        self.head = parents[-1] if parents else None
        note(f"back to before: {_first_line(question)}")

    def _edit(self, runner: asyncio.Runner, text: str) -> None:
        question = self._last_question()
        if not text.strip():
            edited = click.edit(question.text) if sys.stdin.isatty() else None
            if edited is None or edited.strip() in ("", question.text.strip()):
                note("nothing was changed")
                return
            text = edited.rstrip("\n")
        parents = self.store.parent_ids(question.id)
        self.head = parents[-1] if parents else None
        self.next = {**question.options, "bookmark": None, **self.next}
        self._ask(runner, text)

    def _model(self, name: str) -> None:
        if not name:
            options = {} if self.head is None else self.store.thread(self.head).options
            note(str(self.next.get("provider_ptr") or options.get("provider_ptr") or "nobody is named yet"))
            return
        self.chat.registry.read(name)  # says what is known if it is not
        self.next = {**self.next, "provider_ptr": name}

    def _last_question(self) -> Turn:
        turns = [] if self.head is None else self.store.thread(self.head).turns
        for turn in reversed(turns):
            if turn.role == "user" and not any(block.get("type") == "tool_result" for block in turn.content):
                return turn
        raise UsageError("there is no question yet\n  ask something first")

    async def _close(self) -> None:
        await self.chat.close()
        await self.chat.client.aclose()


def _first_line(turn: Turn) -> str:
    return visible(turn.text.strip().partition("\n")[0][:60])


# -- typing ----------------------------------------------------------------------------------------------------


def _read(watched: bool) -> str | None:
    """Read a question of one line or more; None at the end. Ctrl-c takes back what was typed."""
    ask: Callable[[str], str] = input if watched else _read_line
    while True:
        try:
            line = ask("> ")
            if line.strip() == MARKS:
                lines = []
                while (line := ask("… ")).strip() != MARKS:
                    lines.append(line)
                return "\n".join(lines)
            lines = [line]
            while lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1]
                lines.append(ask("… "))
            return "\n".join(lines)
        except EOFError:
            if watched:
                note("")
            return None
        except KeyboardInterrupt:
            note("")


def _read_line(_prompt: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


@contextmanager
def _history() -> Iterator[None]:
    """Keep what is typed for the next time, for its owner's eyes alone; arrows and ctrl-r come with it."""
    if not sys.stdin.isatty():
        yield
        return
    try:
        import readline
    except ImportError:  # not everywhere; then there are no arrows
        yield
        return
    place = config.data_folder() / "chat_history"
    with suppress(OSError):
        readline.read_history_file(place)
    try:
        yield
    finally:
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.touch(mode=0o600)
            readline.set_history_length(1000)
            readline.write_history_file(place)
