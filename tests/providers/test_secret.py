from __future__ import annotations

import time

import pytest

from weft.errors import UsageError
from weft.providers import Redactor, Secret, fingerprint


def test_a_text_without_the_key_is_left_alone() -> None:
    redact = Redactor([Secret("sk-abcdefghijkl"), None])

    assert redact("nothing here, sk-abc neither") == "nothing here, sk-abc neither"
    assert redact("sk-abcdefghijkl and sk-abcdefghijkl") == "**** and ****"
    assert redact.finds("x sk-abcdefghijkl y")
    assert not redact.finds("x")


def test_a_placeholder_for_a_key_does_not_mask_half_of_every_text() -> None:
    assert Redactor([Secret("x")])("a text with an x in it") == "a text with an x in it"
    assert Redactor([])("anything") == "anything"


def test_a_hostile_text_does_not_take_for_ever() -> None:
    redact = Redactor([Secret("\\\\" + "a" * 40)])
    started = time.perf_counter()

    for text in ("\\" * 65_536, "%25" * 20_000, "a" * 65_536, "\\u00" * 16_000):
        redact(text)

    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "text", ["", "  \n", "two words", "caf\N{LATIN SMALL LETTER E WITH ACUTE}-key", "a\x00b", "a\r\nb: c"]
)
def test_what_cannot_be_a_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="the key is"):
        Secret(text)


def test_k04_a_fingerprint_links_the_same_key_and_needs_the_salt() -> None:
    """K-04: a plain hash could be tried against a list of leaked keys."""
    key = Secret("sk-abcdefghijkl")

    assert fingerprint(key, b"salt") == fingerprint(Secret("sk-abcdefghijkl"), b"salt")
    assert fingerprint(key, b"salt") != fingerprint(key, b"pepper")
    assert fingerprint(key, b"salt") != fingerprint(Secret("sk-other-key-00"), b"salt")
    assert "abcdef" not in fingerprint(key, b"salt")
