"""Asking the simulator without any client: bodies as each dialect has them, and what comes back as it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx2

from weft.sim import Simulator
from weft.wire import StreamReader, dialect, framing_of

__all__ = ["APIS", "Api", "heard", "post"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Api:
    """Where and how one API is asked."""

    dialect: str
    whole: str
    streamed: str
    headers: dict[str, str]
    flag: bool = True  # whether the body says that a stream is wanted

    def body(self, text: str) -> Json:
        match self.dialect:
            case "openai_responses":
                return {"model": "gpt-5.2", "input": text}
            case "gemini":
                return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
            case "bedrock":
                return {"messages": [{"role": "user", "content": [{"text": text}]}]}
            case "anthropic":
                return {"model": "claude-x", "max_tokens": 4_000, "messages": [{"role": "user", "content": text}]}
        return {"model": "some-model", "messages": [{"role": "user", "content": text}]}


BEARER = {"authorization": "Bearer any"}
CLAUDE = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
GOOGLE = {"x-goog-api-key": "any"}
GEMINI = "/v1beta/models/gemini-3-pro:"
APIS = {
    "openai_chat": Api("openai_chat", "/v1/chat/completions", "/v1/chat/completions", BEARER),
    "deepseek": Api("openai_chat", "/deepseek/v1/chat/completions", "/deepseek/v1/chat/completions", BEARER),
    "openai_responses": Api("openai_responses", "/v1/responses", "/v1/responses", BEARER),
    "anthropic": Api("anthropic", "/v1/messages", "/v1/messages", CLAUDE),
    "gemini": Api("gemini", f"{GEMINI}generateContent", f"{GEMINI}streamGenerateContent?alt=sse", GOOGLE, flag=False),
    "gemini_array": Api("gemini", f"{GEMINI}generateContent", f"{GEMINI}streamGenerateContent", GOOGLE, flag=False),
    "bedrock": Api("bedrock", "/model/claude/converse", "/model/claude/converse-stream", BEARER, flag=False),
    "cohere": Api("cohere", "/v2/chat", "/v2/chat", BEARER),
}


def post(sim: Simulator, api: Api, body: Json, *, stream: bool = False, headers: Any = None) -> httpx2.Response:
    if stream and api.flag:
        body = {**body, "stream": True}
    path = api.streamed if stream else api.whole
    headers = api.headers if headers is None else headers
    return httpx2.post(sim.url + path, json=body, headers=headers, timeout=10, verify=False)


def heard(api: Api, response: httpx2.Response) -> Any:
    """Read an answer with weft's own decoders, whole or streamed."""
    spoken = dialect(api.dialect)
    framing = framing_of(response.headers["content-type"])
    if framing == "json_array" and not response.content.startswith(b"["):
        return spoken.decode_response(response.json())
    reader = StreamReader(spoken.StreamDecoder(), framing or "")
    reader.feed(response.content)
    reader.close()
    return reader.reply
