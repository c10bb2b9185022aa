from __future__ import annotations

from dataclasses import replace

import pytest

from weft.errors import UsageError
from weft.providers import PROVIDERS, auth_header, chat_endpoint, located, models_endpoint

# spec/threads.md, section 9; the key of Gemini goes into a header of the same meaning instead of the query.
SECTION_9 = [
    ("anthropic", "https://api.anthropic.com/v1/models?limit=1000", "https://api.anthropic.com/v1/messages"),
    ("cerebras", "https://api.cerebras.ai/v1/models", "https://api.cerebras.ai/v1/chat/completions"),
    ("cohere", "https://api.cohere.com/v1/models?page_size=1000", "https://api.cohere.com/v2/chat"),
    (
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
        "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    ),
    ("openai", "https://api.openai.com/v1/models", "https://api.openai.com/v1/chat/completions"),
    ("ollama", "http://localhost:11434/api/tags", "http://localhost:11434/api/chat"),
]


@pytest.mark.parametrize(("name", "models", "chat"), SECTION_9)
def test_the_addresses_of_section_9(name: str, models: str, chat: str) -> None:
    row = PROVIDERS[name]

    assert models_endpoint(row).url == models
    assert chat_endpoint(row, row.dialect, "m", stream=True).url == chat


@pytest.mark.parametrize(
    ("name", "environ", "url"),
    [
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://a:1"}, "http://a:1/v1/messages"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://a:1/v1/"}, "http://a:1/v1/messages"),
        ("openai", {"OPENAI_BASE_URL": "http://a:1/v1"}, "http://a:1/v1/chat/completions"),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": "http://a:1/v1beta"}, "http://a:1/v1beta/models/m:generateContent"),
        ("ollama", {"OLLAMA_HOST": "10.0.0.1:11434"}, "http://10.0.0.1:11434/api/chat"),
        ("bedrock", {"AWS_REGION": "eu-x-1"}, "https://bedrock-runtime.eu-x-1.amazonaws.com/model/m/converse"),
        ("bedrock", {"AWS_DEFAULT_REGION": "eu-x-2"}, "https://bedrock-runtime.eu-x-2.amazonaws.com/model/m/converse"),
        ("bedrock", {"AWS_BEDROCK_BASE_URL": "http://a:1"}, "http://a:1/model/m/converse"),
        (
            "azure",
            {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/", "OPENAI_API_VERSION": "2026-01-01"},
            "https://x.openai.azure.com/openai/deployments/m/chat/completions?api-version=2026-01-01",
        ),
        (
            "azure",
            {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/openai/v1"},
            "https://x.openai.azure.com/openai/v1/chat/completions",
        ),
    ],
)
def test_addresses_can_be_moved_by_the_variables_of_the_sdks(name: str, environ: dict[str, str], url: str) -> None:
    row = located(PROVIDERS[name], environ)

    assert chat_endpoint(row, row.dialect, "m", stream=False).url == url


def test_the_catalogue_of_bedrock_and_azure_is_elsewhere() -> None:
    bedrock = located(PROVIDERS["bedrock"], {"AWS_REGION": "eu-x-1"})
    azure = located(PROVIDERS["azure"], {"AZURE_OPENAI_ENDPOINT": "https://x.azure.com"})

    assert models_endpoint(bedrock).url == "https://bedrock.eu-x-1.amazonaws.com/foundation-models"
    assert models_endpoint(azure).url == "https://x.azure.com/openai/models?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("name", "said"),
    [("bedrock", "AWS_REGION or AWS_DEFAULT_REGION or AWS_BEDROCK_BASE_URL"), ("azure", "AZURE_OPENAI_ENDPOINT")],
)
def test_a_provider_without_an_address_says_how_to_give_it_one(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"no address is known for {name}\n  set one: {said}"):
        chat_endpoint(PROVIDERS[name], PROVIDERS[name].dialect, "m", stream=False)


def test_a_model_cannot_lead_to_another_address() -> None:
    bedrock = replace(PROVIDERS["bedrock"], base_url="http://a")

    assert (
        chat_endpoint(bedrock, "bedrock", "a.b:0/../x?y", stream=False).url
        == "http://a/model/a.b%3A0%2F..%2Fx%3Fy/converse"
    )
    assert "/models/a%2F..%2Fb:generate" in chat_endpoint(PROVIDERS["gemini"], "gemini", "a/../b", stream=False).url
    assert (
        "/tunedModels/mine:generate"
        in chat_endpoint(PROVIDERS["gemini"], "gemini", "tunedModels/mine", stream=False).url
    )


def test_an_account_in_the_environment_is_told_to_openai() -> None:
    row = located(PROVIDERS["openai"], {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"})

    assert chat_endpoint(row, "openai_chat", "m", stream=False).headers == (
        ("openai-organization", "org-1"),
        ("openai-project", "proj-1"),
    )


def test_how_each_key_is_shown() -> None:
    assert {name: auth_header(row) for name, row in PROVIDERS.items() if auth_header(row)[0] != "authorization"} == {
        "anthropic": ("x-api-key", ""),
        "gemini": ("x-goog-api-key", ""),
        "azure": ("api-key", ""),
    }
    assert auth_header(PROVIDERS["azure"], is_token=True) == ("authorization", "Bearer ")
