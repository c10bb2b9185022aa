"""Lists of models: what each provider's models endpoint answers, as one plain shape, newest first; and written again.

Who asks the endpoint is `client`; who answers in a provider's place is the translating proxy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weft.errors import WireError
from weft.providers.table import Provider

__all__ = ["Model", "newest_first", "read_models", "write_model", "write_models"]


@dataclass(frozen=True, slots=True)
class Model:
    """One model that can be asked; `created` in UTC where the provider says it."""

    id: str
    created: datetime | None = None

    def to_dict(self) -> dict[str, str]:
        """Give `{id, created?}`, the date in ISO 8601."""
        return {"id": self.id} | ({"created": self.created.isoformat()} if self.created else {})


def read_models(row: Provider, body: Any) -> tuple[list[Model], dict[str, str] | None]:
    """Read one page of models; give them, and the query of the next page if there is one."""
    match row.dialect:
        case "anthropic":
            entries = _entries(row, body, "data")
            more = {"after_id": str(body["last_id"])} if body.get("has_more") and body.get("last_id") else None
            return [Model(_id(entry, "id"), _date(entry.get("created_at"))) for entry in entries], more
        case "gemini":
            entries = _entries(row, body, "models")
            able = [each for each in entries if "generateContent" in (each.get("supportedGenerationMethods") or ())]
            return [Model(_id(entry, "name").removeprefix("models/")) for entry in able], _token(
                body, "nextPageToken", "pageToken"
            )
        case "cohere":
            entries = _entries(row, body, "models")
            able = [entry for entry in entries if "chat" in (entry.get("endpoints") or ())]
            return [Model(_id(entry, "name")) for entry in able], _token(body, "next_page_token", "page_token")
        case "ollama":
            entries = _entries(row, body, "models")
            return [Model(_id(entry, "name"), _date(entry.get("modified_at"))) for entry in entries], None
        case "bedrock":
            entries = _entries(row, body, "modelSummaries")
            return [Model(_id(entry, "modelId")) for entry in entries], None
        case _:
            entries = _entries(row, body, "data") if isinstance(body, Mapping) else _entries(row, {"": body}, "")
            return [Model(_id(entry, "id"), _date(entry.get("created"))) for entry in entries], None


def write_models(dialect: str, models: Sequence[str]) -> dict[str, Any]:
    """Write a list of models as clients of a dialect read it, in one page."""
    cards = [write_model(dialect, model) for model in models]
    match dialect:
        case "anthropic":
            return {"data": cards, "has_more": False, "first_id": models[0], "last_id": models[-1]}
        case "gemini" | "cohere" | "ollama":
            return {"models": cards}
        case "bedrock":
            return {"modelSummaries": cards}
    return {"object": "list", "data": cards}


def write_model(dialect: str, model: str) -> dict[str, Any]:
    """Write one model as clients of a dialect read it: what it is called, and that it can be asked."""
    match dialect:
        case "anthropic":
            return {"type": "model", "id": model, "display_name": model, "created_at": "1970-01-01T00:00:00Z"}
        case "gemini":
            return {"name": f"models/{model}", "displayName": model, "supportedGenerationMethods": ["generateContent"]}
        case "cohere":
            return {"name": model, "endpoints": ["chat"]}
        case "ollama":
            return {"name": model, "model": model, "modified_at": "1970-01-01T00:00:00Z", "size": 0, "details": {}}
        case "bedrock":
            return {"modelId": model, "modelName": model, "modelArn": model, "responseStreamingSupported": True}
    return {"id": model, "object": "model", "created": 0, "owned_by": "system"}


def newest_first(models: Iterable[Model]) -> list[Model]:
    """Order models: by date, newest first; those without one after them, as they came."""
    return sorted(models, key=lambda model: -model.created.timestamp() if model.created else float("inf"))


def _entries(row: Provider, body: Any, key: str) -> list[Mapping[str, Any]]:
    entries = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(entries, list):
        raise WireError(f"{row.name}'s list of models has no {key or 'entries'!r}")
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _id(entry: Mapping[str, Any], key: str) -> str:
    return str(entry.get(key) or "")


def _token(body: Mapping[str, Any], key: str, parameter: str) -> dict[str, str] | None:
    return {parameter: str(body[key])} if body.get(key) else None


def _date(value: Any) -> datetime | None:
    try:
        if isinstance(value, str):
            date = datetime.fromisoformat(value)
            return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value, UTC) if isinstance(value, (int, float)) and value > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
