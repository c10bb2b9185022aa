from __future__ import annotations

import json
import time
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.secrets import KINDS, Found, find_secrets, fingerprint, redact_text

_ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _drawn(length: int, letters: str = _ALNUM, seed: int = 7) -> str:
    """Letters drawn by lot; built here, so that no key-like text stands in this file."""
    return "".join(Random(seed).choices(letters, k=length))


SHAPES = {
    "anthropic": "sk-ant-api03-" + _drawn(86) + "-AA",
    "openrouter": "sk-or-v1-" + _drawn(64, "0123456789abcdef"),
    "openai": "sk-proj-" + _drawn(40) + "_" + _drawn(40, seed=8),
    "google": "AIza" + _drawn(35),
    "google-token": "ya29." + _drawn(60),
    "groq": "gsk_" + _drawn(52),
    "xai": "xai-" + _drawn(80),
    "cerebras": "csk-" + _drawn(48, "abcdefghijklmnopqrstuvwxyz0123456789"),
    "perplexity": "pplx-" + _drawn(48),
    "fireworks": "fw_" + _drawn(24),
    "together": "tgp_v1_" + _drawn(43),
    "replicate": "r8_" + _drawn(37),
    "huggingface": "hf_" + _drawn(34),
    "aws-key-id": "AKIA" + _drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "bedrock": "ABSK" + _drawn(100),
    "github": "ghp_" + _drawn(36),
    "gitlab": "glpat-" + _drawn(20),
    "slack": "xoxb-" + _drawn(12, "0123456789") + "-" + _drawn(24),
    "stripe": "sk_live_" + _drawn(24),
    "npm": "npm_" + _drawn(36),
    "pypi": "pypi-" + _drawn(100),
    "digitalocean": "dop_v1_" + _drawn(64, "0123456789abcdef"),
    "sendgrid": "SG." + _drawn(22) + "." + _drawn(43, seed=8),
    "jwt": "eyJ" + _drawn(30) + ".eyJ" + _drawn(80, seed=8) + "." + _drawn(43, seed=9),
    "private-key": "-----BEGIN PRIVATE KEY-----\n" + _drawn(200) + "\n-----END PRIVATE KEY-----",
}
IN_A_PLACE = {
    "aws-secret": ("aws_secret_access_key = ", _drawn(40)),
    "password-in-url": ("postgresql://amy:", "hunter-" + _drawn(5), "@db.example.org/tides"),
    "authorization": ("Authorization: Bearer ", _drawn(40)),
    "named": ('"client_secret": "', _drawn(32), '"'),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize(
    "around", ["{}", "my key is {}, thanks", "KEY='{}'", '{{"a": "{}"}}', "curl -H x:{}\n", "({})", "«{}»"]
)
def test_a_secret_is_found_by_its_shape_wherever_it_stands(kind: str, around: str) -> None:
    """K-03."""
    text = around.format(SHAPES[kind])

    [found] = find_secrets(text)

    assert (found.kind, found.value, text[found.start : found.end]) == (kind, SHAPES[kind], SHAPES[kind])


@pytest.mark.parametrize("kind", IN_A_PLACE)
def test_a_secret_without_a_shape_is_found_by_what_stands_beside_it(kind: str) -> None:
    """K-03."""
    before, secret, *after = IN_A_PLACE[kind]

    [found] = find_secrets("".join([before, secret, *after]))

    assert (found.kind, found.value) == (kind, secret)
    assert found.masked == f"…({len(secret)} characters)"


def test_every_kind_has_an_example_here() -> None:
    assert set(KINDS) == {*SHAPES, *IN_A_PLACE}


@pytest.mark.parametrize("spelled", ["api_key", "apiKey", "API-KEY", "x-api-key", "Password", "auth_token", "SECRET"])
@pytest.mark.parametrize("joined", ["{}={}", "{}: {}", '"{}": "{}"', "{} = '{}'", '\\"{}\\": \\"{}\\"', "--{}={}"])
def test_a_name_is_known_in_any_spelling(spelled: str, joined: str) -> None:
    """K-03: in a settings file, a command line, JSON, and JSON inside of JSON."""
    secret = _drawn(24)

    assert [found.value for found in find_secrets(joined.format(spelled, secret))] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-",
        "the sk-learn-pipeline-with-many-words-in-it is slow",
        "use sk-ant-your-key-goes-right-here-please as the key",
        "password = input('your password: ')",
        "token = tokenizer.encode(text, return_tensors='pt')[0]",
        "api_key: ${ANTHROPIC_API_KEY}",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "export TOKEN=<your token here 12345678>",
        "secret: ****************",
        "https://example.org:8080/a@b",
        "https://user:${PASSWORD}@example.org/",
        "max_tokens: 8192, tokens=123456789012345678",
        "token_count: 1234567890123456",
        "commit 8c5a1f0e9b7d6c5b4a39281706f5e4d3c2b1a098",
        "0f9c2b1e-7a52-4c4b-9c1e-3f0a7f0e2a11",
        "a bearer of bad news arrived at Scarborough yesterday",
        "eyJhbGciOi is how one begins",
        "-----BEGIN PUBLIC KEY-----\nMFww\n-----END PUBLIC KEY-----",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    """K-03: an alarm that is often false is read by nobody."""
    assert find_secrets(text) == []
    assert redact_text(text) == text


def test_a_found_secret_shows_whose_it_is_and_nothing_else() -> None:
    """K-12: neither its `repr` nor its mask has its letters."""
    key = SHAPES["anthropic"]

    [found] = find_secrets(f"use {key}")

    assert found.masked == f"sk-ant-api03-…({len(key)} characters)"
    assert key[13:20] not in repr(found)
    assert repr(found) == f"Found(kind='anthropic', start=4, end={4 + len(key)})"


@pytest.mark.parametrize("kind", SHAPES)
def test_a_mask_never_gives_away_more_than_the_beginning_all_share(kind: str) -> None:
    """K-03."""
    [found] = find_secrets(SHAPES[kind])

    shown = found.masked.partition("…")[0]

    assert len(shown) <= 32
    assert SHAPES[kind].startswith(shown)
    assert not any(SHAPES[kind][at : at + 6] in found.masked for at in range(32, len(SHAPES[kind]) - 32))


def test_redacted_text_has_no_secret_left_and_all_of_the_rest() -> None:
    """K-03: redaction before something is written."""
    text = f"first {SHAPES['openai']} then {SHAPES['github']}."

    assert redact_text(text) == "first [redacted:openai] then [redacted:github]."


@pytest.mark.parametrize("secret", [*SHAPES.values()])
def test_redacted_json_is_still_json(secret: str) -> None:
    """K-03: the proxy and exports redact what is written already."""
    redacted = redact_text(json.dumps({"content": f"key: {secret}", "next": 1}))

    assert json.loads(redacted)["next"] == 1
    assert find_secrets(redacted) == []


@given(st.text(), st.sampled_from(sorted(SHAPES)), st.text())
def test_redacting_twice_is_redacting_once(before: str, kind: str, after: str) -> None:
    once = redact_text(f"{before} {SHAPES[kind]} {after}")

    assert redact_text(once) == once
    assert SHAPES[kind] not in once


@given(st.lists(st.sampled_from([*SHAPES.values(), " ", "x", "=", "key=", "://a:", "@b"]), max_size=8).map("".join))
def test_what_is_found_never_overlaps(text: str) -> None:
    found = find_secrets(text)

    assert all(first.end <= second.start for first, second in pairwise(found))
    assert all(text[one.start : one.end] == one.value for one in found)


def test_the_same_secret_is_known_again_by_who_has_the_key_alone() -> None:
    """K-04: a plain hash could be found again by trying."""
    one, other = SHAPES["openai"], SHAPES["groq"]

    assert fingerprint(one, b"salt") == fingerprint(one, b"salt")
    assert fingerprint(one, b"salt") != fingerprint(other, b"salt")
    assert fingerprint(one, b"salt") != fingerprint(one, b"another")
    assert len(fingerprint("\ud800", b"salt")) == 12


@pytest.mark.parametrize(
    "piece",
    [
        "sk-", "eyJ", "a", "-----BEGIN PRIVATE KEY-----", "://a:", "password=", "Bearer ", "eyJaaaaaaaaaa.", "\\",
        "aws", "authorization:", "key: ", "A" * 7 + "1",
    ],
)  # fmt: skip
def test_no_text_takes_time_out_of_proportion(piece: str) -> None:
    """C-04: twice the text is about twice the work, whatever is in it."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        begin = time.process_time()
        find_secrets(text)
        return time.process_time() - begin

    small = min(seconds(20_000) for _ in range(3))
    large = min(seconds(80_000) for _ in range(2))

    assert large < max(10 * small, 0.02)


def test_a_found_secret_is_a_plain_value() -> None:
    assert Found("openai", 0, 3, "abc") == Found("openai", 0, 3, "abc")
