"""The laws of formats: what is written reads back, every loss is told, and no file crashes a reader."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.load import exchanges, wire_bytes
from tests.support.mutations import mutated
from tests.support.transcripts import transcripts
from weft.blobs import InMemoryBlobStore
from weft.canon import UNTIMED, Entry, Message, Part, Session, Transcript, Usage
from weft.errors import CodecError, UsageError
from weft.formats import Format, Source, format_by_name, guess, unaccounted
from weft.wire import StreamReader

OWN = [
    format_by_name(name)
    for name in ("weft", "markdown", "json", "ndjson", "toml", "stf", "context", "lmctx", "cooked", "trace")
]
# A few examples by default, as many as the profile has in a soak.
FEW = settings(max_examples=15 if settings().max_examples <= 50 else 2_000)


def named(kind: Format) -> str:
    return kind.name


@pytest.mark.parametrize("kind", [each for each in OWN if each.lossless], ids=named)
@given(given_one=transcripts())
@FEW
def test_what_a_lossless_format_wrote_it_reads_back(kind: Format, given_one: Transcript) -> None:
    """The first law; J-11: separators, fences and commands in every field are no more than text."""
    written, ledger = kind.dump(given_one)

    assert kind.load(written) == given_one
    assert ledger.count == 0


@pytest.mark.parametrize("kind", [each for each in OWN if each.lossless], ids=named)
@given(several=st.lists(transcripts(), max_size=3))
@settings(max_examples=5)
def test_a_lossless_format_holds_many_conversations(kind: Format, several: list[Transcript]) -> None:
    written, _ = kind.dump(several)

    assert list(kind.transcripts(written)) == several


@pytest.mark.parametrize("kind", [each for each in OWN if not each.lossless], ids=named)
@given(given_one=transcripts())
@FEW
def test_the_account_explains_every_difference(kind: Format, given_one: Transcript) -> None:
    """The second law: what a format cannot hold is in its account, by place."""
    written, ledger = kind.dump(given_one)

    assert unaccounted(given_one, kind.load(written), ledger.losses) == []


@pytest.mark.parametrize("other", [each for each in OWN if not each.lossless], ids=named)
@given(given_one=transcripts())
@settings(parent=FEW, max_examples=max(8, FEW.max_examples // 8))
def test_there_and_back_loses_only_what_the_first_account_named(other: Format, given_one: Transcript) -> None:
    """The third law, for A → B → A, where A holds everything."""
    first = format_by_name("weft")
    there, ledger = other.dump(first.load(first.dump(given_one)[0]))
    back, second = first.dump(other.load(there))

    assert unaccounted(given_one, first.load(back), ledger.losses) == []
    assert second.count == 0


# -- files that are broken ---------------------------------------------------------------------------------------------


def sample() -> Transcript:
    """One of everything."""
    blobs = InMemoryBlobStore(hashed=True)
    picture = Part("image", blob=blobs.put_blob(b"\x89PNG", media_type="image/png", kind="image"))
    call = Part("tool_call", tool_call_id="k1", tool_name="depth", tool_args={"pier": 4})
    sealed = Part("thinking", "Ask.", provider_raw={"type": "thinking", "thinking": "Ask.", "signature": "c2ln"})
    result = Part("tool_result", tool_call_id="k1", tool_name="depth", tool_output="6.2 m")
    messages = [
        Message("system", (Part("text", "Be brief."),), timestamp=UNTIMED),
        Message("user", (Part("text", "Depth?"), picture), timestamp=UNTIMED),
        Message("assistant", (sealed, Part("text", "One moment."), call), "m1", timestamp=UNTIMED),
        Message("tool", (result,), timestamp=UNTIMED),
        Message("assistant", (Part("text", "6.2 m"),), timestamp=UNTIMED),
    ]
    entries = list(Transcript.of(messages, blobs=blobs).entries)
    entries[2] = Entry("3", messages[2], ("2",), "mint-1", "tool_calls", Usage(1, 2, 3), blobs=blobs)
    return Transcript(
        tuple(entries), Session(id="s1", title="Harbour", model="mint-1", provider="anthropic"), {"main": "5"}
    )


@pytest.mark.parametrize("kind", OWN, ids=named)
@given(data=st.data())
@settings(parent=FEW, max_examples=max(25, FEW.max_examples))
def test_a_broken_file_is_refused_with_its_place_or_read(kind: Format, data: st.DataObject) -> None:
    """J-09: cut, spliced, with bytes changed, or with other values in it."""
    written = kind.dump(sample())[0]
    if kind.name not in ("markdown", "toml", "stf") and data.draw(st.booleans()):
        lines = written.splitlines()
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = orjson.dumps(data.draw(mutated([orjson.loads(lines[at])]).filter(_is_sayable)))
        broken = b"\n".join(lines)
    else:
        start, end = sorted(data.draw(st.tuples(st.integers(0, len(written)), st.integers(0, len(written)))))
        middle = data.draw(st.binary(max_size=6) | st.sampled_from([b'"', b"{", b"\n", b";", b"```", b"\xff", b"\\"]))
        broken = written[:start] + middle + written[end:]
    try:
        for transcript in kind.transcripts(broken):
            transcript.to_dict()
    except CodecError as error:
        told = str(error)
        assert told, error  # noqa: PT017 - either is right: a result, or an error that says something


def _is_sayable(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


@given(st.binary(max_size=60))
def test_any_bytes_are_guessed_or_not(data: bytes) -> None:
    try:
        found = guess(data)  # of what begins as a zip file and is none, this already says so
        if found is not None:
            list(found.transcripts(data))
    except (CodecError, UsageError) as error:
        told = str(error)
        assert told, error  # noqa: PT017


@pytest.mark.parametrize("kind", OWN, ids=named)
def test_each_format_knows_its_own(kind: Format) -> None:
    written, _ = kind.dump(sample())

    assert guess(written) is kind
    assert guess(Source.of(written, "x.txt")) is kind


@pytest.mark.parametrize("kind", OWN, ids=named)
def test_every_ability_that_is_claimed_is_there(kind: Format) -> None:
    """The table in the reference says what a file of each format holds; here claims are tried."""
    read = next(kind.transcripts(kind.dump(sample())[0]))
    parts = [part for entry in read.entries for part in entry.message.parts]
    kinds = {part.type for part in parts}

    there = {
        "thinking": "thinking" in kinds,
        "signatures": any("c2ln" in str(part.provider_raw) for part in parts),
        "calls": {"tool_call", "tool_result"} <= kinds,
        "images": any(part.type == "image" and part.blob is not None for part in parts),
        "heads": bool(read.heads),
        "title": read.session.title == "Harbour",
    }

    assert [claim for claim, is_there in there.items() if kind.carries[claim] == "yes" and not is_there] == []
    assert [claim for claim, is_there in there.items() if kind.carries[claim] == "no" and is_there] == []


# -- the corpus --------------------------------------------------------------------------------------------------------


def transcript_of(exchange: Any) -> Transcript | None:
    """Give a recorded call as a transcript: what was asked, and what was answered."""
    blobs = InMemoryBlobStore(hashed=True)
    spoken = exchange.dialect
    try:
        decoded = spoken.decode_request(exchange.request, blobs)
        messages = list(decoded.messages)
        if exchange.is_stream:
            decoder = spoken.StreamDecoder(blobs)
            reader = StreamReader(decoder, exchange.response["framing"])
            reader.feed(wire_bytes(exchange.response))
            reader.close()
            reply = decoder.reply
        else:
            reply = spoken.decode_response(exchange.response, blobs) if exchange.is_whole else None
    except Exception:  # noqa: BLE001 - what the wire formats refuse is tested there
        return None
    if reply is not None and reply.message is not None:
        messages.append(reply.message)
    untimed = [Message(each.role, each.parts, each.id, each.provider, None, UNTIMED) for each in messages]
    return Transcript.of(untimed, Session(model=exchange.model), blobs)


def check_corpus(chosen: list[Any]) -> int:
    count = 0
    for exchange in chosen:
        given_one = transcript_of(exchange)
        if given_one is None:
            continue
        count += 1
        for kind in OWN:
            written, ledger = kind.dump(given_one)
            read = kind.load(written)
            if kind.lossless:
                assert read == given_one, (exchange.id, kind)
            else:
                assert unaccounted(given_one, read, ledger.losses) == [], (exchange.id, kind)
    return count


@pytest.mark.corpus
def test_recorded_conversations_go_through_every_format() -> None:
    chosen = random.Random(8).sample(exchanges(), 12)

    assert check_corpus(chosen) > 6


@pytest.mark.corpus
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_recorded_conversation_goes_through_every_format() -> None:
    assert check_corpus(list(exchanges())) > 3000
