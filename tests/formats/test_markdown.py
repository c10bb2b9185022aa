"""Markdown that a person edits and weft reads back."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.support.transcripts import awkward_texts
from weft.canon import UNTIMED, Message, Part, Session, Transcript
from weft.errors import CodecError
from weft.formats import format_by_name, guess

MARKDOWN = format_by_name("markdown")


def written(transcript: Transcript) -> str:
    return MARKDOWN.dump(transcript)[0].decode()


def conversation(*messages: Message, title: str | None = None) -> Transcript:
    return Transcript.of(messages, Session(title=title))


def message(role: str, *parts: Part) -> Message:
    return Message(role, parts, timestamp=UNTIMED)  # type: ignore[arg-type]


def test_a_plain_conversation_is_plain_markdown() -> None:
    given_one = conversation(
        message("user", Part("text", "When is high water?\n\n# soon\n\n```python\nx\n```")),
        message("assistant", Part("text", "06:10")),
        title="Harbour watch",
    )

    assert written(given_one) == (
        "# Harbour watch\n\n## user\n\nWhen is high water?\n\n# soon\n\n```python\nx\n```\n\n## assistant\n\n06:10\n\n"
    )


def test_what_a_person_wrote_is_read() -> None:
    """Blank lines around texts are no matter, nor how the heading is spelled; a file may come from Windows."""
    text = "\ufeff# Tides \n\n##  User\n\n\nwhen?\n \n\n## assistant\n06:10\n"
    for each in (text, text.replace("\n", "\r\n")):
        read = MARKDOWN.load(each)

        assert read == conversation(
            message("user", Part("text", "when?")), message("assistant", Part("text", "06:10")), title="Tides"
        )


def test_what_is_not_text_is_in_blocks_and_comments() -> None:
    call = Part("tool_call", tool_call_id="k7", tool_name="tide", tool_args={"port": "Oban"})
    sealed = Part("thinking", "Look.", provider_raw={"type": "thinking", "thinking": "Look.", "signature": "c2ln"})
    given_one = conversation(
        message("assistant", sealed, Part("text", "One moment."), call),
        message("tool", Part("tool_result", tool_call_id="k7", tool_output="```\n06:10\n```")),
    )

    text = written(given_one)

    assert "```weft thinking\nLook.\n```\n\nOne moment.\n" in text
    assert '```weft tool_call {"id":"k7","name":"tide"}\n{\n  "port": "Oban"\n}\n```' in text
    assert '````weft tool_result {"id":"k7"}\n```\n06:10\n```\n````' in text
    assert text.count("c2ln") == 1
    assert MARKDOWN.load(text) == given_one


def test_a_seal_is_kept_while_its_words_are_and_dropped_with_them() -> None:
    """A signature seals the words it was made for; sent with others, the provider would refuse it."""
    sealed = Part("thinking", "Look.", provider_raw={"thinking": "Look.", "signature": "c2ln"})
    text = written(conversation(message("assistant", sealed, Part("text", "06:10"))))

    other_answer = MARKDOWN.load(text.replace("06:10", "06:20")).entries[0].message.parts
    other_thought = MARKDOWN.load(text.replace("Look.\n", "Guess.\n")).entries[0].message.parts

    assert other_answer == (sealed, Part("text", "06:20"))
    assert other_thought == (Part("thinking", "Guess."), Part("text", "06:10"))
    moved = text.replace("## assistant\n", "## assistant\nAn aside.\n")
    assert MARKDOWN.load(moved).entries[0].message.parts[1] == sealed


@given(awkward_texts, awkward_texts)
def test_separators_in_every_field_are_text(one: str, other: str) -> None:
    """J-11."""
    call = Part("tool_call", tool_call_id=one, tool_name=other, tool_args={one: other})
    result = Part("tool_result", tool_call_id=other, tool_name=one, tool_output=other)
    parts = [Part("text", one), Part("text", other), Part("thinking", one), Part("refusal", other), call, result]
    given_one = conversation(message("assistant", *parts), message("user", Part("text", other)), title=one or None)

    read = MARKDOWN.load(written(given_one))

    assert read == given_one


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello", 1),
        ("## user\n```weft thinking\nx", 2),
        ("## user\n```weft nothing\n```", 2),
        ("## user\n\n```weft tool_call\n[1]\n```", 4),
        ("## user\n\n```weft tool_call {x}\n{}\n```", 3),
        ('## user\n\n```weft tool_call {"id":1}\n{}\n```', 3),
        ("## user\n\n```weft tool_call 3\n{}\n```", 3),
        ('## user\n\n```weft part\n{"type":1}\n```', 3),
        ("## user\n\n```weft part\n{\n```", 4),
        ("## user\n\n```weft blob x\n%\n```", 3),
        ("## user\n<!-- weft: { -->", 2),
        ("## user\n<!-- weft: [] -->", 2),
        ('## user\n<!-- weft: {"model":1} -->', 2),
        ('## user\n<!-- weft: {"parts":1} -->', 2),
        ('<!-- weft: {"model":"x"} -->', 1),
        ('<!-- weft: {"weft":2} -->', 1),
        ('<!-- weft: {"weft":1,"session":{"id":1}} -->', 1),
        ('<!-- weft: {"stray":1} -->', 1),
        ('<!-- weft: {"end":1} -->', 1),
        ('## user\n<!-- weft: {"end":{"heads":1}} -->', 2),
        ('## user\n<!-- weft: {"end":{"current":1}} -->', 2),
        ("# a\n# b", 2),
        ("```weft text\n```", 1),
        ("## user\n\xff", 2),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(CodecError, match=f"^line {line}:"):
        MARKDOWN.load(text.encode("latin-1"))


def test_bytes_that_were_changed_are_refused() -> None:
    from weft.blobs import InMemoryBlobStore

    blobs = InMemoryBlobStore(hashed=True)
    picture = Part("image", blob=blobs.put_blob(b"\x89PNG", media_type="image/png", kind="image"))
    text = written(Transcript.of([message("user", picture)], blobs=blobs))

    assert MARKDOWN.load(text).entries[0].blobs.get_blob(picture.blob) == b"\x89PNG"  # type: ignore[arg-type]
    with pytest.raises(CodecError, match="are others"):
        MARKDOWN.load(text.replace("iVBORw==", "AAAA"))


def test_it_is_recognised() -> None:
    assert guess("## user\n\nhi\n") is MARKDOWN
    assert guess("# Notes\n\n## user\n\nhi\n") is MARKDOWN
    assert guess("# Notes\n\n## Users\n\nhi\n") is None
    assert guess(written(conversation())) is MARKDOWN
