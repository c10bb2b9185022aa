"""Bedrock's face: POST /model/{model}/converse and /converse-stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html gives the exceptions. Fields that
the service model does not know are passed over, as AWS services do: its own SDK refuses them before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weft.canon import StreamError
from weft.sim.face import Ask, Book, Face, Json, Made, at
from weft.sim.limits import Limits
from weft.sim.refusal import RefusedError, listed, refuse
from weft.sim.tokens import Segment
from weft.wire import dialect

__all__ = ["Bedrock"]

EXCEPTIONS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
ALTERNATE = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
    "user and assistant roles and try again."
)
FIRST = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
NO_TOOLS = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
BY_MODEL = "The model returned the following errors: "
REDACTED = "weft-sim-redacted"

USUAL = {
    400: "The request is not valid.",
    403: "You don't have access to the model with the specified model ID.",
    404: "Could not resolve the foundation model from the provided model identifier.",
    408: "The model took too long to respond.",
    424: "The model returned an error.",
    429: "Too many requests, please wait before trying again.",
    500: "The system encountered an unexpected error during processing. Try your request again.",
    503: "Bedrock is unable to process your request.",
}


class Bedrock(Face):
    """Converse."""

    provider = "bedrock"
    dialect = "bedrock"
    family = "claude"  # a thought of Claude's is the same thought here
    call_prefix = "tooluse_"
    stop_path: ClassVar[tuple[str, ...]] = ("inferenceConfig", "stopSequences")
    marked_cache = True
    stream_type = "application/vnd.amazon.eventstream"
    usual: ClassVar[Mapping[int, str]] = USUAL

    def no_key(self) -> RefusedError:
        """Say that a signature is missing."""
        return RefusedError(403, "Missing Authentication Token", kind="MissingAuthenticationTokenException")

    def bad_key(self) -> RefusedError:
        """Say that a key is wrong."""
        words = "The security token included in the request is invalid."
        return RefusedError(403, words, kind="UnrecognizedClientException")

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Take a bearer token, or the access key's id out of a SigV4 signature."""
        key = super().key_of(headers, query)
        return key.partition("Credential=")[2].partition("/")[0] if key.startswith("AWS4-HMAC-SHA256") else key

    def no_model(self, ask: Ask) -> RefusedError:  # noqa: ARG002 - the face's signature
        """Say that there is no such model: to AWS that is a validation."""
        return RefusedError(400, "The provided model identifier is invalid.")

    # -- what is asked

    def check(self, ask: Ask, book: Book) -> None:
        """Refuse what Converse refuses."""
        messages = listed(ask.body.get("messages"))
        before: Any = None
        waiting: list[str] = []
        for m, message in enumerate(messages):
            role = message.get("role")
            if role not in ("user", "assistant"):
                refuse(
                    f"1 validation error detected: Value '{role}' at 'messages.{m + 1}.member.role' failed to satisfy "
                    "constraint: Member must satisfy enum value set: [user, assistant]"
                )
            if not m and role != "user":
                refuse(FIRST)
            if role == before:
                refuse(ALTERNATE)
            before = role
            blocks = listed(message.get("content"))
            if not blocks:
                refuse(
                    f"The content field in the Message object at messages.{m} is empty. Add a ContentBlock object to "
                    "the content field and try again."
                )
            self._check_pairs(m, blocks, waiting, ask.body)
            self._check_thoughts(m, blocks, book)
            waiting = [str(at(block, "toolUse", "toolUseId")) for block in blocks if "toolUse" in block]
        if not messages:
            refuse(FIRST)
        if waiting:
            refuse(
                f"Expected toolResult blocks at messages.{len(messages)}.content for the following Ids: "
                f"{', '.join(waiting)}"
            )

    def _check_pairs(self, m: int, blocks: list[Mapping[str, Any]], waiting: list[str], body: Json) -> None:
        results = [str(at(block, "toolResult", "toolUseId")) for block in blocks if "toolResult" in block]
        if (results or any("toolUse" in block for block in blocks)) and not body.get("toolConfig"):
            refuse(NO_TOOLS)
        if len(results) > len(waiting):
            refuse(
                f"The number of toolResult blocks at messages.{m}.content exceeds the number of toolUse blocks of "
                "previous turn."
            )
        if missing := [call for call in waiting if call not in results]:
            refuse(f"Expected toolResult blocks at messages.{m}.content for the following Ids: {', '.join(missing)}")

    def _check_thoughts(self, m: int, blocks: list[Mapping[str, Any]], book: Book) -> None:
        signer = book.signer(self.family)
        for b, block in enumerate(blocks):
            match block:
                case {"reasoningContent": {"reasoningText": {**said}}}:
                    if "signature" not in said:
                        refuse(f"{BY_MODEL}messages.{m}.content.{b}.thinking.signature: Field required")
                    if not signer.is_signed(said["signature"], str(said.get("text"))):
                        refuse(f"{BY_MODEL}messages.{m}.content.{b}: Invalid `signature` in `thinking` block")
                case {"reasoningContent": {"redactedContent": sealed}} if not signer.is_signed(sealed, REDACTED):
                    refuse(f"{BY_MODEL}messages.{m}.content.{b}: Invalid `data` in `redacted_thinking` block")

    def thinks(self, ask: Ask) -> bool:
        """Tell whether the model's own fields switch thinking on."""
        extra = ask.body.get("additionalModelRequestFields")
        kinds = (at(extra, "thinking", "type"), at(extra, "reasoning_config", "type"))
        return any(kind in ("enabled", "adaptive") for kind in kinds)

    def forced(self, body: Json) -> str | None:
        """Read toolChoice."""
        match at(body, "toolConfig", "toolChoice"):
            case {"any": _}:
                return "*"
            case {"tool": {"name": str(name)}}:
                return name
        return None

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then system, then messages; a cachePoint marks what stands before it."""
        rows = [(None, listed(at(body, "toolConfig", "tools"))), (None, listed(body.get("system")))]
        rows += [(message.get("role"), listed(message.get("content"))) for message in listed(body.get("messages"))]
        for role, blocks in rows:
            for b, block in enumerate(blocks):
                if "cachePoint" not in block:
                    marked = b + 1 < len(blocks) and "cachePoint" in blocks[b + 1]
                    yield Segment([role, block], marked)

    # -- what is answered

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:  # noqa: ARG002 - the face's signature
        """Add signatures and the account."""
        counts = made.counts
        signer = book.signer(self.family)
        content = body["output"]["message"]["content"]
        for n, block in enumerate(content):
            if (said := at(block, "reasoningContent", "reasoningText")) is not None:
                said["signature"] = signer.sign(said["text"])
                if made.redacted:
                    content[n] = {"reasoningContent": {"redactedContent": signer.sign(REDACTED)}}
        if made.stop_sequence is not None:
            body["stopReason"] = "stop_sequence"
        body["metrics"] = {"latencyMs": 100}
        body["usage"] = {
            "inputTokens": counts.input - counts.cached - counts.written,
            "outputTokens": counts.output,
            "totalTokens": counts.input + counts.output,
            "cacheReadInputTokens": counts.cached,
            "cacheWriteInputTokens": counts.written,
        }

    def headers(self, mark: str, limits: Limits) -> dict[str, str]:  # noqa: ARG002 - the face's signature
        """Give the request's id as AWS has it."""
        parts = (mark[:8], mark[8:12], mark[12:16], mark[16:20], mark[20:32])
        return {"x-amzn-requestid": "-".join(parts)}

    def error_body(self, refused: RefusedError, request_id: str) -> Json:  # noqa: ARG002 - Anthropic's has it
        """Write an error: its kind is in a header."""
        fallback = "InternalServerException" if refused.status >= 500 else "ValidationException"
        kind = refused.kind or EXCEPTIONS.get(refused.status, fallback)
        refused.headers = {**refused.headers, "x-amzn-errortype": kind}
        return {"message": refused.message}

    def broken(self, refused: RefusedError, ask: Ask) -> bytes:  # noqa: ARG002 - the face's signature
        """Write an exception frame."""
        words = refused.message or self.usual.get(refused.status) or self.usual[500]
        return dialect(self.dialect).StreamEncoder().feed(StreamError(words))

    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models, as the control plane gives it."""
        return {"modelSummaries": [self.model_card(name) for name in names]}

    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""
        return {
            "modelArn": f"arn:aws:bedrock:us-east-1::foundation-model/{name}",
            "modelId": name,
            "modelName": name,
            "providerName": name.partition(".")[0].title(),
            "inputModalities": ["TEXT", "IMAGE"],
            "outputModalities": ["TEXT"],
            "responseStreamingSupported": True,
        }
