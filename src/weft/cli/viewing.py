"""What the viewer is given from this side: who can be called, a chat to call with, prices, and requests to paste.

Here the environment and the settings come in; the web room knows neither providers nor tools.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.cli.asking import default_model
from weft.cli.calling import registry_of
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from weft.chat import Chat
    from weft.providers import Registry
    from weft.threads import Store, Turn
    from weft.tools import Decision, Question
    from weft.web import Asked, Request, RunChoices, ToolServer, Verdict

__all__ = ["chat_opener", "choices_of", "planner", "pricing"]


def chat_opener(store: Store) -> Any:
    """Give a way to open a chat over a store, whose tool calls are asked about in the page."""

    @asynccontextmanager
    async def open_chat(
        *,
        on_event: Callable[[Mapping[str, Any]], None],
        on_turn: Callable[[Turn], None],
        say: Callable[[str], None],
        ask: Callable[[Asked], Awaitable[Verdict]],
    ) -> AsyncIterator[Chat]:
        from weft.chat import Chat
        from weft.client import Client
        from weft.tools import Approval, is_yolo

        def toolbox() -> Any:
            return _toolbox(say)

        async def decide(question: Question) -> Decision:
            return _decision(await ask(_asked(question)))

        async with Client(os.environ, on_wait=say) as client:
            chat = Chat(
                store,
                registry_of(store),
                client,
                toolbox=toolbox,
                approval=Approval(decide, yolo=is_yolo(os.environ), say=say),
                on_event=on_event,
                on_turn=on_turn,
                say=say,
                default_model=default_model(),
            )
            try:
                yield chat
            finally:
                await chat.close()

    return open_chat


def _servers(say: Callable[[str], None]) -> Any:
    from pathlib import Path

    from weft.cli.tooling import config_file
    from weft.tools import project_files, read_servers

    table = read_servers(config_file(), project_files(Path.cwd()))
    for problem in table.problems:
        say(f"warning: {problem}")
    return table


def _toolbox(say: Callable[[str], None]) -> Any:
    """Give the tools of this place; what nobody has agreed to at a terminal is not started from a page [M-01]."""
    from weft import config
    from weft.providers import merged_table
    from weft.tools import PROVIDER_KEYS, Consents, Toolbox

    consents = Consents(config.config_folder() / "mcp-consents.json")

    def agreed(server: Any) -> bool:
        if consents.has(server):
            return True
        say(f"server {server.name} was not started: agree to it in a terminal first: weft mcp tools {server.name}")
        return False

    own = merged_table(config.settings().get("providers")).values()
    keys = PROVIDER_KEYS.union(*(row.keys for row in own))
    return Toolbox(_servers(say), environ=os.environ, consent=agreed, keys=keys)


def _asked(question: Question) -> Asked:
    from weft.jsontext import dumps_text
    from weft.web import Asked

    return Asked(
        question.tool.route.tool,
        question.tool.route.server,
        question.call_id,
        dumps_text(dict(question.arguments)),
        question.tool.description,
        question.tool.hidden(),
        question.changes,
        question.text(),
    )


def _decision(verdict: Verdict) -> Decision:
    from weft.tools import Choice, Decision

    words = {"yes": Choice.YES, "different": Choice.DIFFERENT, "no": Choice.NO, "yolo": Choice.YOLO}
    return Decision(words[verdict.choice], verdict.text, verdict.remember)


def choices_of(store: Store) -> Callable[[], RunChoices]:
    """Give who could be asked to answer, and which servers have tools."""

    def choices() -> RunChoices:
        registry = registry_of(store)
        pointers = [_provider(registry, name, *pointer, is_pointer=True) for name, pointer in registry.pointers.items()]
        named = default_model()
        if named is not None and named not in registry.pointers and "/" in named:
            pointers.insert(0, _provider(registry, named, *named.split("/", 1), is_pointer=False))
        others = [_provider(registry, f"{name}/", name, "", is_pointer=False) for name in registry.table]
        others.sort(key=lambda each: not each["has_key"])
        table = _servers(lambda _line: None)
        servers: list[ToolServer] = [{"name": each.name, "shown": each.shown()} for each in table.servers.values()]
        return {"providers": [*pointers, *others], "servers": servers}

    return choices


def _provider(registry: Registry, name: str, provider: str, model: str, *, is_pointer: bool) -> Any:
    from weft.providers import needs_key

    try:
        has_key = registry.enabled(provider) or not needs_key(registry.row(provider))
    except WeftError:
        has_key = False
    return {"name": name, "provider": provider, "model": model, "is_pointer": is_pointer, "has_key": has_key}


def planner(store: Store) -> Callable[[Mapping[str, Any]], Request]:
    """Give the request that a thread would be, its key aside."""

    def plan(context: Mapping[str, Any]) -> Request:
        from weft.chat import prepare
        from weft.providers import Target, auth_header
        from weft.web import Request

        registry = registry_of(store)
        pointer = (context.get("options") or {}).get("provider_ptr") or default_model()
        if not isinstance(pointer, str):
            raise UsageError("nobody is named to answer this thread\n  name who answers where nobody is: WEFT_MODEL")
        chosen = registry.read(pointer)
        row = registry.row(chosen.provider)
        made = prepare(Target(row, chosen.model), context).to_dict(stream=False)
        header, before = auth_header(row)
        key = row.keys[0] if row.keys else None
        headers = {name: value for name, value in made["headers"].items() if name.lower() != header.lower()}
        return Request(made["url"], headers, made["body"], key, (header, before))

    return plan


def pricing() -> Callable[[str, str, Mapping[str, Any], int], float | None] | None:
    """Give what a call cost, if prices are installed: by provider, model, the provider's account, and when."""
    from weft.canon import Usage
    from weft.providers import have_prices, price_of

    if not have_prices():
        return None

    def price(provider: str, model: str, usage: Mapping[str, Any], timestamp_ms: int) -> float | None:
        try:
            at = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
            cost = price_of(provider, model, Usage(provider_usage=usage), at=at)
        except (WeftError, ValueError, OverflowError, OSError, TypeError):
            return None
        return None if cost is None else float(cost)

    return price
