"""inspect-ai's logs: what it writes is read here, and what is written here it reads, by its own package."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.formats.test_agent_sessions import shape
from tests.formats.test_owners import SEALED, a_transcript
from tests.support.asked import Asked, asked
from tests.support.components import require
from tests.support.transcripts import transcripts
from weft.canon import UNTIMED, Message, Part, Session, ToolSpecification, Transcript, Usage
from weft.errors import CodecError
from weft.formats import Source, differences, format_by_name, guess
from weft.formats.foreign import is_failed

KIND = format_by_name("inspect")
ANSWER = Path(__file__).resolve().parents[1] / "support" / "inspect" / "answer.py"
ZSTANDARD = 93
LOG: dict[str, Any] = {"version": 2, "status": "success", "eval": {"task": "t", "model": "anthropic/claude-x"}}


@pytest.fixture(scope="module")
def inspect_ai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with asked((require("inspect-ai"), ANSWER), tmp_path_factory.mktemp("home")) as ask:
        yield ask


def opened(path: str | Path) -> list[Transcript]:
    with Source.open(path) as source:
        return list(KIND.transcripts(source))


def read_by(ask: Asked, data: bytes, folder: Path) -> dict[str, Any]:
    """Give what inspect-ai reads from a log."""
    place = folder / "log.json"
    place.write_bytes(data)
    found: dict[str, Any] = ask({"do": "read", "path": str(place)})
    assert "samples" in found or found.get("error") is None, found["error"]
    return found


def an_eval(files: dict[str, Any]) -> Source:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, value in {"header.json": LOG, **files}.items():
            archive.writestr(name, json.dumps(value))
    return Source.of(made.getvalue())


def test_chunks_are_found_whatever_else_is_in_their_folder() -> None:
    """Issue 8, laws: a changed file gives an error or a result. Chunks are put in order by their numbers."""
    folder = "samples/a_epoch_1"
    chunks = {f"{folder}/messages/{n:03}.json": [{"role": "user", "content": str(n)}] for n in (10, 9, 0)}
    others: dict[str, Any] = {f"{folder}/messages/{name}": [] for name in ("7", "index.json", "x.txt")}
    sample = {f"{folder}/sample.json": {"id": "a", "epoch": 1, "message_refs": [[0, 3]]}}

    (transcript,) = KIND.transcripts(an_eval({**chunks, **others, **sample}))

    assert [entry.message.parts[0].text for entry in transcript.entries] == ["0", "9", "10"]


def a_log(*samples: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({**LOG, "samples": samples, **more}).encode()


def a_sample(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "input": "x", "target": "", "messages": messages, **more}


def parts(*content: dict[str, Any], **log: Any) -> tuple[Part, ...]:
    """Give the parts of an answer with this content."""
    data = {**LOG, **log, "samples": [a_sample({"role": "assistant", "content": content})]}
    return KIND.load(json.dumps(data)).entries[0].message.parts


def test_evaluations_are_read_and_written_so_that_inspect_ai_reads_the_same(inspect_ai: Asked, tmp_path: Path) -> None:
    """Real runs with tools, pictures, reasoning, two epochs and scores that are no numbers, in each of its forms."""
    made = inspect_ai({"do": "evaluate", "folder": str(tmp_path)})

    for form in ("eval", "json", "chunked"):
        found = opened(made[form])
        assert guess(Path(made[form])) is KIND
        assert sorted(str(each.session.id) for each in found) == ["2", "2_epoch_2", "a/b", "a/b_epoch_2"]
        seen = next(each for each in found if each.session.id == "2")
        assert [each[2:] for each in shape(seen)] == [
            ("system", ["text"]),
            ("user", ["text", "image", "file"]),
            ("assistant", ["thinking", "thinking", "text", "tool_call", "tool_call"]),
            ("tool", ["tool_result"]),
            ("tool", ["tool_result"]),
            ("assistant", ["text"]),
        ]
        asking, told, answer = (seen.entries[at] for at in (2, 4, 5))
        assert (asking.finish_reason, asking.usage and asking.usage.total_tokens) == ("tool_calls", 7)
        assert (answer.finish_reason, answer.usage and answer.usage.input_tokens) == ("stop", 30)
        assert answer.timestamp is not None
        assert is_failed(told.message.parts[0])
        assert told.message.parts[0].tool_output == "no such pier"
        assert [tool.name for tool in seen.session.tools] == ["depth"]

        written, ledger = KIND.dump(found)

        assert ledger.losses == []
        assert list(KIND.transcripts(written)) == found
        theirs = inspect_ai({"do": "read", "path": made[form.replace("chunked", "eval")]})
        ours = read_by(inspect_ai, written, tmp_path)
        for log in (theirs, ours):
            log["samples"].sort(key=lambda sample: (sample["epoch"], str(sample["id"])))
        assert json.dumps(ours) == json.dumps(theirs)  # as text: NaN is not itself


def test_conversations_are_samples_that_inspect_ai_reads(inspect_ai: Asked, tmp_path: Path) -> None:
    """Thinking, pictures, parallel calls and a failed one; each answer has its event; two conversations of one name."""
    written, _ = KIND.dump([a_transcript(), a_transcript()])

    log = read_by(inspect_ai, written, tmp_path)

    assert (log["status"], log["eval"]["model"]) == ("success", "anthropic/claude-x")
    assert [(sample["id"], sample["epoch"]) for sample in log["samples"]] == [("s1", 1), ("s1", 2)]
    sample = log["samples"][0]
    _, asked_for, asking, good, bad, last = sample["messages"]
    assert [block["type"] for block in asked_for["content"]] == ["text", "image"]
    assert asked_for["content"][1]["image"] == "data:image/png;base64,iVBORw=="
    assert asking["content"][0] == {"type": "reasoning", "reasoning": "SIG", "summary": "hm", "redacted": True}
    assert [call["id"] for call in asking["tool_calls"]] == ["c1", "c2"]
    assert (good["content"], good["function"]) == ("6 m", "depth")
    assert bad["error"] == {"type": "unknown", "message": "no such pier"}
    assert sample["output"]["completion"] == last["content"] == "Six."
    first, second = (event for event in sample["events"] if event["event"] == "model")
    assert [message["role"] for message in second["input"]] == ["system", "user", "assistant", "tool", "tool"]
    assert first["output"]["choices"][0]["stop_reason"] == "tool_calls"
    assert second["output"]["usage"]["total_tokens"] == 7
    assert first["tools"][0]["parameters"]["properties"] == {"pier": {"type": "integer"}}
    back = list(KIND.transcripts(written))
    assert [each.message.parts for each in back[0].entries[2:3]] == [a_transcript().entries[1].message.parts]
    assert back[0].session.tools == a_transcript().session.tools


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_ones=st.lists(transcripts(), max_size=3))
def test_whatever_is_written_is_read_by_inspect_ai(
    given_ones: list[Transcript], inspect_ai: Asked, tmp_path: Path
) -> None:
    log = read_by(inspect_ai, KIND.dump(given_ones)[0], tmp_path)

    assert len(log["samples"]) == len(given_ones)


@pytest.mark.soak
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_ones=st.lists(transcripts(), max_size=3))
def test_very_much_that_is_written_is_read_by_inspect_ai(
    given_ones: list[Transcript], inspect_ai: Asked, tmp_path: Path
) -> None:
    log = read_by(inspect_ai, KIND.dump(given_ones)[0], tmp_path)

    assert len(log["samples"]) == len(given_ones)


def test_reasoning_comes_as_its_makers_own_block() -> None:
    """Anthropic's as it is now and was before, redacted or not; OpenAI's encrypted; others as they are."""
    now = {"type": "reasoning", "reasoning": "SIG", "summary": "hm", "redacted": True}
    before = {"type": "reasoning", "reasoning": "hm", "signature": "SIG", "redacted": False}
    redacted = {"type": "reasoning", "reasoning": "DATA", "redacted": True}
    sealed = {"type": "reasoning", "reasoning": "ENC", "signature": "rs_1", "summary": "so", "redacted": True}
    plain = {"type": "reasoning", "reasoning": "loud", "internal": {"a": 1}}

    claude = parts(now, before, redacted, plain)
    (gpt,) = parts(sealed, eval={"task": "t", "model": "openai/gpt-x"})

    assert [part.provider_raw for part in claude] == [
        SEALED,
        SEALED,
        {"type": "redacted_thinking", "data": "DATA"},
        {"inspect": {"internal": {"a": 1}}},
    ]
    assert [part.text for part in claude] == ["hm", "hm", None, "loud"]
    assert gpt.json == {"provider": "openai", "dialect": "openai_responses"}
    assert gpt.provider_raw == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": ({"type": "summary_text", "text": "so"},),
        "encrypted_content": "ENC",
    }


def test_media_and_unknown_blocks_are_written_again() -> None:
    content = [
        {"type": "image", "image": "https://harbour.example/x.png", "detail": "low"},
        {"type": "audio", "audio": "data:audio/wav;base64,iVBORw==", "format": "wav"},
        {"type": "video", "video": "tide.mov", "format": "mov"},
        {"type": "document", "document": "data:audio/ogg;base64,iVBORw==", "filename": "a", "mime_type": "audio/ogg"},
        {"type": "document", "document": "https://harbour.example/y", "filename": "y", "citations": True},
        {"type": "text", "text": "No.", "refusal": True},
        {"type": "text", "text": "Yes.", "citations": [{"type": "url", "url": "https://harbour.example"}]},
        {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "s", "arguments": "{}", "result": "[]"},
        {"type": "image", "image": "data:image/png;base64,???"},
    ]
    log = a_log(a_sample({"role": "user", "content": content}))

    transcript = KIND.load(log)
    written, ledger = KIND.dump(transcript)

    found = transcript.entries[0].message.parts
    kinds = ["image", "audio", "video", "audio", "file", "refusal", "text", "provider", "provider"]
    assert [part.type for part in found] == kinds
    assert (ledger.losses, KIND.load(written)) == ([], transcript)
    assert json.loads(written)["samples"][0]["messages"][0]["content"] == content


def test_tool_messages_of_every_kind_are_written_again() -> None:
    """A result in blocks, one that failed with something beside the error, calls that could not be read."""
    blocks = [{"type": "text", "text": "x"}, {"type": "image", "image": "data:image/png;base64,iVBORw=="}]
    odd = [{"type": "data", "data": {"a": 1}}]
    calls = [
        {"id": "c1", "function": "f", "arguments": {}, "type": "custom", "parse_error": "no"},
        {"id": "c2", "function": "f", "arguments": {"a": 1}, "type": "function"},
    ]
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": calls, "id": "m"},
        {"role": "tool", "content": blocks, "tool_call_id": "c1", "function": "f"},
        {"role": "tool", "content": odd, "tool_call_id": "c2", "function": "f"},
        {
            "role": "tool",
            "content": "half",
            "tool_call_id": "c2",
            "function": "f",
            "error": {"type": "timeout", "message": "late"},
        },
        {"role": "user", "content": "go on", "tool_call_id": ["c1"], "source": "input", "metadata": {"a": [1]}},
    ]

    transcript = KIND.load(a_log(a_sample(*messages)))
    written, ledger = KIND.dump(transcript)

    assert [entry.message.parts[0].tool_output for entry in transcript.entries[3:4]] == ["late"]
    assert (ledger.losses, KIND.load(written)) == ([], transcript)
    assert json.loads(written)["samples"][0]["messages"] == messages


def test_results_are_messages_of_their_own_and_what_stands_beside_them_is_another() -> None:
    """A note beside a result has no form there, and makes no message; words do."""
    result = Part("tool_result", tool_call_id="c", tool_output="6 m")
    notes = Part("annotation", json={"a": 1})
    messages = [
        Message("tool", [notes, result, result, notes], "m", timestamp=UNTIMED),
        Message("user", [result, Part("text", "And now?")], timestamp=UNTIMED),
        Message("assistant", [notes], timestamp=UNTIMED),
    ]

    sample = json.loads(KIND.dump(Transcript.of(messages))[0])["samples"][0]

    assert [(said["role"], said["content"], said.get("id")) for said in sample["messages"]] == [
        ("tool", "6 m", "m"),
        ("tool", "6 m", None),
        ("tool", "6 m", None),
        ("user", "And now?", None),
        ("assistant", "", None),
    ]


def test_answers_without_ids_are_found_in_events_by_what_they_say() -> None:
    """As they are written for conversations that had none: two alike, each with its own account."""
    messages = [Message("assistant", [Part("text", "ok")], timestamp=UNTIMED) for _ in range(2)]
    plain = Transcript.of(messages)
    given_one = Transcript(
        tuple(
            type(entry)(entry.id, entry.message, entry.parent_ids, None, "stop", Usage(number, 1, number + 1))
            for number, entry in enumerate(plain.entries, 1)
        )
    )

    back = KIND.load(KIND.dump(given_one)[0])

    counts = [entry.usage.input_tokens for entry in back.entries if entry.usage is not None]
    assert counts == [1, 2]
    assert [entry.finish_reason for entry in back.entries] == ["stop", "stop"]


def test_an_answer_that_is_added_gets_its_own_event() -> None:
    old = KIND.load(KIND.dump(a_transcript())[0])
    last = old.entries[-1]
    message = Message("assistant", [Part("text", "Six metres.")], "new", timestamp=UNTIMED)
    entry = type(last)("9", message, (last.id,), "claude-x", "length", Usage(1, 2, 3))

    sample = json.loads(KIND.dump(Transcript((*old.entries, entry), old.session))[0])["samples"][0]

    *others, event = sample["events"]
    assert len(others) == 2
    begin, end = event["input_refs"][0]
    assert sample["events_data"]["messages"][begin:end] == sample["messages"][:-1]
    assert event["output"]["choices"][0] == {"message": sample["messages"][-1], "stop_reason": "max_tokens"}


def test_a_tool_whose_schema_inspect_ai_would_refuse_is_written_without_it() -> None:
    """It knows a part of JSON Schema, and one tool beyond that would make the whole log unreadable."""
    fitting: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x"], "minLength": 1},
            "b": {"anyOf": [{"type": "array", "items": {"type": "number", "minimum": 0.5}}, {"$ref": "#/x"}]},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    odd: list[Any] = [
        {"type": "array"},
        {"properties": {"a": True}},
        {"properties": {"a": {"type": "tuple"}}},
        {"properties": {"a": {"items": [{}]}}},
        {"required": None},
        {"properties": {"a": {"description": 3}}},
    ]
    tools = tuple(ToolSpecification(f"t{n}", "d", schema) for n, schema in enumerate([fitting, *odd]))
    asked_and_told = [Message("assistant", [Part("text", "ok")], timestamp=UNTIMED)]

    written, ledger = KIND.dump(Transcript.of(asked_and_told, Session(tools=tools)))

    back = KIND.load(written).session.tools
    assert [tool.input_schema == tools[n].input_schema for n, tool in enumerate(back)] == [True] + [False] * len(odd)
    assert {loss.place.partition(".input_schema")[0] for loss in ledger.losses if ".tools" in loss.place} == {
        f"session.tools[{n}]" for n in range(1, len(tools))
    }


@pytest.mark.parametrize(
    ("said", "provider", "model"),
    [
        ("openai/gpt-x", "openai", "gpt-x"),
        ("openrouter/meta/llama", "openrouter", "meta/llama"),
        ("gpt-x", None, "gpt-x"),
        ("anthropic/", "anthropic", None),
        ("none/none", None, None),
    ],
)
def test_the_model_is_named_with_who_answers(said: str, provider: str | None, model: str | None) -> None:
    session = KIND.load(a_log(a_sample(), eval={"task": "t", "model": said})).session

    again = json.loads(KIND.dump(Transcript(session=Session(provider=provider, model=model)))[0])

    assert (session.provider, session.model) == (provider, model)
    assert again["eval"]["model"] == said


def test_what_another_log_said_of_itself_is_told_as_lost() -> None:
    """A file holds one evaluation: that of the first conversation."""
    one, other = (
        KIND.load(a_log(a_sample(), eval={"task": task, "model": "m/x"}, reductions=[task])) for task in ("a", "b")
    )

    written, ledger = KIND.dump([one, other])

    log = json.loads(written)
    assert (log["eval"]["task"], log["reductions"]) == ("a", ["a"])
    assert [(loss.place, loss.fate) for loss in ledger.losses] == [
        ("transcripts[1].session.id", "changed"),
        ("transcripts[1].session.extras.inspect", "changed"),
        ("transcripts[1].strays[0]", "lost"),
    ]


def test_a_log_is_told_by_its_first_members_however_long_they_are() -> None:
    long = {"task": "t", "model": "m/x", "model_args": {"words": "x" * 100_000}}

    assert guess(a_log(a_sample(), eval=long)) is KIND
    assert guess(json.dumps({"version": 2, "status": "x", "eval": {"other": 1}})) is not KIND


def test_no_conversation_is_a_log_without_samples() -> None:
    assert list(KIND.transcripts(KIND.dump([])[0])) == []
    assert list(KIND.transcripts(json.dumps(LOG))) == []


@pytest.mark.parametrize("name", ["inspect", "atif", "pydantic-ai"])
def test_half_a_character_is_written_as_one_that_is_none(name: str) -> None:
    """Their owners read with parsers that refuse it; that it was changed is in the account."""
    given_one = Transcript.of([Message("user", [Part("text", "a\udc00b")], timestamp=UNTIMED)], Session(id="s"))

    written, ledger = format_by_name(name).dump(given_one)

    assert "a\ufffdb" in written.decode()
    assert "entries[0].message.parts[0].text" in [loss.place for loss in ledger.losses]


def test_numbers_that_json_has_not_are_kept() -> None:
    scores = b'"scores":{"s":{"value":NaN,"other":[-Infinity,Infinity]}}'
    log = a_log(a_sample(), results={"x": 1}).replace(b'"input"', scores + b',"input"').replace(b'"x": 1', b'"x": NaN')

    transcript = KIND.load(log)
    written, ledger = KIND.dump(transcript)

    assert (ledger.losses, KIND.load(written)) == ([], transcript)
    assert scores in written
    assert b'"results":{"x":NaN}' in written


# -- the zip file ------------------------------------------------------------------------------------------------------


def zipped(files: dict[str, Any], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, value in files.items():
            archive.writestr(name, json.dumps(value))
    return data.getvalue()


def test_a_run_under_way_is_read_from_its_journal() -> None:
    """Before it ends there is no header; a sample that was run again is there twice, and the last counts."""
    start = {"version": 2, "eval": LOG["eval"], "plan": {}}
    files = {"_journal/start.json": start, "_journal/summaries/1.json": [], "samples/1_epoch_1.json": a_sample(run=1)}
    data = io.BytesIO(zipped(files))
    with zipfile.ZipFile(data, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("samples/1_epoch_1.json", json.dumps(a_sample(run=2)))

    transcript = KIND.load(data.getvalue())

    assert guess(data.getvalue()) is KIND
    assert transcript.session.noted("inspect")["log"]["status"] == "started"
    assert transcript.session.noted("inspect")["sample"]["run"] == 2


class Pipe(io.RawIOBase):
    """A file that can only be read once, from front to back."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)


def test_a_zip_file_may_come_from_a_pipe_and_be_compressed_in_several_frames() -> None:
    """Large samples are: no frame of zstandard has more than 200 MiB there."""
    data = several_frames({"header.json": LOG, "samples/1_epoch_1.json": a_sample({"role": "user", "content": "hi"})})

    (found,) = KIND.transcripts(Source(io.BufferedReader(Pipe(data))))

    assert found == KIND.load(data)
    assert [each[2:] for each in shape(found)] == [("user", ["text"])]


def test_a_damaged_log_is_named() -> None:
    files = {"header.json": LOG, "samples/1_epoch_1.json": a_sample({"role": "user", "content": "hi" * 500})}
    whole = several_frames(files)
    for at in (whole.index(b"samples/1") + 40, 40):  # in a sample, and in the header
        torn = bytearray(whole)
        torn[at : at + 8] = b"\xff" * 8
        with pytest.raises(CodecError, match=r"log\.eval: it is compressed, and damaged"):
            list(KIND.transcripts(Source.of(bytes(torn), "log.eval")))


def several_frames(files: dict[str, Any]) -> bytes:
    """Zip files as inspect-ai does, each member compressed by zstandard, in more frames than one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, value in files.items():
            text = json.dumps(value).encode()
            info = zipfile.ZipInfo(name)
            archive.writestr(info, zstd(text[:20]) + zstd(text[20:]))
            # What was stored is called compressed, here in the directory.
            info.compress_type, info.file_size, info.CRC = ZSTANDARD, len(text), zlib.crc32(text)
    return data.getvalue()


def zstd(data: bytes) -> bytes:
    try:
        from compression import zstd as module  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd as module  # type: ignore[no-redef,unused-ignore]
    compressed: bytes = module.compress(data)
    return compressed


def test_without_the_extra_a_compressed_log_says_what_to_install(tmp_path: Path) -> None:
    place = tmp_path / "log.eval"
    place.write_bytes(several_frames({"header.json": LOG, "samples/1_epoch_1.json": a_sample()}))
    program = (
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from weft.formats import Source\nfrom weft.errors import UsageError\n"
        f"try:\n    Source.of(open({str(place)!r}, 'rb'))\nexcept UsageError as problem:\n    print(problem)"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "weft[zstd]" in run.stdout


def test_a_long_log_is_read_in_the_memory_of_one_sample() -> None:
    words = {"role": "user", "content": "tide " * 20_000}
    files = {f"samples/{n}_epoch_1.json": a_sample(words, id=n) for n in range(150)}
    data = zipped({"header.json": LOG, **files})
    size = sum(len(json.dumps(each)) for each in files.values())

    tracemalloc.start()
    count = sum(1 for _ in KIND.transcripts(io.BytesIO(data)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 150
    assert peak < size / 2


def test_broken_logs_are_refused_with_their_place() -> None:
    for data, place in (
        (a_log().replace(b"[]", b"[3]"), r"samples\[0\]"),
        (a_log(a_sample(), {"id": 2, "messages": [4]}), r"samples\[1\]\.messages\[0\]"),
        (a_log({"messages": "x"}), r"samples\[0\]\.messages"),
        (a_log(a_sample())[:-40], "byte"),
        (json.dumps({**LOG, "samples": [a_sample()]}).encode()[:-1] + b',"x":nan}', "byte"),
    ):
        with pytest.raises(CodecError, match=place):
            list(KIND.transcripts(data))


def test_what_is_read_again_is_what_was_written() -> None:
    """The account of a conversation with one of everything is all that differs."""
    given_one = a_transcript()
    written, ledger = KIND.dump(given_one, places=None)

    found = {each.place for each in differences(given_one, KIND.load(written))}

    assert found <= {loss.place for loss in ledger.losses}
