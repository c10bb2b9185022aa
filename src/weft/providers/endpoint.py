"""Where a call goes and how its key is shown: from a provider's row and a dialect to a URL and headers.

Keys travel in headers only, never in the URL (Gemini's `?key=` has a header of the same meaning): a URL ends up in
logs, in error texts and in other people's proxies [K-01].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from weft.errors import UsageError
from weft.providers.table import Provider

__all__ = [
    "Endpoint",
    "auth_header",
    "chat_endpoint",
    "located",
    "models_endpoint",
    "needs_key",
    "said_whether_streamed",
]

ANTHROPIC_VERSION = ("anthropic-version", "2023-06-01")

# Per dialect: the version its paths begin with, where a call goes, whole and streamed, and where models are listed.
_PATHS: dict[str, tuple[str, str, str, str]] = {
    "openai_chat": ("", "/chat/completions", "/chat/completions", "/models"),
    "openai_responses": ("", "/responses", "/responses", "/models"),
    "openai_responses_compact": ("", "/responses/compact", "/responses/compact", "/models"),
    "openai_images": ("", "/images/generations", "/images/generations", "/models"),
    "anthropic": ("/v1", "/messages", "/messages", "/models"),
    "gemini": ("/v1beta", "/{model}:generateContent", "/{model}:streamGenerateContent", "/models"),
    "bedrock": ("", "/model/{model}/converse", "/model/{model}/converse-stream", "/foundation-models"),
    "cohere": ("", "/v2/chat", "/v2/chat", "/v1/models"),
    "ollama": ("", "/api/chat", "/api/chat", "/api/tags"),
}
# A dialect of a plugin: where calls go is in the row of whoever speaks it.
_PLUGGED = ("", "", "", "/models")
# One page of models is as long as the provider allows; most never need a second.
_MODELS_QUERY = {"anthropic": {"limit": "1000"}, "gemini": {"pageSize": "1000"}, "cohere": {"page_size": "1000"}}
_AUTH = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
_GEMINI_KINDS = ("models/", "tunedModels/")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
# Dialects whose body says whether it wants a stream; in the others the address does.
_SAYS_STREAM = ("openai_chat", "openai_responses", "openai_images", "anthropic", "cohere", "ollama")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and what must be said to it, the key aside."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


def located(row: Provider, environ: Mapping[str, str]) -> Provider:
    """Give the row with what the environment says about it: another address, a region, an API version."""
    base_url, headers, query = row.base_url, dict(row.headers), dict(row.query)
    for variable in row.addresses:
        if value := environ.get(variable, "").strip():
            base_url = value if _SCHEME.match(value) else f"http://{value}"  # OLLAMA_HOST may be a bare host:port
            break
    for kind, name, variable in row.from_environment:
        if value := environ.get(variable, "").strip():
            if kind == "region":
                base_url = base_url.replace("{region}", value)
            else:
                (headers if kind == "header" else query)[name] = value
    if "{region}" in base_url:
        from weft.providers.aws import aws_region  # noqa: PLC0415  # only where a region is still to be found

        base_url = base_url.replace("{region}", aws_region(environ) or "{region}")
    return replace(row, base_url=base_url, headers=tuple(headers.items()), query=tuple(query.items()))


def needs_key(row: Provider) -> bool:
    """Tell whether a call without a key makes no sense; a server on this machine may do without."""
    return bool(row.keys) and urlsplit(row.base_url).hostname not in _LOCAL


def chat_endpoint(row: Provider, dialect: str, model: str, *, stream: bool) -> Endpoint:
    """Give where a call for an answer goes."""
    version, whole, streamed, _ = _PATHS.get(dialect, _PLUGGED)
    row = _on_newer_address(row)
    path = row.path or (streamed if stream else whole)
    query = {"alt": "sse"} if dialect == "gemini" and stream else {}
    return _endpoint(row, dialect, version, path.replace("{model}", _model_in_path(dialect, model)), query)


def models_endpoint(row: Provider, more: Mapping[str, str] | None = None) -> Endpoint:
    """Give where models are listed; `more` is the query of a further page."""
    version, _, _, path = _PATHS.get(row.dialect, _PLUGGED)
    row = _on_newer_address(row)
    if row.dialect == "bedrock":  # answers come from one host, the catalogue from another
        row = replace(row, base_url=row.base_url.replace("//bedrock-runtime.", "//bedrock."))
    query = {**_MODELS_QUERY.get(row.dialect, {}), **(more or {})}
    return _endpoint(row, row.dialect, version, row.models_path or path, query)


def auth_header(row: Provider, *, is_token: bool = False) -> tuple[str, str]:
    """Give the header a key goes into, and what stands before it there."""
    name = "bearer" if is_token else row.auth or _AUTH.get(row.dialect, "bearer")
    return ("authorization", "Bearer ") if name == "bearer" else (name, "")


def said_whether_streamed(row: Provider, dialect: str, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
    """Give the body with its word on streaming, where the dialect wants one."""
    said = {key: value for key, value in body.items() if stream or key not in ("stream", "stream_options")}
    if dialect in _PATHS and dialect not in _SAYS_STREAM:
        said.pop("stream", None)
        return said
    if stream:
        said["stream"] = True
        if dialect == "openai_chat" and "stream_options" not in row.quirks.refuses:
            said.setdefault("stream_options", {"include_usage": True})  # else nobody learns what the answer cost [T-60]
    elif dialect == "ollama":
        said["stream"] = False  # the one that streams unless told not to
    return said


def _on_newer_address(row: Provider) -> Provider:
    """Give the row as it is for Azure's newer address, `…/openai/v1`, which takes OpenAI's own paths."""
    if row.name == "azure" and row.base_url.rstrip("/").endswith("/v1"):
        return replace(row, path="", models_path="", query=())
    return row


def _model_in_path(dialect: str, model: str) -> str:
    if dialect == "gemini":
        kind = next((kind for kind in _GEMINI_KINDS if model.startswith(kind)), "")
        return f"{kind or 'models/'}{quote(model.removeprefix(kind), safe='')}"
    return quote(model, safe="")  # a name with a slash or a dot-dot in it must not become another address


def _endpoint(row: Provider, dialect: str, version: str, path: str, query: Mapping[str, str]) -> Endpoint:
    base = row.base_url.rstrip("/")
    if not base or "{" in base:
        hint = " or ".join([*(name for kind, _, name in row.from_environment if kind == "region"), *row.addresses])
        raise UsageError(
            f"no address is known for {row.name}\n  set one: {hint or f'base_url in [providers.{row.name}]'}"
        )
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"the address of {row.name} is no URL: {base!r}\n  it begins with https://")
    if version and base.endswith(version):
        version = ""  # people give the address with the version and without
    asked = {**dict(row.query), **query}
    headers = ((ANTHROPIC_VERSION,) if dialect == "anthropic" else ()) + row.headers
    return Endpoint(f"{base}{version}{path}" + (f"?{urlencode(asked)}" if asked else ""), headers)
