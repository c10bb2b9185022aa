"""What is shown of an answer while it comes in [T-58]."""

from __future__ import annotations

import pytest

from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    StreamStart,
    ToolCallDelta,
    ToolCallStart,
)
from weft.chat.listen import Listener


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (ContentDelta("Six"), [{"type": "text", "content": "Six"}]),
        (ReasoningDelta("Hm"), [{"type": "thinking", "content": "Hm"}]),
        (RefusalDelta("No"), [{"type": "refusal", "content": "No"}]),
        (ToolCallStart(0, "depth", "c1"), [{"type": "tool_use", "name": "depth", "id": "c1"}]),
        (ToolCallStart(0, "depth"), [{"type": "tool_use", "name": "depth"}]),
        (ContentDelta((Part("image"),)), [{"type": "image"}]),
        (ContentDelta(""), []),
        (StreamStart(), []),
        (NativeEvent({"type": "ping"}), []),
        (
            PartEnd(Part("provider", provider_raw={"type": "server_tool_use", "name": "web_search"})),
            [{"type": "server_tool_use", "name": "web_search"}],
        ),
        (
            PartEnd(
                Part(
                    "provider",
                    provider_raw={
                        "type": "web_search_tool_result",
                        "content": [{"url": "u", "title": "t", "encrypted_content": "x"}],
                    },
                )
            ),
            [{"type": "web_search_tool_result", "content": "url,title\nu,t\n"}],
        ),
        (PartEnd(Part("text", "Six")), []),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else "",
)
def test_t58_each_event_shows_what_the_table_says(event: Event, shown: list[object]) -> None:
    assert Listener().feed(event) == shown


def test_calls_that_come_in_turns_say_which_one_they_are() -> None:
    """weft fixes: several calls of one answer yield their own events."""
    listener = Listener()
    told = [listener.feed(ToolCallStart(0, "a", "1")), listener.feed(ToolCallStart(1, "b", "2"))]
    told += [listener.feed(ToolCallDelta(0, "{")), listener.feed(ToolCallDelta(0, "}"))]

    assert told[2:] == [[{"type": "tool_use", "name": "a", "id": "1"}, {"content": "{"}], [{"content": "}"}]]
