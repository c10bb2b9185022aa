"""Requests signed with AWS access keys: to the letter as botocore signs them, with keys from where AWS's are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from tests.support.calls import one_shot, row_at, whole
from weft.client import Call
from weft.errors import ProviderError, UsageError
from weft.providers import PROVIDERS, AwsKey, KeyPlaces, Redactor, located, resolve_key, sign
from weft.providers.sigv4 import signing_region

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzzzCANARY"
TOKEN = "IQoJb3JpZ2luX2VjE//+canary=="
KEY = AwsKey("AKIDZZZZZZZZZZZZZZZZ", SECRET, TOKEN, "eu-central-1")
AT = datetime(2026, 10, 1, 12, 30, 5, tzinfo=UTC).timestamp()


def botocore_signs(key: AwsKey, method: str, url: str, headers: dict[str, str], body: bytes, moment: str) -> str:
    """Have botocore sign a request as of a moment, and give its Authorization."""
    token = key.session_token.reveal() if key.session_token else None
    signer = SigV4Auth(Credentials(key.access_key_id, key.reveal(), token), "bedrock", "eu-central-1")
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    request.context["timestamp"] = moment
    signer_time = signer._modify_request_before_signing  # adds the token and the date of the context
    signer_time(request)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    signer._inject_signature_to_request(request, signature)
    return str(request.headers["Authorization"])


@pytest.mark.parametrize("token", [TOKEN, ""], ids=["passing", "lasting"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/model/mint-1/converse", b'{"messages":[]}'),
        ("POST", "/model/anthropic.claude%3A0/converse-stream", '{"text":"Ebbe und Flut: ä"}'.encode()),
        ("POST", "/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Fx/converse", b""),
        ("GET", "/foundation-models", b""),
        ("GET", "/foundation-models?byProvider=a%20b&empty=&byInferenceType=ON_DEMAND", b""),
        ("GET", "/", b""),
    ],
)
def test_a_signature_is_botocores_to_the_letter(method: str, path: str, body: bytes, token: str) -> None:
    key = AwsKey(KEY.access_key_id, SECRET, token, "eu-central-1")
    url = f"https://bedrock-runtime.eu-central-1.amazonaws.com{path}"
    headers = {"Content-Type": "application/json", "Host": "bedrock-runtime.eu-central-1.amazonaws.com"}

    signed = sign(key, method, url, {**headers, "User-Agent": "weft", "Accept": "*/*"}, body, at=AT)

    assert signed["x-amz-date"] == "20261001T123005Z"
    assert signed.get("x-amz-security-token", "") == token
    assert signed["authorization"] == botocore_signs(key, method, url, headers, body, signed["x-amz-date"])


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("bedrock-runtime.us-west-2.amazonaws.com", "us-west-2"),
        ("bedrock.eu-west-1.amazonaws.com", "eu-west-1"),
        ("bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("vpce-1.bedrock-runtime.ap-south-1.vpce.amazonaws.com", "ap-south-1"),
        ("127.0.0.1", "eu-central-1"),
        ("gateway.example.org", "eu-central-1"),
    ],
)
def test_the_region_is_the_hosts_own_or_the_keys(host: str, region: str) -> None:
    assert signing_region(KEY, host) == region


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_sent_is_signed_as_it_is_sent(stream: bool) -> None:
    """What arrives, its very bytes and headers, is what botocore would have signed."""

    async def work() -> Any:
        async with one_shot(whole("bedrock")) as (far, client):
            call = Call(row_at("bedrock", far.url), "mint:1", {"messages": [{"role": "user"}]}, KEY)
            if stream:
                async with client.stream(call) as events:
                    assert [event async for event in events]
            else:
                await client.send(call)
            return far.asked[0], far.url

    asked, url = asyncio.run(work())

    headers = {name: asked.headers[name] for name in ("content-type", "host")}
    wanted = botocore_signs(KEY, "POST", url + asked.path, headers, asked.body, asked.headers["x-amz-date"])
    assert asked.path.startswith("/model/mint%3A1/converse")
    assert asked.headers["authorization"] == wanted
    assert SECRET not in str(asked.headers)


def test_k02_neither_the_secret_nor_the_token_is_in_what_is_said() -> None:
    """K-02, K-12."""
    redact = Redactor([KEY])

    assert redact(f"a {SECRET} b {TOKEN} c") == "a **** b **** c"
    assert SECRET not in repr(KEY)

    async def work() -> None:
        from tests.support.upstream import Answer

        async with one_shot(Answer.json({"message": f"no {SECRET} and {TOKEN}"}, 403)) as (far, client):
            await client.send(Call(row_at("bedrock", far.url), "m", {"messages": []}, KEY))

    with pytest.raises(ProviderError) as caught:
        asyncio.run(work())
    assert SECRET not in str(caught.value) + caught.value.body
    assert TOKEN not in str(caught.value) + caught.value.body


# -- where keys are ----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(
        "[default]\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key = secret-of-default\n\n"
        "[work]\naws_access_key_id=AKIDWORK\naws_secret_access_key=secret-of-work\naws_session_token=token-of-work\n"
    )
    (folder / "config").write_text("[default]\nregion = eu-west-3\n[profile work]\nregion = us-east-2\n")
    return tmp_path


def found(environ: dict[str, str]) -> tuple[AwsKey, str, str]:
    """Give the key that wins, where it was found, and the address it goes to."""
    row = located(PROVIDERS["bedrock"], environ)
    key, source = resolve_key(row, KeyPlaces(environ, use_keyring=False))
    assert isinstance(key, AwsKey)
    return key, source, row.base_url


def test_the_environment_wins_and_the_profile_follows(home: Path) -> None:
    environ = {"HOME": str(home)}
    both = {**environ, "AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "sa-east-1"}

    key, source, url = found(both)
    assert (key.access_key_id, key.session_token, source) == ("AKIDENV", None, "environment AWS_ACCESS_KEY_ID")
    assert url == "https://bedrock-runtime.sa-east-1.amazonaws.com"

    key, source, url = found(environ)
    assert (key.access_key_id, key.reveal(), key.region) == ("AKIDDEFAULT", "secret-of-default", "eu-west-3")
    assert source == f"profile default of {home / '.aws' / 'credentials'}"
    assert url == "https://bedrock-runtime.eu-west-3.amazonaws.com"

    key, _, url = found({**environ, "AWS_PROFILE": "work"})
    assert (key.access_key_id, key.session_token is not None, key.region) == ("AKIDWORK", True, "us-east-2")


def test_an_api_key_wins_over_access_keys(home: Path) -> None:
    environ = {"HOME": str(home), "AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key"}

    key, source = resolve_key(PROVIDERS["bedrock"], KeyPlaces(environ, use_keyring=False))

    assert not isinstance(key, AwsKey)
    assert source == "environment AWS_BEARER_TOKEN_BEDROCK"


def test_other_providers_are_not_offered_them(home: Path) -> None:
    with pytest.raises(UsageError, match="no key for openai"):
        resolve_key(PROVIDERS["openai"], KeyPlaces({"HOME": str(home)}, use_keyring=False))


def test_files_elsewhere_empty_and_broken(home: Path, tmp_path: Path) -> None:
    """A broken file is named; what is in it is not shown."""
    other = tmp_path / "other"
    other.write_text("[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = secret-of-other\n")
    key, _, _ = found({"HOME": str(home), "AWS_SHARED_CREDENTIALS_FILE": str(other)})
    assert key.access_key_id == "AKIDOTHER"

    other.write_text("")
    row = replace(PROVIDERS["bedrock"], base_url="https://x")
    with pytest.raises(UsageError, match="no key for bedrock"):
        resolve_key(row, KeyPlaces({"AWS_SHARED_CREDENTIALS_FILE": str(other)}, use_keyring=False))

    other.write_text("aws_secret_access_key = canary-9f3b\n")
    with pytest.raises(UsageError) as caught:
        resolve_key(row, KeyPlaces({"AWS_SHARED_CREDENTIALS_FILE": str(other)}, use_keyring=False))
    assert str(caught.value) == f"{other} is not in the form of AWS's files"
    assert caught.value.__cause__ is None
