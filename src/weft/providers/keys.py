"""Which key a call uses: what the caller named > the environment > the keyring > a file only its owner can read.

Whoever asks learns where a key was found as well; the key itself stays inside its `Secret`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from weft.errors import StoreError, UsageError
from weft.providers.endpoint import needs_key
from weft.providers.keyfile import KeyFile
from weft.providers.secret import Secret
from weft.providers.table import Provider

__all__ = ["FoundKey", "KeyPlaces", "find_key", "found_keys", "resolve_key"]

SERVICE = "weft"  # the name under which a keyring keeps weft's keys


class FoundKey(NamedTuple):
    """A key and where it was found: "environment ANTHROPIC_API_KEY", "keyring", "file"."""

    secret: Secret | None
    source: str


class KeyPlaces:
    """Where keys may be: variables, the keyring, the file. Shows none of them."""

    __slots__ = ("_environ", "file", "use_keyring")

    def __init__(self, environ: Mapping[str, str], file: KeyFile | None = None, *, use_keyring: bool = True) -> None:
        """Take the environment and the file; `use_keyring` is whether to ask the system's keyring, if there is one."""
        self._environ = environ
        self.file = file
        self.use_keyring = use_keyring

    def __repr__(self) -> str:
        return f"<KeyPlaces file={str(self.file.path) if self.file else None!r}>"

    def variable(self, name: str, *, is_token: bool = False) -> Secret | None:
        """Give the key in a variable, if it holds one."""
        return Secret(self._environ[name], is_token=is_token) if self._environ.get(name, "").strip() else None

    def of_aws(self) -> Iterator[FoundKey]:
        """Give the access keys there are for requests that are signed."""
        from weft.providers.aws import aws_keys  # noqa: PLC0415  # few have them

        for key, source in aws_keys(self._environ):
            yield FoundKey(key, source)

    def in_file(self, name: str) -> Secret | None:
        """Give the key in the file; one that others can read is refused [K-06]."""
        return self.file.read().get(name) if self.file else None

    def in_keyring(self, name: str) -> Secret | None:
        """Give the key in the system's keyring; no keyring, no key."""
        if not self.use_keyring or find_spec("keyring") is None:
            return None
        import keyring  # noqa: PLC0415  # an extra, and slow to load
        from keyring.errors import KeyringError  # noqa: PLC0415

        try:
            text = keyring.get_password(SERVICE, name)
        except KeyringError:  # locked, or none on this machine: the file is asked next
            return None
        return Secret(text) if text and text.strip() else None

    def put_in_keyring(self, name: str, secret: Secret | None) -> bool:
        """Keep a key in the system's keyring, or with None forget it; tell whether anything changed."""
        if find_spec("keyring") is None:
            raise UsageError("the keyring needs an extra\n  install it: pip install 'weft[keyring]'")
        import keyring  # noqa: PLC0415
        from keyring.errors import KeyringError  # noqa: PLC0415

        if self.in_keyring(name) == secret:
            return False
        try:
            if secret is None:
                keyring.delete_password(SERVICE, name)
            else:
                keyring.set_password(SERVICE, name, secret.reveal())
        except KeyringError as problem:
            raise StoreError(f"the keyring does not take the key: {problem}") from None
        return True


def found_keys(
    row: Provider, places: KeyPlaces, *, key_env: str | None = None, frame: Mapping[str, Any] | None = None
) -> Iterator[FoundKey]:
    """Give every key there is for a provider, the one that wins first.

    `key_env` is a variable the caller named for this once; `frame` the provider's newest `gpt.provider` entry, which
    may name a variable or, written by gpt2099, hold the key itself [T-54].
    """
    frame = frame or {}
    account = row.account or row.name
    named = [key_env, frame.get("key_env")]
    for variable in dict.fromkeys(name for name in (*named, *row.keys) if isinstance(name, str) and name):
        if secret := places.variable(variable, is_token=variable in row.tokens):
            yield FoundKey(secret, f"environment {variable}")
        elif variable == key_env:
            raise UsageError(f"the variable {variable} holds no key")
    if isinstance(key := frame.get("key"), str) and key.strip():
        yield FoundKey(Secret(key), "store")
    if secret := places.in_keyring(account):
        yield FoundKey(secret, "keyring")
    if secret := places.in_file(account):
        yield FoundKey(secret, "file")
    if row.dialect == "bedrock":
        yield from places.of_aws()


def find_key(
    row: Provider, places: KeyPlaces, *, key_env: str | None = None, frame: Mapping[str, Any] | None = None
) -> FoundKey | None:
    """Give the key that wins, or None."""
    return next(found_keys(row, places, key_env=key_env, frame=frame), None)


def resolve_key(
    row: Provider, places: KeyPlaces, *, key_env: str | None = None, frame: Mapping[str, Any] | None = None
) -> FoundKey:
    """Give the key that wins; without one, say where it was looked for, unless the provider needs none."""
    if found := find_key(row, places, key_env=key_env, frame=frame):
        return found
    if not needs_key(row):
        return FoundKey(None, "none needed")
    looked = [*row.keys, "keyring", *([str(places.file.path)] if places.file else [])]
    lines = [f"no key for {row.name}", f"looked in: {', '.join(looked)}", f"give one: weft keys set {row.name}"]
    if row.dialect == "bedrock":
        lines[1] += ", AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials"
        lines.append("from a role or single sign-on: eval $(aws configure export-credentials --format env)")
    raise UsageError("\n  ".join(lines))
