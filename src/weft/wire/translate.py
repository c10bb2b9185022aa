"""A request of one dialect as a plan for another: what `weft plan` and the translating proxy do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Context, Message, Part, Reply, RequestPlan, RunSpec, plain_plan
from weft.errors import UsageError
from weft.wire.adapters import plan_with
from weft.wire.body import blobs_or_new
from weft.wire.codec import CROSSING, FAITHFUL, Decoded, Policy
from weft.wire.crossing import cross
from weft.wire.estimate import estimate_tokens
from weft.wire.registry import detect, dialect

__all__ = ["plan_decoded", "plan_request", "read_request", "told_elsewhere"]


def read_request(
    body: Mapping[str, Any], source: str | None = None, blobs: BlobStore | None = None
) -> tuple[str, Decoded]:
    """Read a request body; without `source`, in the dialect it looks like. Give the dialect's name with it."""
    name = source or detect(body)
    if name is None:
        raise UsageError("this looks like no request of a known dialect\n  say which it is: --from NAME")
    spoken = dialect(name)
    return spoken.name, spoken.decode_request(body, blobs_or_new(blobs))


def plan_request(
    body: Mapping[str, Any],
    to: str,
    *,
    source: str | None = None,
    model: str | None = None,
    policy: Policy = CROSSING,
    blobs: BlobStore | None = None,
) -> RequestPlan:
    """Plan a request body for another dialect, or write it anew in its own.

    In its own dialect nothing is changed, not even mended: the request comes out as it went in.
    """
    blobs = blobs_or_new(blobs)
    name, decoded = read_request(body, source, blobs)
    target = dialect(to)
    if target.name == name and policy is CROSSING:
        spec = replace(decoded.spec, model=model) if model else decoded.spec
        encoded = target.encode_request(decoded.messages, spec, blobs, FAITHFUL)
        return plain_plan(
            encoded.body,
            included=(f"{len(decoded.messages)} messages",),
            excluded=tuple(encoded.losses),
            must_roundtrip=tuple(encoded.roundtrip),
            warnings=tuple(encoded.warnings),
            errors=tuple(encoded.errors),
            token_estimate=estimate_tokens(decoded.messages, spec),
        )
    return plan_decoded(decoded.messages, decoded.spec, name, to, model=model, policy=policy, blobs=blobs)


def plan_decoded(
    messages: tuple[Message, ...],
    spec: RunSpec,
    source: str,
    to: str,
    *,
    model: str | None = None,
    policy: Policy = CROSSING,
    blobs: BlobStore | None = None,
) -> RequestPlan:
    """Plan a conversation that was read in one dialect for another."""
    target = dialect(to)
    crossed, losses = cross(spec, dialect(source), target, model=model)
    context = Context(messages, blob_store=blobs_or_new(blobs))
    plan = plan_with(target, context, crossed, policy=policy)
    return plan.with_excluded(losses)


def told_elsewhere(reply: Reply) -> Reply:
    """Give an answer as clients of another dialect are told it: the words of its thinking, without what seals them.

    A seal is for who set it. A stream is told in the same way, word by word.
    """
    return replace(
        reply, messages=tuple(replace(each, parts=tuple(map(_unsealed, each.parts))) for each in reply.messages)
    )


def _unsealed(part: Part) -> Part:
    return Part("thinking", text=part.text) if part.type == "thinking" and part.text else part
