"""AWS Signature Version 4: a request signed with an access key, as AWS wants it where no API key is used.

Pure: time comes in as an argument. The rules are those of AWS's "Create a signed request"; the tests compare with
botocore's own signer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

from weft.providers.secret import Secret

__all__ = ["AwsKey", "sign", "signing_region"]

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "bedrock"  # the name of both hosts, the one that answers and the one that lists models
_SIGNED = ("content-type", "host")  # and every x-amz- header; what stands in between may change the others


class AwsKey(Secret):
    """An access key: an id that may be shown, a secret that may not, and a token where it is a passing one."""

    __slots__ = ("access_key_id", "region", "session_token")

    def __init__(self, access_key_id: str, secret: str, session_token: str = "", region: str = "") -> None:
        """Take a key as the environment or a credentials file has it."""
        super().__init__(secret)
        self.access_key_id = access_key_id.strip()
        self.session_token = Secret(session_token) if session_token.strip() else None
        self.region = region


def sign(key: AwsKey, method: str, url: str, headers: Mapping[str, str], body: bytes, *, at: float) -> dict[str, str]:
    """Give the headers that make a request a signed one: its date, its token if any, and the signature."""
    parts = urlsplit(url)
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"x-amz-date": moment}
    if key.session_token is not None:
        added["x-amz-security-token"] = key.session_token.reveal()
    said = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    said.setdefault("host", parts.netloc.rpartition("@")[2])
    signed = {
        name: value for name, value in sorted((said | added).items()) if name in _SIGNED or name.startswith("x-amz-")
    }
    names = ";".join(signed)
    request = "\n".join(
        [
            method.upper(),
            quote(parts.path or "/", safe="/~"),  # once more than the address has it already: AWS's rule, S3 aside
            _query(parts.query),
            *(f"{name}:{value}" for name, value in signed.items()),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{moment[:8]}/{signing_region(key, parts.hostname or '')}/{SERVICE}/aws4_request"
    text = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = hmac.new(_derived(key, scope), text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={key.access_key_id}/{scope}"
    return {**added, "authorization": f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"}


def signing_region(key: AwsKey, host: str) -> str:
    """Give the region a request is signed for: the one in the host's name, else the key's own."""
    labels = host.split(".")
    at = next((n for n, label in enumerate(labels) if label.startswith(SERVICE)), None)
    if at is not None and at + 1 < len(labels) and "amazonaws" in labels[at + 2 :]:
        return labels[at + 1]
    return key.region or "us-east-1"


def _query(query: str) -> str:
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, True))
    return "&".join(f"{name}={value}" for name, value in pairs)


def _derived(key: AwsKey, scope: str) -> bytes:
    """Give the key of a day, a region and a service: what a signature gives away is good for no other."""
    made = f"AWS4{key.reveal()}".encode()
    for piece in scope.split("/"):
        made = hmac.new(made, piece.encode(), hashlib.sha256).digest()
    return made
