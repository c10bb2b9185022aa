"""Writes docs/reference/dialects.md: what each dialect carries, changes and leaves out.

Nothing on that page is written by hand: settings come from the capability table, and every part is really planned
for every dialect and read back, so the page says what the code does. A test fails when it is stale.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.blobs import InMemoryBlobStore
from weft.canon import Context, Message, Part, RunSpec
from weft.errors import WeftError
from weft.wire import CAPABILITIES, DIALECTS, Dialect, dialect, plan_with

__all__ = ["PAGE", "page"]

Json = dict[str, Any]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "dialects.md"
PICTURE = bytes.fromhex("89504e470d0a1a0a")
MARKS = {"carried": "yes", "changed": "changed", "left out": "no"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind of content in the mouth of one role."""

    role: str
    what: str
    part: Part


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a sample."""

    outcome: str
    how: str = ""


def samples(blobs: InMemoryBlobStore, spoken: Dialect) -> list[Sample]:
    """Give one of everything; what only its own provider understands is made for `spoken`."""

    def media(kind: str, media_type: str, data: bytes = PICTURE) -> Part:
        return Part(kind, blob=blobs.put_blob(data, media_type=media_type, kind=kind))

    own = {"provider": spoken.provider, "dialect": spoken.name}
    foreign = {"provider": "elsewhere", "dialect": "another"}
    call: Json = {"tool_call_id": "call_1", "tool_name": "depth"}
    blocks = [{"type": "text", "text": "6.2"}, {"type": "text", "text": "m"}]
    return [
        Sample("system", "text", Part("text", "Be brief.")),
        Sample("developer", "text", Part("text", "Be brief.")),
        Sample("user", "text", Part("text", "Depth?")),
        Sample("user", "image", media("image", "image/png")),
        Sample("user", "image by URL", Part("image", json={"url": "https://example.org/pier.png"})),
        Sample("user", "audio", media("audio", "audio/wav")),
        Sample("user", "video", media("video", "video/mp4")),
        Sample("user", "PDF", media("file", "application/pdf", b"%PDF-1.4")),
        Sample("user", "text file", media("file", "text/plain", b"log")),
        Sample("user", "file by id", Part("file", json={"file_id": "file_1"})),
        Sample("user", "json", Part("json", json={"pier": 4})),
        Sample("assistant", "text", Part("text", "6.2 m")),
        Sample("assistant", "thinking, its own, sealed", _sealed(spoken, own)),
        Sample("assistant", "thinking, unsigned", Part("thinking", "Ask the sonar.")),
        Sample("assistant", "thinking of another", Part("thinking", "Ask the sonar.", json=foreign)),
        Sample("assistant", "tool call", Part("tool_call", tool_args={"pier": 4}, **call)),
        Sample("assistant", "refusal", Part("refusal", "I would rather not.")),
        Sample("assistant", "block of another provider", Part("provider", json=foreign, provider_raw={"type": "new"})),
        Sample("tool", "result", Part("tool_result", tool_output="6.2 m", **call)),
        Sample("tool", "result, structured", Part("tool_result", tool_output={"depth_m": 6.2}, **call)),
        Sample("tool", "result, blocks", Part("tool_result", tool_output=blocks, **call)),
        Sample("tool", "result, failed", Part("tool_result", tool_output="?", provider_raw={"is_error": True}, **call)),
    ]


def _sealed(spoken: Dialect, own: dict[str, str]) -> Part:
    seals: dict[str, Json] = {
        "anthropic": {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"},
        "gemini": {"text": "Ask the sonar.", "thought": True, "thoughtSignature": "c2ln"},
        "bedrock": {"reasoningContent": {"reasoningText": {"text": "Ask the sonar.", "signature": "c2ln"}}},
        "openai_chat": {"reasoning_content": "Ask the sonar."},
        "openai_responses": {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Ask the sonar."}],
            "encrypted_content": "c2ln",
        },
        "cohere": {"type": "thinking", "thinking": "Ask the sonar."},
        "ollama": {"thinking": "Ask the sonar."},
    }
    return Part("thinking", "Ask the sonar.", json=own, provider_raw=seals.get(spoken.name))


def fate(spoken: Dialect, sample: Sample, blobs: InMemoryBlobStore) -> Fate:
    """Plan a sample inside a conversation the provider would take, read the request back, and compare."""
    messages, at = _conversation(sample, spoken.provider)
    spec = RunSpec(spoken.provider, spoken.endpoint, "mint-1", max_output_tokens=100)
    try:
        plan = plan_with(spoken, Context(messages, blob_store=blobs), spec)
    except (WeftError, ValueError) as refusal:
        return Fate("left out", str(refusal))
    for item in plan.excluded:
        if item.description.startswith(f"context.messages[{at}]"):
            return Fate("left out", item.reason)
    read = spoken.decode_request(plan.request, blobs).messages
    kinds = [part.type for message in read for part in message.parts if message.role == sample.role]
    warnings = [warning for warning in plan.warnings if f"messages[{at}]" in warning]
    if sample.part.type in kinds:
        return Fate("changed", warnings[0].partition(": ")[2]) if warnings else Fate("carried")
    return Fate("changed", _becomes(sample, read))


def _becomes(sample: Sample, read: tuple[Message, ...]) -> str:
    if sample.role in ("system", "developer"):
        roles = sorted({message.role for message in read if message.role in ("system", "developer")})
        return f"becomes {roles[0]} text" if roles else "becomes an instruction beside the conversation"
    kinds = {part.type for message in read if message.role == sample.role for part in message.parts}
    return f"becomes {', '.join(sorted(kinds - {'annotation'})) or 'part of another message'}"


def _conversation(sample: Sample, provider: str) -> tuple[tuple[Message, ...], int]:
    asked = Message("user", (Part("text", "Depth?"),))
    call = Part("tool_call", tool_call_id="call_1", tool_name="depth", tool_args={"pier": 4})
    result = Message("tool", (Part("tool_result", tool_call_id="call_1", tool_name="depth", tool_output="6.2 m"),))
    message = Message(sample.role, (sample.part,), provider=provider)  # type: ignore[arg-type]  # one of the five
    match sample.role:
        case "assistant" if sample.part.type == "tool_call":
            return (asked, message, result), 1
        case "assistant" if sample.what == "text":
            return (asked, message, asked), 1
        case "assistant":
            return (asked, replace(message, parts=(sample.part, Part("text", "Done."))), asked), 1
        case "tool":
            return (asked, Message("assistant", (call,)), message), 2
        case "system" | "developer":
            return (message, asked), 0
        case _:
            return (message,), 0


def page() -> str:
    """Write the page."""
    blobs = InMemoryBlobStore()
    spoken = [dialect(name) for name in DIALECTS if name not in ("openai_images", "openai_responses_compact")]
    fates = {each.name: [(sample, fate(each, sample, blobs)) for sample in samples(blobs, each)] for each in spoken}
    lines = [
        "# Dialects",
        "",
        "What `plan()` does with each kind of content and each setting, for every dialect. *changed* and *no* are",
        "explained below the tables; what is left out is in the plan's `excluded`, what is mended in its `warnings`.",
        "In its own dialect (`dialect.encode_request` of what `decode_request` read) everything is carried.",
        "",
        "<!-- generated by tools/dialect_reference.py -->",
        "",
        "## Names",
        "",
        "| dialect | also called | endpoint | streams |",
        "|---|---|---|---|",
    ]
    for name in DIALECTS:
        each = dialect(name)
        also = ", ".join(f"`{alias}`" for alias in DIALECTS[name][1])
        lines.append(f"| `{name}` | {also} | {each.provider}/{each.endpoint} | {each.framing} |")
    lines += ["", "## Content", "", f"| role | content | {' | '.join(f'`{each.name}`' for each in spoken)} |"]
    lines.append("|---|---|" + "---|" * len(spoken))
    for row, (sample, _) in enumerate(fates[spoken[0].name]):
        marks = [MARKS[fates[each.name][row][1].outcome] for each in spoken]
        lines.append(f"| {sample.role} | {sample.what} | {' | '.join(marks)} |")
    lines += ["", "## Settings", "", f"| setting | {' | '.join(f'`{name}`' for name in CAPABILITIES)} |"]
    lines.append("|---|" + "---|" * len(CAPABILITIES))
    for field in next(iter(CAPABILITIES.values())).fields:
        levels = [str(capabilities.level(field)) for capabilities in CAPABILITIES.values()]
        lines.append(f"| `{field}` | {' | '.join(levels)} |")
    lines += ["", "## What is changed or left out, and why"]
    for each in spoken:
        odd = [(sample, end) for sample, end in fates[each.name] if end.outcome != "carried"]
        lines += ["", f"### {each.name}", ""]
        lines += [f"- {sample.role}, {sample.what}: {end.outcome}: {end.how}" for sample, end in odd]
        lines += [f"- `{name}`: {note}" for name, note in _notes(each.name)]
    return "\n".join(lines) + "\n"


def _notes(name: str) -> list[tuple[str, str]]:
    return list(CAPABILITIES[name].notes.items()) if name in CAPABILITIES else []


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
