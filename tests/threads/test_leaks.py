"""Where secrets are looked for: every text of a turn, and keys in the log."""

from __future__ import annotations

import base64
from random import Random

import weft
from weft.threads import scan_secrets

KEY = "gsk_" + "".join(Random(5).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789", k=40))  # noqa: S311


def places(store: weft.Store) -> list[str]:
    return [leak.place for leak in scan_secrets(store)]


def test_k03_a_secret_is_found_wherever_it_stands(store: weft.Store) -> None:
    """K-03: in text, arguments, results, a document's text and a key of an object; on both databases."""
    data = base64.b64encode(f"token: {KEY}".encode()).decode()
    blocks = [
        {"type": "text", "text": f"use {KEY}"},
        {"type": "tool_use", "id": "c", "name": "call", "input": {"headers": [{"x": KEY}], KEY: 1}},
        {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": data}},
        {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    ]
    store.add_turn(blocks, json=True)

    found = set(places(store))

    assert found >= {"content[0].text", "content[1].input.headers[0].x", "content[2].source.data"}
    assert any(place.startswith("content[1].input") and place.endswith("(a key)") for place in found)
    assert not any(place.startswith("content[3]") for place in found)


def test_all_of_a_store_is_looked_through(store: weft.Store) -> None:
    turns = [store.add_turn(f"{number}: {KEY if number % 100 == 0 else 'nothing'}").id for number in range(201)]

    assert [leak.id for leak in scan_secrets(store)] == [turns[number] for number in (200, 100, 0)]
    assert [leak.id for leak in scan_secrets(store, [store.turn(turns[100])])] == [turns[100]]
