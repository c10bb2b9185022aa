"""What commands that call providers have in common: the registry, the client, keys that are typed, and the loop.

Here the environment, the settings and the store come together; from here on they are arguments.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft import config
from weft.cli.render import note
from weft.errors import StoreError, UsageError

if TYPE_CHECKING:
    from weft.client import Client
    from weft.providers import KeyPlaces, Registry, Secret
    from weft.threads import Store

__all__ = [
    "append_frame",
    "change_pointers",
    "key_places",
    "new_client",
    "read_key",
    "refuse_keys_as_arguments",
    "registry_of",
    "run_async",
]

_T = TypeVar("_T")


def run_async(work: Coroutine[Any, Any, _T]) -> _T:
    """Run what is async: the one place where a loop is begun."""
    return asyncio.run(work)


def key_places() -> KeyPlaces:
    """Give where keys may be; a key file that others can read is warned of and left alone [K-06]."""
    from weft.providers import KeyFile, KeyPlaces

    file: KeyFile | None = KeyFile(config.config_folder() / "keys.json")
    try:
        file.read() if file else None
    except StoreError as problem:
        note(f"warning: {problem}")
        file = None
    return KeyPlaces(os.environ, file)


def registry_of(store: Store | None) -> Registry:
    """Put together who can be called, from the settings, the environment and what the store says."""
    from weft.providers import PROVIDER_TOPIC, PTRS_TOPIC, Registry

    frames = [frame.meta for frame in store.frames.frames_of(PROVIDER_TOPIC)] if store else []
    newest = store.frames.newest_frame(PTRS_TOPIC) if store else None
    return Registry(
        key_places(),
        os.environ,
        settings=config.settings(),
        frames=frames,
        pointers=newest.meta if newest else None,
    )


def new_client(**rest: Any) -> Client:
    """Give a client with this environment's way out; what it waits for is said on stderr."""
    from weft.client import Client

    return Client(os.environ, on_wait=note, watch=_watch(), **rest)


def _watch() -> Callable[[Any], Any] | None:
    """Give what tells OpenTelemetry of calls, if WEFT_OTEL asks for it; `content` also tells what was said."""
    wanted = os.environ.get("WEFT_OTEL", "")
    if wanted in ("", "0"):
        return None
    from weft.telemetry import OtlpSink
    from weft.trace import Recorder, RecordingTransport

    recorder = Recorder(OtlpSink(content=wanted == "content"))
    context = click.get_current_context(silent=True)
    if context is not None:
        context.find_root().call_on_close(recorder.close)
    return lambda transport: RecordingTransport(recorder, async_transport=transport)


def append_frame(store: Store, topic: str, meta: Mapping[str, Any]) -> None:
    """Add an entry to the log."""
    from weft.store import Draft

    store.frames.write(lambda writer: writer.append(Draft(topic, dict(meta))))


def change_pointers(store: Store, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any]]) -> None:
    """Append a new whole table of pointers, made from the newest one; nobody else writes in between [T-52]."""
    from weft.providers import PTRS_TOPIC
    from weft.store import Draft, FrameWriter

    def work(writer: FrameWriter) -> None:
        newest = store.frames.newest_frame(PTRS_TOPIC)
        writer.append(Draft(PTRS_TOPIC, dict(change(newest.meta if newest else None))))

    store.frames.write(work)


def read_key(name: str, *, needed: bool = True) -> Secret | None:
    """Read a key from a hidden prompt, or from stdin if that is not a terminal; None if there is none [K-08]."""
    from weft.providers import Secret

    if sys.stdin is not None and sys.stdin.isatty():
        text: str = click.prompt(f"key for {name}", hide_input=True, err=True, default="", show_default=False)
    else:
        text = sys.stdin.read() if sys.stdin is not None else ""
    if len(text.split()) > 1:
        del text
        raise UsageError("that is more than one word; a key is one")
    if text.strip():
        return Secret(text)
    if needed:
        raise UsageError(f"no key was given\n  type it: weft keys set {name}\n  or pipe it in")
    return None


def refuse_keys_as_arguments(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    """Refuse further arguments without repeating them: one of them may be a key [K-08]."""
    if value:
        raise click.UsageError(
            "a key is not taken from the command line, where others see it and the shell keeps it;\n"
            "  type it at the prompt, pipe it in, or set the variable. Think of this one as known: make a new one",
            ctx,
        )
