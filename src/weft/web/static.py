"""The built page: a fixed list of files, read when the server starts. No request names a path on disk [W-06]."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

__all__ = ["Built", "BuiltFile", "load_built"]

FOLDER = Path(__file__).with_name("static")
_TYPES = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ico": "image/x-icon",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".map": "application/json",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".webmanifest": "application/manifest+json",
        ".woff2": "font/woff2",
    }
)


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """One file: its bytes, what they are, and a name for exactly these bytes."""

    data: bytes
    media_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Built:
    """The page's files by the path they are asked for, and the two that go into exported files."""

    index: BuiltFile | None
    assets: MappingProxyType[str, BuiltFile]
    export_script: str | None
    export_style: str | None


def load_built(folder: Path = FOLDER) -> Built:
    """Read what `npm run build` wrote; a checkout that was not built has no page."""
    assets = {
        f"/{path.relative_to(folder).as_posix()}": _read(path)
        for path in sorted(folder.glob("assets/**/*"))
        if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
    }
    for path in sorted(folder.glob("*")):  # favicon.svg and the like
        if path.suffix in _TYPES and path.suffix != ".html" and path.is_file() and not path.is_symlink():
            assets[f"/{path.name}"] = _read(path)
    index = folder / "index.html"
    return Built(
        _read(index) if index.is_file() else None,
        MappingProxyType(assets),
        _text(folder / "export" / "viewer.js"),
        _text(folder / "export" / "viewer.css"),
    )


def _read(path: Path) -> BuiltFile:
    data = path.read_bytes()
    return BuiltFile(data, _TYPES[path.suffix], f'"{hashlib.sha256(data).hexdigest()[:32]}"')


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
