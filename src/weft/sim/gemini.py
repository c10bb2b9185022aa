"""Gemini's face: POST /v1beta/models/{model}:generateContent and :streamGenerateContent, GET /v1beta/models.

https://ai.google.dev/gemini-api/docs/thought-signatures: in the running turn, the first function call of every step
must come back with its signature; Gemini 3 answers 400 without it. Streams are server-sent events with `alt=sse`,
else one JSON array that arrives piece by piece.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weft.jsontext import dumps_text
from weft.sim.face import Ask, Book, Face, Json, Made, Payload, at
from weft.sim.fields import GEMINI, GEMINI_GENERATION
from weft.sim.limits import Limits
from weft.sim.refusal import RefusedError, listed, refuse
from weft.sim.tokens import Segment

__all__ = ["Gemini"]

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# What Google documents for calls that came from elsewhere and have no signature to bring; SDKs write bytes as base64.
_EXCUSES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
WAIVERS = frozenset(_EXCUSES) | {base64.b64encode(excuse.encode()).decode() for excuse in _EXCUSES}
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more "
    "details."
)
UNKNOWN = 'Invalid JSON payload received. Unknown name "{}"{}: Cannot find field.'
LATE_RESPONSE = "Please ensure that function response turn comes immediately after a function call turn."
UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
Parts = list[Mapping[str, Any]]

USUAL = {
    400: "Request contains an invalid argument.",
    401: "Request had invalid authentication credentials.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    413: "Request payload size exceeds the limit: 20971520 bytes.",
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry or report in "
    "https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}


class Gemini(Face):
    """generateContent."""

    provider = "gemini"
    dialect = "gemini"
    family = "gemini"
    call_prefix = ""
    stop_path: ClassVar[tuple[str, ...]] = ("generationConfig", "stopSequences")
    stream_type = "text/event-stream"
    usual: ClassVar[Mapping[int, str]] = USUAL

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Take the header, the query or a bearer token."""
        return headers.get("x-goog-api-key", "") or query.get("key", "") or super().key_of(headers, query)

    def no_key(self) -> RefusedError:
        """Say that a key is missing."""
        return RefusedError(
            403,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API consumer identity to call this API.",
        )

    def bad_key(self) -> RefusedError:
        """Say that a key is wrong: to Google that is a bad request."""
        return RefusedError(400, "API key not valid. Please pass a valid API key.", code="API_KEY_INVALID")

    def no_model(self, ask: Ask) -> RefusedError:
        """Say that there is no such model."""
        words = "is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see"
        return RefusedError(
            404, f"models/{ask.model} {words} the list of available models and their supported methods."
        )

    # -- what is asked

    def check(self, ask: Ask, book: Book) -> None:
        """Refuse what generateContent refuses; then go on with one spelling, whichever the caller used."""
        for key in ask.body:
            if _camel(key) not in GEMINI:
                refuse(UNKNOWN.format(key, ""))
        body = ask.body = _respelled(ask.body)
        settings = body.get("generationConfig")
        for key in settings if isinstance(settings, Mapping) else ():
            if key not in GEMINI_GENERATION:
                refuse(UNKNOWN.format(key, " at 'generation_config'"))
        contents = listed(body.get("contents"))
        if not contents:
            refuse("* GenerateContentRequest.contents: contents is not specified\n")
        for n, content in enumerate(contents):
            if content.get("role", "user") not in ("user", "model", "function"):
                refuse("Please use a valid role: user, model.")
            if not listed(content.get("parts")):
                refuse(f"* GenerateContentRequest.contents[{n}].parts: contents.parts must not be empty.\n")
        self._check_turns(contents)
        self._check_signatures(contents, ask.model, book)

    def _check_turns(self, contents: Parts) -> None:
        waiting = 0
        for content in contents:
            parts = listed(content.get("parts"))
            answers = sum("functionResponse" in part for part in parts)
            if waiting and answers != waiting:
                refuse(UNEQUAL)
            if answers and not waiting:
                refuse(LATE_RESPONSE)
            waiting = sum("functionCall" in part for part in parts)
        if waiting:
            refuse(UNEQUAL)

    def _check_signatures(self, contents: Parts, model: str, book: Book) -> None:
        signer = book.signer(self.family)
        asked = max((n for n, content in enumerate(contents) if _is_question(content)), default=0)
        for n, content in enumerate(contents):
            parts = listed(content.get("parts"))
            first = True
            for part in parts:
                signature = part.get("thoughtSignature")
                call = part.get("functionCall")
                if signature in WAIVERS:
                    pass
                elif isinstance(call, Mapping) and signature is not None:
                    if not signer.is_signed(signature, _called(call)):
                        refuse("Corrupted thought signature.")
                elif signature is not None and not signer.is_ours(signature):
                    refuse("Corrupted thought signature.")
                elif isinstance(call, Mapping) and first and n > asked and model.startswith("gemini-3"):
                    refuse(UNSIGNED.format(call.get("name"), n + 1))
                first = first and not isinstance(call, Mapping)

    def thinks(self, ask: Ask) -> bool:
        """Tell whether thoughts are to be shown."""
        return at(ask.body, "generationConfig", "thinkingConfig", "includeThoughts") is True

    def forced(self, body: Json) -> str | None:
        """Read the function calling mode."""
        match at(body, "toolConfig", "functionCallingConfig"):
            case {"mode": "ANY", "allowedFunctionNames": [str(name), *_]}:
                return name
            case {"mode": "ANY"}:
                return "*"
        return None

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then the instruction, then contents."""
        for value in (*listed(body.get("tools")), body.get("systemInstruction") or "", *listed(body.get("contents"))):
            yield Segment(value)

    # -- what is answered

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:
        """Add ids, signatures and the account. A prompt that is refused has no candidate at all."""
        counts = made.counts
        if made.finish == "content_filter":
            body.pop("candidates", None)
            body["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
        else:
            self._sign(body["candidates"][0]["content"]["parts"], book)
        shown = counts.output - counts.thinking
        usage: Json = {
            "promptTokenCount": counts.input,
            "candidatesTokenCount": shown,
            "totalTokenCount": counts.input + counts.output,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": counts.input}],
        }
        usage |= {"thoughtsTokenCount": counts.thinking} if counts.thinking else {}
        usage |= {"cachedContentTokenCount": counts.cached} if counts.cached else {}
        body |= {"usageMetadata": usage, "modelVersion": ask.model, "responseId": ask.id("", length=22)}

    def _sign(self, parts: list[Json], book: Book) -> None:
        """Sign the first call; where there is none, the last text."""
        signer = book.signer(self.family)
        for part in parts:
            if "functionCall" in part:
                part["thoughtSignature"] = signer.sign(_called(part["functionCall"]))
                return
        if parts and "text" in parts[-1] and any(part.get("thought") for part in parts):
            parts[-1]["thoughtSignature"] = signer.sign(parts[-1]["text"])

    def frames(self, frames: Iterator[bytes], ask: Ask) -> Iterator[bytes]:
        """Without alt=sse a stream is one JSON array."""
        if ask.query.get("alt") == "sse":
            yield from (frame.replace(b"\n", b"\r\n") for frame in frames)
            return
        before = b"["
        for frame in frames:
            yield before + frame.removeprefix(b"data: ").rstrip()
            before = b"\n,\r\n"
        yield b"\n]"

    def headers(self, mark: str, limits: Limits) -> dict[str, str]:  # noqa: ARG002 - the face's signature
        """Give Google's few headers."""
        return {"server": "scaffolding on HTTPServer2", "x-content-type-options": "nosniff"}

    def error_body(self, refused: RefusedError, request_id: str) -> Json:  # noqa: ARG002 - Anthropic's has it
        """Write an error, with the details clients read."""
        fallback = "INTERNAL" if refused.status >= 500 else "INVALID_ARGUMENT"
        error: Json = {
            "code": refused.status,
            "message": refused.message,
            "status": refused.kind or STATUSES.get(refused.status, fallback),
        }
        details: list[Json] = []
        if refused.code:
            info = {"reason": refused.code, "domain": "googleapis.com"}
            details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info})
        if refused.retry_after is not None:
            delay = {"retryDelay": f"{refused.retry_after:g}s"}
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", **delay})
        return {"error": {**error, "details": details} if details else error}

    def refusal(self, refused: RefusedError, mark: str, ask: Ask | None = None) -> Payload:
        """Write a refusal; where an array was asked for, it is the only element of one."""
        payload = super().refusal(refused, mark, ask)
        if ask is not None and ask.stream and ask.query.get("alt") != "sse" and refused.body is None:
            payload.body = b"[" + payload.body + b"\n]\n"
        return payload

    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models."""
        return {"models": [self.model_card(name) for name in names]}

    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name.replace("-", " ").title(),
            "description": "A model of the simulator",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }


def _is_question(content: Mapping[str, Any]) -> bool:
    parts = listed(content.get("parts"))
    return content.get("role", "user") == "user" and not any("functionResponse" in part for part in parts)


def _called(call: Mapping[str, Any]) -> str:
    """Give what a call's signature stands for: its name and its arguments, in whatever order they come back."""
    arguments = call.get("args") or {}
    return f"{call.get('name')} {dumps_text(_sorted(arguments))}"


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


# Below these the keys are the caller's own.
FREE = frozenset({"args", "response", "responseSchema", "responseJsonSchema", "functionDeclarations", "labels"})


def _respelled(value: Any) -> Any:
    """Give a request with its names as JSON has them."""
    if isinstance(value, Mapping):
        renamed = ((_camel(key), item) for key, item in value.items())
        return {name: item if name in FREE else _respelled(item) for name, item in renamed}
    return [_respelled(item) for item in value] if isinstance(value, list) else value


def _camel(key: str) -> str:
    """Give a name as JSON has it: the API takes snake case as well."""
    first, *rest = key.split("_")
    return first + "".join(word.title() for word in rest)
