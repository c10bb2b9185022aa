"""`weft demo`: the main job, shown in a minute without a key or a network.

It grows with weft: each part is a function that does something real with the library and prints what came of it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from weft.blobs import InMemoryBlobStore
from weft.canon import Context, Message, Part

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["demo"]

# A one-pixel picture: the smallest real PNG.
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)

TOOL = "sonar_depth"


@click.command()
@click.option("--once", is_flag=True, help="Show everything without waiting for a key, then end.")
def demo(*, once: bool) -> None:
    """Show what weft does, without a key or a network."""
    wait = not once and sys.stdin.isatty() and sys.stdout.isatty()
    for number, (title, show) in enumerate(PARTS, start=1):
        click.secho(f"{number}. {title}", bold=True)
        show()
        click.echo()
        if wait and number < len(PARTS):
            click.pause("press any key to go on")
    click.echo(WHERE_NEXT)


def a_conversation() -> Context:
    """Return a conversation in which a model looks at a picture, thinks, calls a tool and answers."""
    blobs = InMemoryBlobStore()
    picture = blobs.put_blob(PICTURE, media_type="image/png", kind="image")
    return (
        Context(blob_store=blobs)
        .user([Part("text", text="Depth at the pier in this picture?"), Part("image", blob=picture)])
        .assistant(
            [
                Part("thinking", text="Ask the sonar.", provider_raw={"type": "thinking", "signature": "c2ln"}),
                Part("tool_call", tool_call_id="call_1", tool_name=TOOL, tool_args={"pier": 4, "units": ["m"]}),
            ]
        )
        .append(Message("tool", (Part("tool_result", tool_call_id="call_1", tool_name=TOOL, tool_output="6.2 m"),)))
        .assistant("The water at pier 4 is 6.2 m deep.")
    )


def show_conversation() -> None:
    """Print each message of the conversation, part by part."""
    for message in a_conversation():
        for part in message.parts:
            click.echo(f"   {message.role:<10} {part.type:<12} {_gist(part)}")


def show_round_trip() -> None:
    """Write the conversation with its bytes as JSON, read it back, compare."""
    context = a_conversation()
    text = json.dumps(context.to_dict(include_blob_payloads=True))
    again = Context.from_dict(json.loads(text))
    picture = next(part.blob for part in again.messages[0].parts if part.blob is not None)
    same = again.messages == context.messages and again.blob_store.get_blob(picture) == PICTURE
    click.echo(f"   {len(context)} messages -> {len(text)} bytes of JSON -> {len(again)} messages")
    click.echo(f"   same content, signature and picture: {'yes' if same else 'NO'}")


def show_immutability() -> None:
    """Go on from the middle of the conversation; the original stays as it was."""
    context = a_conversation()
    question = Context(messages=context.messages[:1], blob_store=context.blob_store)
    branch = question.assistant("I would rather not guess.")
    click.echo(f"   original: {len(context)} messages, branch: {len(branch)} messages, one picture stored once")
    try:
        context.messages[1].parts[1].tool_args["pier"] = 5  # type: ignore[index]  # the very thing that must not work
    except TypeError as refusal:
        click.echo(f"   writing into a kept message: {refusal}")


def _gist(part: Part) -> str:
    if part.tool_args is not None:
        return f"{part.tool_name}({', '.join(f'{name}={value!r}' for name, value in part.tool_args.items())})"
    if part.blob is not None:
        return f"{part.blob.media_type}, {part.blob.size} bytes, sha256 {part.blob.sha256[:12]}"
    return part.text if part.text is not None else str(part.tool_output)


PARTS: list[tuple[str, Callable[[], None]]] = [
    ("A conversation is data: roles and parts, whatever the provider", show_conversation),
    ("Nothing is lost on the way out and back", show_round_trip),
    ("What is kept does not change; going on makes a new value", show_immutability),
]

WHERE_NEXT = """\
Where to look next
   README.md                     the same in Python, to copy
   docs/tutorial/first-steps.md  a conversation step by step
   weft --help                   every command"""
