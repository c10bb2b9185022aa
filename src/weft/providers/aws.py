"""AWS access keys: from the environment, or from a profile of the files that AWS's own tools keep.

`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; else `~/.aws/credentials` and `~/.aws/config`, in the
profile of `AWS_PROFILE`. Roles, single sign-on and the metadata of a machine are left to AWS's tools, which can hand
their keys over: `aws configure export-credentials --format env`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from weft.errors import UsageError
from weft.providers.sigv4 import AwsKey

__all__ = ["aws_keys", "aws_region"]

ID, SECRET, TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"  # names of variables


def aws_keys(environ: Mapping[str, str]) -> Iterator[tuple[AwsKey, str]]:
    """Give every access key there is, and where it was found, the one that wins first."""
    region = aws_region(environ)
    if environ.get(ID, "").strip() and environ.get(SECRET, "").strip():
        yield AwsKey(environ[ID], environ[SECRET], environ.get(TOKEN, ""), region), f"environment {ID}"
    path, profile = _credentials(environ), _profile(environ)
    for name, found in _profiles(path).items():
        if name == profile and found.get("aws_access_key_id") and found.get("aws_secret_access_key"):
            token = found.get("aws_session_token", "")
            key = AwsKey(found["aws_access_key_id"], found["aws_secret_access_key"], token, region)
            yield key, f"profile {profile} of {path}"


def aws_region(environ: Mapping[str, str]) -> str:
    """Give the region: of the environment, else of the profile; empty if nobody says."""
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if said := environ.get(variable, "").strip():
            return said
    profile = _profile(environ)
    for path in (_config(environ), _credentials(environ)):
        profiles = _profiles(path)
        for name in (profile, f"profile {profile}"):
            if said := profiles.get(name, {}).get("region", "").strip():
                return said
    return ""


def _profile(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_PROFILE", "").strip() or environ.get("AWS_DEFAULT_PROFILE", "").strip() or "default"


def _credentials(environ: Mapping[str, str]) -> Path | None:
    return _place(environ, "AWS_SHARED_CREDENTIALS_FILE", "credentials")


def _config(environ: Mapping[str, str]) -> Path | None:
    return _place(environ, "AWS_CONFIG_FILE", "config")


def _place(environ: Mapping[str, str], variable: str, name: str) -> Path | None:
    if said := environ.get(variable, "").strip():
        return Path(said)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) / ".aws" / name if home else None


def _profiles(path: Path | None) -> dict[str, dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError):  # most people have none; what cannot be read is as good as not there
        return {}
    if not text.strip():
        return {}
    from configparser import Error, RawConfigParser  # noqa: PLC0415  # few need it

    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except Error:
        del text  # its lines are keys: neither they nor the parser's quotes of them are shown
        raise UsageError(f"{path} is not in the form of AWS's files") from None
    return {name: dict(parser.items(name)) for name in parser.sections()}
