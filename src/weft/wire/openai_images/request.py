"""Image requests: one prompt, and settings that are all the provider's own.

Unlike canon: there is no conversation. The prompt is what the instructions and the latest user message say; older
messages are not sent, and each is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Message, Part, RunSpec, thaw
from weft.wire.body import as_body, deep_merge, need, optional_text, residue
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Policy
from weft.wire.openai_images.response import PROVIDER

__all__ = ["decode_request", "encode_request"]

ENDPOINT = "images.generate"
UNUSED = ("max_output_tokens", "temperature", "top_p", "seed", "tools", "tool_choice", "response_schema")
FORMATS = {"url": "url", "image_url": "url", "b64_json": "b64_json", "base64": "b64_json", "b64": "b64_json"}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message],
    spec: RunSpec,
    blobs: BlobStore | None = None,  # noqa: ARG001  # the signature all dialects share
    policy: Policy = FAITHFUL,
) -> Encoded:
    """Write the latest user message as a request for an image; ValueError if there is none with text in it."""
    out = Encoded()
    body = out.body
    if spec.model:
        body["model"] = spec.model
    body["prompt"] = _prompt(messages, spec, policy, out)
    for name in UNUSED:
        if getattr(spec, name) not in (None, ()):
            out.lose(name, f"openai/{ENDPOINT} has no {name}")
    _encode_format(spec, out)
    if policy.sdk_arguments:
        if spec.extra_headers:
            body["extra_headers"] = thaw(spec.extra_headers)
        if spec.extra_query:
            body["extra_query"] = thaw(spec.extra_query)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _prompt(messages: Sequence[Message], spec: RunSpec, policy: Policy, out: Encoded) -> str:
    latest = max((m for m, message in enumerate(messages) if message.role == "user"), default=None)
    if latest is None:
        raise ValueError(f"openai/{ENDPOINT} needs a user message to make its prompt of")
    texts: list[str] = []
    for m, message in enumerate(messages):
        if m != latest:
            out.lose(f"context.messages[{m}]", f"openai/{ENDPOINT} sends the latest user message only")
            continue
        for p, part in enumerate(message.parts):
            if part.type == "text" and (part.text or policy.joiner is None):  # an empty prompt is said back
                texts.append(part.text or "")
            elif part.type != "annotation":
                out.lose_part(m, p, f"openai/{ENDPOINT} takes text only, not {part.type}")
    if not texts:
        raise ValueError(f"context.messages[{latest}] has no text to make a prompt of")
    given = spec.instructions
    instructions = [text for text in (given.system, given.developer) if text] if given else []
    return "\n\n".join([*instructions, "\n".join(texts)])


def _encode_format(spec: RunSpec, out: Encoded) -> None:
    """Say how the image is to come: the first modality, which only the older models take."""
    if not spec.response_modalities:
        return
    wanted = FORMATS.get(spec.response_modalities[0])
    if wanted is None:
        out.warnings.append(
            f"response_modalities: {spec.response_modalities[0]!r} is none of {', '.join(FORMATS)}; it is ignored"
        )
    elif spec.model.startswith("dall-e-"):
        out.body["response_format"] = wanted
    else:
        out.warnings.append(f"response_modalities is ignored: {spec.model} always answers with b64_json")


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(
    body: Any,
    blobs: BlobStore | None = None,  # noqa: ARG001  # the signature all dialects share
    *,
    provider: str | None = None,
) -> Decoded:
    """Read a request for an image; its settings go to `extra_body`, to be written back as they were."""
    body = as_body(body, "request")
    provider = provider or PROVIDER
    prompt = optional_text(need(body, "prompt"), "prompt")
    model = body.get("model")
    extra = residue(body, "prompt", *(("model",) if isinstance(model, str) else ()))
    spec = RunSpec(provider, ENDPOINT, model if isinstance(model, str) else "", extra_body=extra)
    return Decoded((Message("user", (Part("text", prompt or ""),), provider=provider),), spec)
