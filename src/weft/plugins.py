"""Plugins: formats, dialects, providers and tool servers that other packages add.

A package names a module in the entry-point group `weft`; weft loads it with pluggy when something is asked for that it
does not know itself, or when everything is to be listed. So programs that need no plugin do not pay for them:

    from weft.plugins import hook

    @hook
    def weft_formats():        # weft.formats.Format records
        return [FORMAT]

    @hook
    def weft_dialects():       # weft.wire.Dialect records
        return [DIALECT]

    @hook
    def weft_providers():      # weft.providers.Provider rows
        return [Provider("harbour", "openai_chat", "https://llm.example.org/v1", ("HARBOUR_KEY",))]

    @hook
    def weft_tool_servers():   # entries as in an `mcpServers` file, by name
        return {"tides": {"command": "tides-mcp"}}

Nothing of weft is imported here: what a hook gives is checked where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from weft.errors import UsageError

__all__ = ["GROUP", "HOOKS", "added", "hook"]

GROUP = "weft"
HOOKS = ("weft_formats", "weft_dialects", "weft_providers", "weft_tool_servers")

F = TypeVar("F", bound=Callable[..., Any])


def hook(function: F) -> F:
    """Mark a function of a plugin as one of the hooks; its name says which."""
    if function.__name__ not in HOOKS:
        raise UsageError(f"weft has no hook {function.__name__!r}\n  known: {', '.join(HOOKS)}")
    marked: F = _pluggy().HookimplMarker(GROUP)(function)
    return marked


@cache
def added(name: str) -> tuple[tuple[str, Any], ...]:
    """Give what all plugins add for a hook, each thing with the name of its plugin."""
    manager = _manager()
    if manager is None:
        return ()
    found: list[tuple[str, Any]] = []
    for plugin_name, plugin in manager.list_name_plugin():
        function = getattr(plugin, name, None)
        if function is None:
            continue
        try:
            given = function()
        except Exception as problem:
            raise UsageError(f"plugin {plugin_name}: {name} failed: {problem!r}\n  {_advice(plugin_name)}") from problem
        each = given.items() if isinstance(given, Mapping) else given or ()
        found += ((plugin_name, thing) for thing in each)
    return tuple(found)


@cache
def _manager() -> Any:
    """Load the plugins that are installed; None if there are none."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and seldom needed

    if not (points := entry_points(group=GROUP)):
        return None
    pluggy = _pluggy()
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(_specifications(pluggy))
    for point in points:
        try:
            manager.register(point.load(), name=point.name)
        except Exception as problem:
            raise UsageError(
                f"plugin {point.name} ({point.value}) cannot be loaded: {problem!r}\n  {_advice(point.name)}"
            ) from problem
    return manager


def _advice(name: str) -> str:
    return f"update or uninstall the package that brings {name}"


def _specifications(pluggy: Any) -> type:
    """Give the hooks as pluggy checks implementations against them."""
    specification = pluggy.HookspecMarker(GROUP)

    class Specifications:
        @specification  # type: ignore[untyped-decorator]
        def weft_formats(self) -> Any:
            """Give weft.formats.Format records."""

        @specification  # type: ignore[untyped-decorator]
        def weft_dialects(self) -> Any:
            """Give weft.wire.Dialect records."""

        @specification  # type: ignore[untyped-decorator]
        def weft_providers(self) -> Any:
            """Give weft.providers.Provider rows."""

        @specification  # type: ignore[untyped-decorator]
        def weft_tool_servers(self) -> Any:
            """Give entries as an `mcpServers` file has them, by name."""

    return Specifications


def _pluggy() -> Any:
    try:
        import pluggy  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("plugins need the extra: pip install 'weft[plugins]'") from None
    return pluggy
