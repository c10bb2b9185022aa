"""The viewer's HTTP API and its built files: an ASGI app over traces and threads.

The front door of the room. Names are loaded when they are first asked for: the server (Starlette and uvicorn) is the
extra `view`. What crosses to the page is in `contract`; the page itself is written in viewer/.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.web.app import create_app as create_app
    from weft.web.contract import RunChoices as RunChoices
    from weft.web.contract import ToolServer as ToolServer
    from weft.web.copying import Request as Request
    from weft.web.recordings import RecordedSource as RecordedSource
    from weft.web.recordings import open_recorded as open_recorded
    from weft.web.runs import Asked as Asked
    from weft.web.runs import Runs as Runs
    from weft.web.runs import Verdict as Verdict
    from weft.web.safety import is_loopback as is_loopback
    from weft.web.server import Listening as Listening
    from weft.web.server import Note as Note
    from weft.web.server import ask_ticket as ask_ticket
    from weft.web.server import find_port as find_port
    from weft.web.server import read_note as read_note
    from weft.web.server import serve as serve
    from weft.web.server import written_note as written_note
    from weft.web.sessions import session_sources as session_sources
    from weft.web.source import Source as Source
    from weft.web.threadsource import ThreadsSource as ThreadsSource
    from weft.web.viewer import Viewer as Viewer

# Module: the names it gives. Whoever adds a name adds it above, too, for the type checker.
_MODULES = {
    "weft.web.app": ("create_app",),
    "weft.web.contract": ("RunChoices", "ToolServer"),
    "weft.web.copying": ("Request",),
    "weft.web.recordings": ("RecordedSource", "open_recorded"),
    "weft.web.runs": ("Asked", "Runs", "Verdict"),
    "weft.web.safety": ("is_loopback",),
    "weft.web.server": ("Listening", "Note", "ask_ticket", "find_port", "read_note", "serve", "written_note"),
    "weft.web.sessions": ("session_sources",),
    "weft.web.source": ("Source",),
    "weft.web.threadsource": ("ThreadsSource",),
    "weft.web.viewer": ("Viewer",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]  # noqa: PLE0604 - from the table above


def __getattr__(name: str) -> object:
    """Load a name from its module; say which extra is missing if one is."""
    if name not in _HOME:
        raise AttributeError(f"module 'weft.web' has no attribute {name!r}")
    try:
        module = import_module(_HOME[name])
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise UsageError("the viewer needs an extra\n  install it: pip install 'weft[view]'") from None
    value = getattr(module, name)
    globals()[name] = value
    return value
