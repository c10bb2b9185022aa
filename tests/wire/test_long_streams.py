"""Long streams: what is held of them is their text, and not a piece for every event."""

from __future__ import annotations

from typing import Any

import pytest

from weft.canon import ContentDelta, Message, Part, Reply, RoleChange, StreamEnd, StreamStart
from weft.wire import DIALECTS, StreamReader, dialect

STREAMED = [name for name in DIALECTS if name not in ("openai_images", "openai_responses_compact")]


def streamed(name: str, words: list[str]) -> bytes:
    """Write an answer as a dialect streams it, an event for every word."""
    reply = Reply((Message("assistant", (Part("text", "".join(words)),)),), model="mint-1", finish_reason="stop")
    encoder = dialect(name).StreamEncoder()
    told = [StreamStart("r1", "mint-1"), RoleChange("assistant"), *map(ContentDelta, words)]
    return b"".join([*map(encoder.feed, [*told, StreamEnd("stop", reply=reply)]), encoder.close()])


def text_of(reader: StreamReader) -> str:
    assert reader.reply is not None
    assert reader.reply.message is not None
    return "".join(part.text or "" for part in reader.reply.message.parts if part.type == "text")


@pytest.mark.parametrize("name", STREAMED)
def test_pieces_can_be_joined_at_any_time(name: str) -> None:
    """Issue 5: memory is flat over a long stream, and the answer the same to the letter."""
    words = [f"w{number % 97} " for number in range(1_000)]
    written = streamed(name, words)
    decoder: Any = dialect(name).StreamDecoder()
    reader = StreamReader(decoder, dialect(name).framing)

    counts = []
    for at in range(0, len(written), 4096):
        reader.feed(written[at : at + 4096])
        decoder.compact()
        counts += [len(pieces) for pieces in decoder.growing()]
    reader.close()

    assert text_of(reader) == "".join(words)
    assert 0 < max(counts) < 20


def test_a_reader_joins_them_every_megabyte() -> None:
    words = [f"w{number % 97} " for number in range(16_000)]
    written = streamed("openai_chat", words)
    assert len(written) > 2 * (1 << 20)
    decoder: Any = dialect("openai_chat").StreamDecoder()
    reader = StreamReader(decoder, "sse")

    most = 0
    for at in range(0, len(written), 65536):
        reader.feed(written[at : at + 65536])
        most = max([most, *map(len, decoder.growing())])
    reader.close()

    assert text_of(reader) == "".join(words)
    assert most < len(words) * 3 // 4
