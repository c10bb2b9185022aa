"""What OpenAI's two APIs share: keys, error bodies, headers, the list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from weft.sim.face import CREATED, Ask, Face, Json
from weft.sim.limits import Limits
from weft.sim.refusal import RefusedError, refuse

__all__ = ["OpenAI", "forced_function", "invalid", "missing"]

KEYS = "https://platform.openai.com/account/api-keys"
KINDS = {401: "invalid_request_error", 403: "request_forbidden", 429: "requests"}
CODES = {403: "unsupported_country_region_territory", 429: "rate_limit_exceeded"}

USUAL = {
    400: "Bad request.",
    401: f"Incorrect API key provided: ***. You can find your API key at {KEYS}.",
    403: "Country, region, or territory not supported",
    404: "The requested resource was not found.",
    413: "Request body is too large.",
    429: "Rate limit reached for requests. Please try again later. Visit "
    "https://platform.openai.com/account/rate-limits to learn more.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later.",
}


class OpenAI(Face):
    """What is the same in Chat Completions and Responses."""

    provider = "openai"
    family = "openai"
    usual: ClassVar[Mapping[int, str]] = USUAL

    def no_key(self) -> RefusedError:
        """Say that a key is missing."""
        return RefusedError(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
            "auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're "
            "accessing the API from your browser and are prompted for a username and password. You can obtain an API "
            f"key from {KEYS}.",
        )

    def bad_key(self) -> RefusedError:
        """Say that a key is wrong, without repeating it."""
        return RefusedError(401, self.usual[401], code="invalid_api_key")

    def no_model(self, ask: Ask) -> RefusedError:
        """Say that there is no such model."""
        words = f"The model `{ask.model}` does not exist or you do not have access to it."
        return RefusedError(404, words, code="model_not_found")

    def headers(self, mark: str, limits: Limits) -> dict[str, str]:
        """Give the request's id and what is left of the limits."""
        return {
            "x-request-id": f"req_{mark[:32]}",
            "openai-version": "2020-10-01",
            "openai-organization": "weft-sim",
            "x-ratelimit-limit-requests": str(limits.limit),
            "x-ratelimit-remaining-requests": str(limits.remaining),
            "x-ratelimit-reset-requests": f"{limits.reset_s:.0f}s",
        }

    def error_body(self, refused: RefusedError, request_id: str) -> Json:  # noqa: ARG002 - Anthropic's has it
        """Write an error."""
        fallback = "server_error" if refused.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": refused.message,
                "type": refused.kind or KINDS.get(refused.status, fallback),
                "param": refused.param,
                "code": refused.code or CODES.get(refused.status),
            }
        }

    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models."""
        return {"object": "list", "data": [self.model_card(name) for name in names]}

    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""
        return {"id": name, "object": "model", "created": CREATED, "owned_by": "system"}


def missing(name: str) -> NoReturn:
    """Refuse a request without a field it needs."""
    refuse(f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name)


def invalid(place: str, value: Any, allowed: tuple[str, ...]) -> NoReturn:
    """Refuse a value that is none of the allowed ones."""
    words = ", ".join(f"'{each}'" for each in allowed[:-1])
    refuse(
        f"Invalid value: '{value}'. Supported values are: {words}, and '{allowed[-1]}'.",
        code="invalid_value",
        param=place,
    )


def forced_function(choice: Any) -> str | None:
    """Read tool_choice, in the form of either API."""
    match choice:
        case "required" | "any":
            return "*"
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)}:
            return name
    return None
