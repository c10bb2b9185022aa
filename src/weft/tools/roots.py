"""The folders a tool server is told it may work in, and nothing beside them [M-17]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from weft.errors import UsageError
from weft.tools.visible import reveal_line

__all__ = ["Roots"]


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders by their real paths: links and `..` are followed before anything is compared."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, folders: Iterable[str | Path]) -> Roots:
        """Take folders as people write them; each must exist."""
        real = []
        for folder in folders:
            place = Path(folder).expanduser()
            if not place.is_dir():
                raise UsageError(f"root {reveal_line(str(folder))} is not a folder")
            real.append(place.resolve(strict=True))
        return cls(tuple(dict.fromkeys(real)))

    def inside(self, place: str | Path) -> Path:
        """Give the real path of a `file:` URL or a path, or refuse one that leads out of every root."""
        path = _path_of(place)
        real = path.resolve()
        if not path.is_absolute() or not any(real.is_relative_to(folder) for folder in self.folders):
            raise UsageError(f"{reveal_line(str(place))} is outside the folders given to this server")
        return real

    def uris(self) -> tuple[str, ...]:
        """Give the folders as `file:` URLs, which is how servers are told."""
        return tuple(folder.as_uri() for folder in self.folders)


def _path_of(place: str | Path) -> Path:
    if isinstance(place, Path) or "://" not in place:
        return Path(place)
    url = urlsplit(place)
    if url.scheme != "file" or url.netloc not in {"", "localhost"}:
        raise UsageError(f"{reveal_line(place)} is not a file on this machine")
    return Path(unquote(url.path))
