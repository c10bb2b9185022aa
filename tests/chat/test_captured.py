"""Threads that go on with a captured request: whom they ask by default, and what is said when that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.support.agents import claude_record
from weft.chat.captured import captured_of, messages_of, plan_captured, pointer_of
from weft.client import Registry, Target
from weft.errors import StoreError
from weft.providers import KeyPlaces
from weft.trace import import_exchanges

USER: dict[str, Any] = {"role": "user", "content": "How deep?"}


@pytest.fixture
def registry() -> Registry:
    return Registry(KeyPlaces({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}), {})


def imported(store: weft.Store, **more: Any) -> str:
    record = {**claude_record(1, [USER], [{"type": "text", "text": "Six."}]), **more}
    return str(import_exchanges(store.frames, [record], now_ms=1).requests[0].turn_id)


def test_a_thread_without_a_capture_has_none(sqlite_store: weft.Store) -> None:
    assert captured_of(sqlite_store, {}) is None
    assert captured_of(sqlite_store, {"request": 7}) is None


def test_who_answered_is_asked_again(sqlite_store: weft.Store, registry: Registry) -> None:
    captured = captured_of(sqlite_store, sqlite_store.resolve(imported(sqlite_store))["options"])
    assert captured is not None

    assert pointer_of(captured, registry) == "anthropic/claude-sonnet-4-6"


def test_who_is_not_known_here_is_not_asked(sqlite_store: weft.Store, registry: Registry) -> None:
    record = {"path": "/v1beta/models/x", "request": {"contents": [{"parts": [{"text": "hi"}]}]}}
    captured = captured_of(sqlite_store, sqlite_store.resolve(imported(sqlite_store, **record))["options"])
    assert captured is not None

    assert (captured.spec.model, pointer_of(captured, registry)) == ("", None)


def test_settings_that_are_gone_are_said_to_be(sqlite_store: weft.Store) -> None:
    with pytest.raises(StoreError, match="captured settings"):
        captured_of(sqlite_store, {"request": "sha256-" + "A" * 43 + "="})


def test_tools_and_a_schema_of_ones_own_go_along(sqlite_store: weft.Store, registry: Registry) -> None:
    turn_id = imported(sqlite_store)
    captured = captured_of(sqlite_store, sqlite_store.resolve(turn_id)["options"])
    assert captured is not None
    messages, blobs = messages_of(sqlite_store, {**sqlite_store.resolve(turn_id), "stored": [turn_id]})
    tool = {"name": "depth", "description": "d", "inputSchema": {"type": "object"}}
    schema = {"type": "object", "properties": {}}

    plan, speaks = plan_captured(
        captured, Target(registry.row("anthropic"), "claude-opus-4-6"), messages, blobs, [tool], schema
    )

    assert (speaks, plan.request["model"]) == ("anthropic", "claude-opus-4-6")
    assert [each["name"] for each in plan.request["tools"]] == ["depth"]
    assert plan.request["output_config"]["format"]["schema"] == schema
