"""The exchange as a value, and as a record."""

from __future__ import annotations

from typing import Any

import pytest

from weft.trace import Exchange

SEED = {
    "id": "a",
    "timestamp": "2026-01-02T03:04:05+00:00",
    "duration_ms": 12,
    "request": {"model": "m"},
    "response": {"stream": True, "sse_lines": ["data: 1"]},
    "error": None,
}


def test_a_record_of_the_six_fields_comes_back_as_it_is() -> None:
    """C-1, C-2: nothing is added."""
    exchange = Exchange.from_record(SEED)

    assert exchange.to_record() == SEED
    assert list(exchange.to_record()) == list(SEED)
    assert exchange.is_stream
    assert exchange.sse_lines == ["data: 1"]


def test_weft_s_own_fields_and_those_of_others_are_kept() -> None:
    record = {
        **SEED,
        "method": "POST",
        "path": "/v1/x?key=****",
        "status": 200,
        "provider": "openai",
        "turn_id": "t",
        "state": "incomplete",
        "reason": "killed",
        "notes": ["cut"],
        "frames": [{"from": "client", "ms": 1, "text": "hi"}],
        "drained": True,
        "request_blob": {"sha256": "00"},
        "theirs": [1, 2],
    }

    exchange = Exchange.from_record(record)

    assert exchange.to_record() == record
    assert exchange.more == {"theirs": [1, 2]}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"id": 7, "timestamp": None, "duration_ms": "x", "notes": 3},
        {"duration_ms": 1.9},
        {"duration_ms": float("inf")},
    ],
)
def test_what_is_missing_or_odd_gets_its_default(record: dict[str, Any]) -> None:
    exchange = Exchange.from_record(record)

    assert isinstance(exchange.id, str)
    assert isinstance(exchange.duration_ms, int)
    assert exchange.notes == ()
    assert not exchange.is_stream
    assert exchange.sse_lines == []
