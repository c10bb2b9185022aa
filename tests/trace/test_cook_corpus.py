from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.components import require
from tests.trace.published import Asked, parents_of
from weft.jsontext import loads
from weft.trace import Cooker

DIALECTS = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic",
    "google.generate_content": "gemini",
    "bedrock.converse": "bedrock",
    "cohere.chat": "cohere",
    "ollama.chat": "ollama",
}


@pytest.mark.corpus
def test_recorded_exchanges_cook_as_the_published_algorithm_says() -> None:
    """C-17, C-22, C-27, C-30, C-49, G-08: every recording of every provider, as bytes and as values."""
    by_bytes, by_value = Cooker(), Cooker()
    handles: list[tuple[Any, Any]] = []
    for path in sorted(require("corpus").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            record = loads(line)
            handles.append((by_bytes.add(line), record))
            by_value.add(record)

    cooked = by_bytes.cooked()

    assert cooked == by_value.cooked()
    assert not by_bytes.problems
    assert len(cooked.requests) == len(handles)
    by_model: dict[str, list[Any]] = {}
    for handle, _ in handles:
        by_model.setdefault(handle.model, []).append(handle)
    for same in by_model.values():
        if len(same) > 250:  # compared pair by pair: the largest models would take minutes
            continue
        asked = [
            Asked(
                tuple(each.request_messages),
                tuple(each.response_messages),
                each.tool_set,
                "",
                each.timestamp,
                each.loose,
                each.synthetic,
            )
            for each in same
        ]
        assert [each.parent and each.parent.index for each in same] == [
            None if at is None else same[at].index for at in parents_of(asked)
        ]
    _recognised(handles)
    _sent_back(handles)


def _recognised(handles: list[tuple[Any, Any]]) -> None:
    """Nearly every recording of a dialect is known for it; a refused plain question tells nothing."""
    told = Counter((record["dialect"], handle.dialect) for handle, record in handles if not record["error"])
    for dialect, expected in DIALECTS.items():
        right = told[dialect, expected]
        assert right >= 0.99 * sum(count for (name, _), count in told.items() if name == dialect), (dialect, told)


def _sent_back(handles: list[tuple[Any, Any]]) -> None:
    """What came back is found again in the request that sends it back, wherever the client kept it as it was."""
    known = {(record["group"], record["index"]): handle for handle, record in handles}
    found = []
    for handle, record in handles:
        before = known.get((record["group"], record["replays"])) if record["replays_exact"] else None
        if before is not None and before.dialect != "gemini":  # whose clients invent ids for calls that had none
            found.append(set(_expected(before)) <= set(handle.request_messages))
    assert sum(found) >= 0.85 * len(found)


def _expected(handle: Any) -> list[str]:
    before = len(handle.request_messages)
    return [each for at, each in enumerate(handle.response_messages) if before + at not in handle.loose]
