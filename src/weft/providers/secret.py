"""Secrets: keys in a type that does not show them, and their removal from any text that might [K-02, K-04, K-12].

A key is a `Secret` from where it is read to where it is put into a header; nothing in between sees its letters.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable
from typing import NoReturn

from weft.errors import UsageError

__all__ = ["MASK", "Redactor", "Secret", "fingerprint"]

MASK = "****"
_SHORTEST = 4  # a shorter "key" is a placeholder such as "x", and would mask half of every text
_SHORTEST_ENCODED = 12  # below this, the part of a base64 text that depends on the key alone is no evidence of it


class Secret:
    """A key or token. Its text comes out of `reveal()` and nowhere else.

    `is_token` tells an OAuth token from a key, where a provider takes both in different headers.
    """

    __slots__ = ("_text", "is_token")

    def __init__(self, text: str, *, is_token: bool = False) -> None:
        """Take a key as it was read; blanks and line ends around it are an accident of pasting."""
        stripped = text.strip()
        if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
            what = "empty" if not stripped else "broken: it has a blank, a control or a non-ASCII character in it"
            del text, stripped  # a traceback that shows locals must not show it either
            raise UsageError(f"the key is {what}")
        self._text = stripped
        self.is_token = is_token

    def reveal(self) -> str:
        """Give the text, to be put into a header or a key store at once."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written anywhere; pass the name of its source instead")


def fingerprint(secret: Secret, salt: bytes) -> str:
    """Name a key so that the same key can be recognised, by who has the salt alone [K-04]."""
    from weft import secrets  # noqa: PLC0415  # a call needs none of its rules

    return secrets.fingerprint(secret.reveal(), salt)


class Redactor:
    """Takes secrets out of text, in every spelling in which one may have got there."""

    __slots__ = ("_secrets", "_seen")

    def __init__(self, secrets: Iterable[Secret | None]) -> None:
        """Know what to look for."""
        # A passing AWS key comes with a token that is as secret.
        known = [one for secret in secrets for one in (secret, getattr(secret, "session_token", None))]
        self._secrets = [secret for secret in known if secret is not None and len(secret.reveal()) >= _SHORTEST]
        self._seen: re.Pattern[str] | None = None  # made when first needed: most calls go well

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} secrets>"

    def __call__(self, text: str) -> str:
        """Give the text with a mask in place of every secret."""
        return self._pattern().sub(MASK, text) if self._secrets else text

    def finds(self, text: str) -> bool:
        """Tell whether a secret is in there."""
        return bool(self._secrets) and self._pattern().search(text) is not None

    def _pattern(self) -> re.Pattern[str]:
        if self._seen is None:
            self._seen = re.compile("|".join(form for secret in self._secrets for form in _forms(secret.reveal())))
        return self._seen


def _forms(key: str) -> list[str]:
    """Give expressions that match a key: in letters, each escaped as URLs or JSON do, or not; in hex; in base64."""
    forms = ["".join(_letter(letter) for letter in key), f"(?i:{key.encode().hex()})"]
    if len(key) >= _SHORTEST_ENCODED:
        forms += ["".join(_BASE64.get(letter, letter) for letter in core) for core in _base64_cores(key.encode())]
    return forms


def _letter(letter: str) -> str:
    r"""Match a letter as it is, or escaped as often as it may have been: `%2B`, `%252B`, `\u002b`, `\\"`.

    Three times at most: without a limit, a long row of backslashes would take for ever.
    """
    code = f"(?i:{ord(letter):02x})"
    plain = r"\\{1,8}" if letter == "\\" else rf"\\{{0,7}}{re.escape(letter)}"
    return rf"(?:{plain}|%(?:25){{0,3}}{code}|\\{{1,7}}u00{code})"


# Letters of base64 that its other alphabet, or a URL, spells otherwise.
_BASE64 = {"+": r"(?:[+-]|%2[Bb])", "/": r"(?:[/_]|\\/|%2[Ff])"}


def _base64_cores(data: bytes) -> list[str]:
    """Give what base64 makes of the data at each of the three places it may begin in a longer text.

    Only the letters that depend on nothing but the data: those at the edges also hold bits of what stands beside it.
    """
    cores = []
    for offset, shared in ((0, 0), (1, 2), (2, 3)):
        whole = (len(data) + offset) // 3 * 4
        cores.append(base64.b64encode(b"\0" * offset + data).decode()[shared:whole])
    return cores
