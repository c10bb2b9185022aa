"""The same conversation on every kind of store."""

from __future__ import annotations

import weft
from tests.support.chatting import CLAUDE, GPT, Talk
from tests.support.stores import store, store_url
from weft.chat import recover
from weft.sim import Simulator

__all__ = ["store", "store_url"]


def depth(pier: int) -> str:
    """Measure the depth at a pier."""
    return f"{pier}.2 m"


def test_a_conversation_is_kept_alike(store: weft.Store, simulator: Simulator) -> None:  # the fixture
    talk = Talk(store, simulator)

    first = talk.ask('[[think Hm.]][[tool depth {"pier": 4}]] How deep?', CLAUDE, bookmark="tides", functions=[depth])
    cut = talk.ask("[[long 60]][[cut 9]] Tell me.", GPT, continues="tides")

    assert [turn.role for turn in store.thread("tides")] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert "4.2 m" in first.turn.text
    assert cut.turn.meta["unfinished"] is True
    assert talk.received() == talk.shown
    assert len(talk.frames("gpt.call")) == 3
    assert recover(store) == []
