"""The providers' own clients, each pointed at a simulator. What they warn about while they are imported is theirs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.sim import Simulator

__all__ = ["anthropic_client", "bedrock_client", "cohere_client", "gemini_client", "openai_client", "until_it_breaks"]

KEY = "any-key"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import anthropic
    import boto3  # type: ignore[import-untyped]
    import cohere
    import httpx
    import openai
    from botocore.config import Config  # type: ignore[import-untyped]
    from google import genai


def openai_client(sim: Simulator, key: str = KEY, retries: int = 0) -> Any:
    return openai.OpenAI(base_url=sim.address("openai"), api_key=key, max_retries=retries, timeout=10)


def anthropic_client(sim: Simulator, key: str = KEY, retries: int = 0) -> Any:
    return anthropic.Anthropic(base_url=sim.address("anthropic"), api_key=key, max_retries=retries, timeout=10)


def gemini_client(sim: Simulator, key: str = KEY, retries: int = 1) -> Any:
    """`retries` counts attempts, as the SDK does."""
    options = genai.types.HttpOptions(
        base_url=sim.address("gemini"),
        timeout=10_000,
        retry_options=genai.types.HttpRetryOptions(attempts=retries, initial_delay=0.01, max_delay=0.05),
    )
    return genai.Client(api_key=key, http_options=options)


@contextmanager
def cohere_client(sim: Simulator, key: str = KEY) -> Iterator[Any]:
    """Cohere's client does not close its connections by itself."""
    with httpx.Client(timeout=10) as connections:
        yield cohere.ClientV2(api_key=key, base_url=sim.address("cohere"), httpx_client=connections)


def bedrock_client(sim: Simulator, key: str = KEY, retries: int = 0) -> Any:
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=sim.address("bedrock"),
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": retries + 1, "mode": "standard"}, read_timeout=10),
    )


def until_it_breaks(pieces: Iterable[Any]) -> tuple[list[Any], Exception | None]:
    """Read a stream as far as it goes; give what came, and what ended it."""
    came: list[Any] = []
    try:
        for piece in pieces:
            came.append(piece)  # noqa: PERF402 - extend() would lose what came before the break
    except Exception as problem:  # noqa: BLE001 - each client has its own, and the test says which
        return came, problem
    return came, None
