"""How a key goes out with a request: in a header, or as a signature."""

from __future__ import annotations

from collections.abc import Callable, Generator

import httpx2

from weft.providers import AwsKey, Secret, sign

__all__ = ["KeyHeader", "Signature"]


class KeyHeader(httpx2.Auth):
    """Puts the key into its header at the last moment, so that no frame of ours ever holds it."""

    def __init__(self, header: tuple[str, str], key: Secret) -> None:
        """Take the header's name and what stands before the key in it."""
        self._name, self._before = header
        self._key = key

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send the request with the key in it."""
        request.headers[self._name] = f"{self._before}{self._key.reveal()}"
        yield request


class Signature(httpx2.Auth):
    """Signs a request with an AWS access key: each attempt anew, as a signature is good for minutes."""

    requires_request_body = True

    def __init__(self, key: AwsKey, now: Callable[[], float]) -> None:
        """Take the key and a clock: a signature says when it was made."""
        self._key, self._now = key, now

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send the request signed."""
        signed = sign(
            self._key, request.method, str(request.url), dict(request.headers), request.content, at=self._now()
        )
        request.headers.update(signed)
        yield request
