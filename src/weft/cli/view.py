"""`weft view`: the viewer, on a port of this machine, and the browser on it."""

from __future__ import annotations

import os
import stat
import sys
import threading
import webbrowser
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft import config
from weft.cli.calling import run_async
from weft.cli.completing import files
from weft.cli.render import note
from weft.errors import StoreError, UsageError, WeftError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weft.threads import Store
    from weft.web import Listening, Source, Viewer

__all__ = ["shown", "view"]

PORT = 8765


@click.command()
@click.argument("what", nargs=-1, metavar="[TRACE|COOKED|STORE]...", shell_complete=files)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that other machines reach; the token stays.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option(
    "--store",
    "address",
    metavar="URL|PATH",
    shell_complete=files,
    help="Where runs keep their answers; else WEFT_STORE, WEFT_HOME.",
)
def view(*, what: tuple[str, ...], port: int, host: str, allow_remote: bool, no_open: bool, address: str | None) -> int:
    """Show recordings and threads in the browser: graph, diffs, search, costs; fork and run.

    TRACE is a recording (JSON Lines, followed while it grows), COOKED what `weft cook` wrote, STORE a store's folder or
    address; without any, the default store. The address that is printed holds the token: whoever has it sees it all.
    """
    from weft.web import Note, Viewer, ask_ticket, find_port, is_loopback, read_note, serve, written_note

    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            f"{host} may be reached from other machines, and what is shown is private\n"
            "  if that is meant: --allow-remote"
        )
    wants = "\n".join([*(str(Path(each).absolute()) if "://" not in each else each for each in what), address or ""])
    files, stores = _sort(what)
    notes = config.data_folder() / "view"
    listening = find_port(host, port, wants=wants, notes=notes)
    if listening.socket is None:
        left = read_note(notes, listening.port)
        note(f"already shown at {listening.url}")
        token = left.token if left is not None else None
        if token is not None and not no_open:
            token = ask_ticket(listening, token)
        _open(listening, token, no_open=no_open, wait=True)
        return 0
    with ExitStack() as open_things:
        open_things.callback(listening.socket.close)
        sources, more, runs = _sources(files, stores, address, open_things)
        viewer = Viewer(sources, runs=runs, more=more)

        def ready() -> None:
            click.echo(f"{listening.url}#token={viewer.keys.token}")
            note("ctrl-c ends it")
            if not no_open:
                _open(listening, viewer.keys.ticket(), no_open=False)

        if viewer.built.index is None:
            note("warning: the page was not built: run `make viewer` in a checkout of weft")
        with written_note(notes, listening.port, Note(viewer.keys.token, wants)):
            run_async(serve(viewer, listening, on_ready=ready))
    return 0


@contextmanager
def shown(files: list[Path], *, opens: bool) -> Iterator[tuple[str, Viewer]]:
    """Serve files and the default store beside the caller, on any free port; give the address and what is shown."""
    import asyncio

    from weft.web import Viewer, find_port, serve

    with ExitStack() as open_things:
        listening = find_port("127.0.0.1", 0, wants="", notes=config.data_folder() / "view")
        sources, more, runs = _sources(files, [], None, open_things)
        for source in sources:
            while source.is_loading:
                source.poll()
        viewer = Viewer(sources, runs=runs, more=more)
        stops: list[Callable[[], None]] = []
        ready = threading.Event()
        loop = asyncio.new_event_loop()
        serving = serve(viewer, listening, on_stop=stops.append, on_ready=ready.set)
        thread = threading.Thread(target=loop.run_until_complete, args=(serving,), daemon=True)
        thread.start()
        ready.wait()
        try:
            if opens:
                _open(listening, viewer.keys.ticket(), no_open=False)
            yield f"{listening.url}#token={viewer.keys.token}", viewer
        finally:
            stops[0]()
            thread.join()
            loop.close()


def _open(listening: Listening, token: str | None, *, no_open: bool, wait: bool = False) -> None:
    url = f"{listening.url}#token={token}" if token is not None else listening.url
    if no_open:
        click.echo(url)
        return
    sys.stdout.flush()
    # Some browsers wait until they are closed; the server has to go on meanwhile.
    opening = threading.Thread(target=webbrowser.open, args=(url,), daemon=True)
    opening.start()
    if wait:
        opening.join()


def _sort(what: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Tell files from stores; refuse what is neither."""
    files: list[Path] = []
    stores: list[str] = []
    for each in what:
        if "://" in each:
            stores.append(each)
            continue
        path = Path(each).expanduser()
        try:
            mode = path.stat().st_mode
        except OSError as problem:
            raise UsageError(f"{each}: {problem.strerror or problem}") from None
        if stat.S_ISDIR(mode):
            stores.append(str(path))
        elif stat.S_ISREG(mode):
            if path.name == "weft.db":
                stores.append(str(path.parent))
            else:
                files.append(path)
        else:
            raise UsageError(f"{each} is no file: pipes and devices cannot be shown; record to a file first")
    return files, stores


def _sources(files: list[Path], stores: list[str], address: str | None, open_things: ExitStack) -> Any:
    """Open what is shown: files, recordings and threads of stores; and the store that runs write to."""
    from weft.cli.viewing import chat_opener, choices_of, planner, pricing
    from weft.web import Runs, ThreadsSource, open_recorded, session_sources

    price = pricing()
    sources: list[Source] = [open_recorded(f"f{number}", path, price=price) for number, path in enumerate(files, 1)]
    runs = None
    opened: list[Store] = []
    for number, where in enumerate(stores or [address], 1):
        store = _store(where, open_things, is_named=bool(stores))
        if store is None:
            continue
        opened.append(store)
        threads = ThreadsSource(f"t{number}", _name(where), store, price=price, plan=planner(store))
        sources += [*session_sources(f"s{number}", store, price=price), threads]
        if runs is None:
            runs = Runs(threads, chat_opener(store), choices_of(store))
    if not sources:
        raise UsageError("there is nothing to show\n  record something: weft record -- COMMAND")

    known = {source.id for source in sources}

    def more() -> list[Source]:
        new: list[Source] = []
        for number, store in enumerate(opened, 1):
            new += session_sources(f"s{number}", store, price=price, known=known)
        known.update(source.id for source in new)
        return new

    return sources, more, runs


def _store(where: str | None, open_things: ExitStack, *, is_named: bool) -> Store | None:
    from weft.threads import open_store

    if where is not None and "://" not in where and not (Path(where) / "weft.db").exists() and is_named:
        raise UsageError(f"{where} is no store: there is no weft.db in it")
    try:
        return open_things.enter_context(open_store(where))
    except StoreError:
        try:
            store = open_store(where, read_only=True)
        except WeftError as error:
            if is_named:
                raise
            note(f"warning: {error}")
            return None
        return open_things.enter_context(store)


def _name(where: str | None) -> str:
    if where is None:
        return "threads"
    return "threads" if "://" in where else f"threads of {os.path.basename(os.path.abspath(where))}"  # noqa: PTH100, PTH119
