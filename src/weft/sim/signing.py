"""Signatures on reasoning: made with a fixed seed, checked when they come back.

A real provider encrypts; here it is enough that nobody changes a thought, or brings one from elsewhere, unnoticed.
A signature holds the digest of what it signs and a MAC over that digest, so that a broken signature and one that
belongs to other content can both be told.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

__all__ = ["Signer"]

_DIGEST_BYTES = 16
_MAC_BYTES = 32


class Signer:
    """Signs for one family of providers; a signature of another family, or of another seed, does not pass."""

    __slots__ = ("_key",)

    def __init__(self, seed: str, family: str) -> None:
        """Derive the key."""
        self._key = hashlib.sha256(f"{family}\0{seed}".encode()).digest()

    def sign(self, content: str) -> str:
        """Give the signature of a content."""
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
        return base64.b64encode(digest + self._mac(digest)).decode("ascii")

    def is_signed(self, signature: object, content: str) -> bool:
        """Tell whether a signature is ours and of this very content."""
        return hmac.compare_digest(_bytes(signature), _bytes(self.sign(content)))

    def is_ours(self, signature: object) -> bool:
        """Tell whether a signature is ours, whatever it was made for: where the content comes back in pieces."""
        raw = _bytes(signature)
        digest, mac = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        return len(mac) == _MAC_BYTES and hmac.compare_digest(mac, self._mac(digest))

    def _mac(self, digest: bytes) -> bytes:
        return hmac.new(self._key, digest, hashlib.sha256).digest()


def _bytes(signature: object) -> bytes:
    """Read base64 of either alphabet: Google's client sends back the other one. Nothing for what is not base64."""
    try:
        plain = signature.replace("-", "+").replace("_", "/") if isinstance(signature, str) else ""
        return base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        return b""
