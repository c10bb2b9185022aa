"""Which request is for whom: by path, and where a path is shared, by headers.

Every provider is at its real paths; any path may also have the provider's name before it (`/cohere/v1/models`,
`/groq/v1/chat/completions`), which says who is meant where the path alone does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from weft.sim.anthropic import Anthropic
from weft.sim.bedrock import Bedrock
from weft.sim.cohere import Cohere
from weft.sim.face import Face
from weft.sim.gemini import Gemini
from weft.sim.openai_chat import OpenAIChat
from weft.sim.openai_responses import OpenAIResponses

__all__ = ["FACES", "Route", "route"]

CHAT, RESPONSES, ANTHROPIC, GEMINI, BEDROCK, COHERE = (
    OpenAIChat(),
    OpenAIResponses(),
    Anthropic(),
    Gemini(),
    Bedrock(),
    Cohere(),
)
FACES: dict[str, Face] = {
    "openai": CHAT,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "cohere": COHERE,
}

_ANSWERS: tuple[tuple[re.Pattern[str], Face], ...] = (
    (re.compile(r"(?P<before>.*)/chat/completions$"), CHAT),
    (re.compile(r"(?P<before>.*)/responses$"), RESPONSES),
    (re.compile(r"(?P<before>.*)/v1/messages$"), ANTHROPIC),
    (re.compile(r"(?P<before>.*)/v1\w*/models/(?P<model>[^/]+):(?P<verb>(?:streamG|g)enerateContent)$"), GEMINI),
    (re.compile(r"(?P<before>.*)/model/(?P<model>.+)/(?P<verb>converse|converse-stream)$"), BEDROCK),
    (re.compile(r"(?P<before>.*)/v2/chat$"), COHERE),
)
_MODELS = re.compile(r"(?P<before>.*)/models(?:/(?P<model>.+))?$")
_FOUNDATION = re.compile(r"(?P<before>.*)/foundation-models(?:/(?P<model>.+))?$")
STREAMING = ("streamGenerateContent", "converse-stream")


@dataclass(frozen=True, slots=True)
class Route:
    """Who is asked, and what for: an `answer`, the `models`, or nothing there is."""

    face: Face
    provider: str
    action: str
    model: str | None = None
    stream: bool | None = None  # where the path says it


def route(path: str, headers: Mapping[str, str]) -> Route:
    """Find who a path is for."""
    for pattern, face in _ANSWERS:
        if match := pattern.match(path):
            found = match.groupdict()
            provider = _named(found["before"]) or face.provider
            model, verb = found.get("model"), found.get("verb")
            return Route(
                face, provider, "answer", unquote(model) if model else None, verb in STREAMING if verb else None
            )
    if match := _FOUNDATION.match(path):
        return Route(BEDROCK, "bedrock", "models", match["model"])
    face = _guessed(path, headers)
    if match := _MODELS.match(path):
        return Route(face, _named(match["before"]) or face.provider, "models", match["model"])
    return Route(face, face.provider, "nothing")


def _named(before: str) -> str | None:
    """Give the provider whose name begins a path."""
    first = before.strip("/").partition("/")[0]
    return first if first and not re.fullmatch(r"v\d\w*", first) else None


def _guessed(path: str, headers: Mapping[str, str]) -> Face:
    first = path.strip("/").partition("/")[0]
    if first in FACES:
        return FACES[first]
    if "anthropic-version" in headers or "x-api-key" in headers:
        return ANTHROPIC
    if "x-goog-api-key" in headers or first.startswith("v1beta"):
        return GEMINI
    if headers.get("x-fern-sdk-name") == "cohere" or "x-client-name" in headers or first == "v2":
        return COHERE
    return CHAT
