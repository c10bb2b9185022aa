"""The way out: proxies and certificates, as the environment handed in says.

The HTTP library could read the environment itself; it is not let to, so that nothing below `cli` asks the world and
a test can say what the world is. The rules are curl's, with Go's exception: this machine is never asked through a
proxy.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from weft.errors import UsageError

__all__ = ["Network"]

_TO_SELF = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Network:
    """Which proxy stands before which address, and whose certificates are trusted."""

    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold passwords
    direct: tuple[str, ...] = ()
    cert_file: str = ""
    cert_folder: str = ""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Network:
        """Read HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR, in either case."""

        def say(name: str) -> str:
            return (environ.get(name.lower()) or environ.get(name.upper()) or "").strip()

        proxies = {scheme: found for scheme in ("http", "https", "all") if (found := say(f"{scheme}_proxy"))}
        direct = tuple(entry.strip().lower() for entry in say("no_proxy").split(",") if entry.strip())
        return cls(proxies, direct, environ.get("SSL_CERT_FILE", ""), environ.get("SSL_CERT_DIR", ""))

    def proxy_for(self, url: str) -> str | None:
        """Give the proxy of an address, or None for the straight way."""
        parts = urlsplit(url)
        proxy = self.proxies.get(parts.scheme) or self.proxies.get("all")
        if not proxy or any(_matches(entry, parts.hostname or "", parts.port) for entry in (*_TO_SELF, *self.direct)):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def trust(self) -> ssl.SSLContext | bool:
        """Give what decides whose certificates are believed; True for the system's own."""
        if not self.cert_file and not self.cert_folder:
            return True
        try:
            return ssl.create_default_context(cafile=self.cert_file or None, capath=self.cert_folder or None)
        except (OSError, ssl.SSLError) as problem:
            place = self.cert_file or self.cert_folder
            raise UsageError(f"no certificates can be read from {place}: {problem}\n  see SSL_CERT_FILE") from problem


def _matches(entry: str, host: str, port: int | None) -> bool:
    if entry == "*":
        return True
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit() and name and (":" not in name or name.endswith("]")):
        if port is not None and str(port) != wanted:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*")
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # names
        return host == entry.lstrip(".") or host.endswith(f".{entry.lstrip('.')}")
