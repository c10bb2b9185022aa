"""What `weft proxy` and `weft record` share: the far sides by name, the loop they run on, the words at the end."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from weft.cli.render import counted, visible
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.proxy import Options, Route
    from weft.trace import Recorder, Tally

__all__ = ["ending", "open_recorder", "options_with", "provider_at", "route_table", "run_fast"]

T = TypeVar("T")
# What the environment says about the way out; without any of it, the module that reads it is not loaded.
_WAY = ("http_proxy", "https_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir")


def route_table(environ: Mapping[str, str], *, own: Mapping[str, str] | None = None) -> dict[str, Route]:
    """Give every provider's far side by the prefix that means it; `own` are addresses that go before the table's."""
    from weft.config import settings
    from weft.providers import located, merged_table
    from weft.proxy import route_to

    table: dict[str, Route] = {}
    for name, row in merged_table(settings(environ).get("providers")).items():
        address = (own or {}).get(name) or located(row, environ).base_url
        if address and "{" not in address:
            table[name] = route_to(address, name)
    for address_of, alias in (("gemini", "google"), ("anthropic", "claude")):
        if address_of in table:
            table.setdefault(alias, table[address_of])
    return table


def provider_at(url: str) -> str | None:
    """Tell whose the address is, if it is one of the table's."""
    from weft.providers import PROVIDERS

    host = urlsplit(url).hostname
    known = {urlsplit(row.base_url).hostname: name for name, row in reversed(PROVIDERS.items()) if row.base_url}
    return known.get(host) if host not in ("localhost", None) else None


def _way_out(environ: Mapping[str, str]) -> dict[str, Any]:
    """Give the way out as options of a proxy, if the environment says anything about it."""
    if not any(environ.get(name) or environ.get(name.upper()) for name in _WAY):
        return {}
    from weft.client import Network

    return {"way": Network.from_environ(environ)}


def open_recorder(output: str, *, redacts: bool, body_bytes: int, about: Mapping[str, Any] | None = None) -> Recorder:
    """Open the output, and finish what an earlier recording left there. `about` is said of the session in a store."""
    from weft.trace import Recorder, StoreSink, open_sink

    try:
        sink = open_sink(output)
        if about and isinstance(sink, StoreSink):
            sink.note(**about)
        recorder = Recorder(sink, redacts=redacts, body_bytes=body_bytes, tell=_tell)
    except OSError as problem:
        raise UsageError(f"cannot write to {output}: {problem.strerror or problem}\n  name another: --output") from None
    if found := recorder.tally.recovered:
        click.echo(f"weft: found {counted(found, 'exchange')} that an earlier recording was killed in", err=True)
    return recorder


def _tell(text: str) -> None:
    click.echo(f"weft: {visible(text)}", err=True)


def ending(tally: Tally, output: str) -> str:
    """Say what was recorded, and how to look at it."""
    said = f"recorded {counted(tally.recorded, 'exchange')}"
    if tally.incomplete:
        said += f", {tally.incomplete} of them incomplete"
    if tally.lost:
        said += f"; {tally.lost} were lost, as recording could not keep up"
    if tally.left:
        said += f"; {tally.left} more could not be written yet, and are taken in when the recording is next opened"
    name = Path(output).name if "://" not in output else "a store"
    if not tally.recorded and not tally.left:
        return f"weft: {said}"
    return f"weft: {said} in {visible(output if '://' not in output else name)}\n  see: weft view {visible(output)}"


def run_fast(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run on the fastest loop there is: uvloop where it is installed (`weft[proxy]`), else asyncio's own."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None
    try:
        from uvloop import new_event_loop as factory
    except ImportError:
        factory = None
    # A thread that writes recordings may hold Python's lock; the loop should not wait for it for the usual 5 ms.
    sys.setswitchinterval(0.0002)
    # What is loaded now stays: the collector need not look at it again and again between requests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    with _signals_kept(), asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work())


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Hear signals afterwards as before: uvloop leaves its own ears behind, and ctrl-c would do nothing."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def options_with(environ: Mapping[str, str], **given: Any) -> Options:
    """Put a proxy's options together."""
    from weft.proxy import Options

    return Options(**_way_out(environ), **given, name_key=_key_namer(environ))


def _key_namer(environ: Mapping[str, str]) -> Callable[[bytes], str]:
    """Give what names a key so that only this computer can tell it again [K-04]."""
    from functools import lru_cache

    from weft.config import config_folder
    from weft.providers import KeyFile
    from weft.secrets import fingerprint

    salt = KeyFile(config_folder(environ) / "keys.json").salt()
    return lru_cache(256)(lambda secret: fingerprint(secret.decode("latin-1"), salt))
