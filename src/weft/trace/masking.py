"""The secrets of a request, kept out of its recording [K-01, K-02].

A recorder is given the values of the request's own credentials: it never writes a header, but a far side may echo a
key in a body, and a key may be in the address. Here they are taken out of bytes, in every spelling in which one may
have got there: in letters, each escaped as URLs or JSON do or not; in hex; in base64.

Bodies are large and secrets rare, so a few plain searches decide whether the expression is tried at all.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

__all__ = ["MASK", "Masker", "mask_target", "masker_for", "secrets_of"]

MASK = b"****"
_SHORTEST = 8  # what is shorter is a placeholder such as "x", and would mask half of every text
_SHORTEST_ENCODED = 12  # below this, the part of a base64 text that depends on the secret alone is no evidence of it
_WINDOW = 2048  # how much of a tail is looked at for the beginning of a secret
_SECRET_NAME = re.compile(rb"auth|key|token|secret|passw|cookie|credential|signature|session", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(
    rb"(?:^|[-_.])(?:key|sig|code)$|api-?key|token|secret|passw|signature|credential|authorization", re.IGNORECASE
)
_NO_SECRET = frozenset({b"sec-websocket-key", b"idempotency-key", b"x-idempotency-key"})
_LONG_PREFIX = b"openai-insecure-api-key."  # how a browser shows a key to a WebSocket


def secrets_of(headers: Iterable[tuple[bytes, bytes]], target: bytes) -> tuple[bytes, ...]:
    """Give the secrets that a request shows: header values by their names, parameters by theirs."""
    found: dict[bytes, None] = {}
    for name, value in headers:
        lower = name.lower()
        if lower == b"sec-websocket-protocol":
            for word in value.split(b","):
                if word.strip().startswith(_LONG_PREFIX):
                    found[word.strip()[len(_LONG_PREFIX) :]] = None
        elif lower not in _NO_SECRET and _SECRET_NAME.search(lower):
            _add_value(found, lower, value)
    _, question, query = target.partition(b"?")
    if question:
        for pair in query.split(b"&"):
            name, _, value = pair.partition(b"=")
            if value and _SECRET_PARAMETER.search(unquote_to_bytes(name)):
                found[value] = None
                found[unquote_to_bytes(value.replace(b"+", b" "))] = None
    return tuple(secret for secret in found if len(secret) >= _SHORTEST)


def _add_value(found: dict[bytes, None], name: bytes, value: bytes) -> None:
    if name in (b"cookie", b"set-cookie"):
        pieces = value.split(b";")[:1] if name == b"set-cookie" else value.split(b";")
        for pair in pieces:
            found[pair.partition(b"=")[2].strip(b' "')] = None
        return
    scheme, blank, rest = value.strip().partition(b" ")
    if not blank:
        found[value.strip()] = None
        return
    found[rest.strip()] = None
    if scheme.lower() == b"basic":
        try:
            shown = base64.b64decode(rest.strip(), validate=True)
        except ValueError:
            return
        found[shown] = None
        found[shown.partition(b":")[2]] = None


def mask_target(target: bytes, masker: Masker) -> str:
    """Give a request's target as it may be kept: parameters that hold secrets masked, other secrets too [C-2]."""
    path, question, query = target.partition(b"?")
    if question:
        pairs = []
        for pair in query.split(b"&"):
            name, equals, value = pair.partition(b"=")
            is_secret = value and _SECRET_PARAMETER.search(unquote_to_bytes(name))
            pairs.append(name + equals + MASK if is_secret else pair)
        path += question + b"&".join(pairs)
    return masker.mask(path).decode("utf-8", "backslashreplace")


class Masker:
    """Takes some secrets out of bytes."""

    __slots__ = ("_cores", "_last", "_longest", "_needles", "_pattern", "_secrets", "_units")

    def __init__(self, secrets: Iterable[bytes]) -> None:
        """Know what to look for."""
        self._secrets = sorted({one for one in secrets if len(one) >= _SHORTEST}, key=len, reverse=True)
        self._needles: tuple[bytes, ...] = tuple(dict.fromkeys(n for one in self._secrets for n in _needles(one)))
        self._pattern: re.Pattern[bytes] | None = None  # made when first needed
        self._units: dict[int, re.Pattern[bytes]] = {}
        self._cores = [core for one in self._secrets for core in _encoded(one)]
        self._longest = min(_WINDOW, max((6 * len(one) for one in self._secrets), default=0))
        letters = {letter for one in self._secrets for letter in one} | set(b"\\%u0123456789abcdefABCDEF")
        letters |= {letter for core in self._cores for letter in core} | set(b"+-_/")
        self._last = frozenset(letters)

    def __repr__(self) -> str:
        return f"<Masker of {len(self._secrets)} secrets>"

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def mask(self, data: bytes) -> bytes:
        """Give the data with a mask in place of every secret."""
        for needle in self._needles:
            if needle in data:
                return self._expression().sub(MASK, data)
        return data

    def held_back(self, data: bytes) -> int:
        """Tell how many of the last bytes may be the beginning of a secret whose rest is still to come."""
        if not self._secrets or not data or data[-1] not in self._last:
            return 0
        tail = data[-self._longest :]
        for start in range(len(tail)):
            if self._may_begin(tail[start:]):
                return len(tail) - start
        return 0

    def _expression(self) -> re.Pattern[bytes]:
        if self._pattern is None:
            forms = [b"".join(_letter(letter) for letter in one) for one in self._secrets]
            forms += [_spelled(core) for core in self._cores]
            self._pattern = re.compile(b"|".join(forms))
        return self._pattern

    def _may_begin(self, text: bytes) -> bool:
        first = text[0]
        if first in b"\\%":
            return any(self._goes_on(secret, text) for secret in self._secrets)
        if any(secret[0] == first and self._goes_on(secret, text) for secret in self._secrets):
            return True
        plain = text.replace(b"-", b"+").replace(b"_", b"/")
        return any(core.startswith((plain, text.lower())) for core in self._cores)

    def _goes_on(self, secret: bytes, text: bytes) -> bool:
        """Tell whether the text is used up while spelling the secret."""
        at = 0
        for letter in secret:
            if at >= len(text):
                return True
            unit = self._units.get(letter)
            if unit is None:
                unit = self._units[letter] = re.compile(_letter(letter))
            if (match := unit.match(text, at)) is None:
                return _ESCAPE_BEGUN.fullmatch(text, at) is not None
            at = match.end()
        return False


@lru_cache(maxsize=64)
def masker_for(secrets: tuple[bytes, ...]) -> Masker:
    """Give the masker of these secrets; clients show the same ones with every request."""
    return Masker(secrets)


_ESCAPE_BEGUN = re.compile(rb"\\{1,7}(?:u[0-9a-fA-F]{0,3})?|%(?:25){0,3}[0-9a-fA-F]?")
_RUN = re.compile(rb"[A-Za-z0-9]+")


def _letter(letter: int) -> bytes:
    r"""Match a letter as it is, or escaped as often as it may have been: `%2B`, `%252B`, `\u002b`, `\\"`.

    Three times at most: without a limit, a long row of backslashes would take for ever.
    """
    code = b"(?i:%02x)" % letter
    plain = rb"\\{1,8}" if letter == 0x5C else rb"\\{0,7}" + re.escape(bytes([letter]))
    return rb"(?:" + plain + rb"|%(?:25){0,3}" + code + rb"|\\{1,7}u00" + code + rb")"


def _needles(secret: bytes) -> list[bytes]:
    """Give plain texts of which a spelling of the secret has at least one.

    Whoever escapes for a URL or JSON leaves letters and figures alone, so the longest run of them stands in the text
    as it is; or, for those who escape everything, the first few letters do not.
    """
    runs = _RUN.findall(secret)
    needles = [max(runs, key=len) if runs else secret[:1]]
    for width, spell in ((8, "%{:02x}"), (8, "%{:02X}"), (8, "%25{:02x}"), (8, "%25{:02X}"), (8, "u00{:02x}")):
        needles.append("".join(spell.format(letter) for letter in secret[:width]).encode().replace(b"u00", b"\\u00"))
    needles.append("".join(f"\\u00{letter:02X}" for letter in secret[:8]).encode())
    for core in _encoded(secret):
        needles += [core, core.upper()] if _is_hex(core) else [core, core.replace(b"+", b"-").replace(b"/", b"_")]
    return needles


def _encoded(secret: bytes) -> list[bytes]:
    """Give the secret in hex, and what base64 makes of it at each of the three places it may begin in a longer text.

    Of base64 only the letters that depend on nothing but the secret: those at the edges also hold bits of what stands
    beside it.
    """
    cores = [secret.hex().encode()]
    if len(secret) >= _SHORTEST_ENCODED:
        for offset, shared in ((0, 0), (1, 2), (2, 3)):
            whole = (len(secret) + offset) // 3 * 4
            cores.append(base64.b64encode(b"\0" * offset + secret)[shared:whole])
    return cores


def _is_hex(core: bytes) -> bool:
    return re.fullmatch(rb"[0-9a-f]+", core) is not None


# Letters of base64 that its other alphabet, or a URL, spells otherwise.
_BASE64: Mapping[int, bytes] = {0x2B: rb"(?:[+-]|%2[Bb])", 0x2F: rb"(?:[/_]|\\/|%2[Ff])"}


def _spelled(core: bytes) -> bytes:
    if _is_hex(core):
        return b"(?i:" + core + b")"
    return b"".join(_BASE64.get(letter, bytes([letter])) for letter in core)
