"""`prep gr`: files of a repository as one XML element to put before a model (threads.md, section 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["BINARY", "CAVEATS", "repo_context", "text_of_file"]

BINARY = "[binary file]"
CAVEATS = "XML special characters have been escaped: & < > and quotes. Unescape them before using the content."


def text_of_file(path: Path) -> str:
    """Give a file's text; what is no text, or cannot be read, is said to be binary [T-69]."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError):  # ValueError: a NUL in the name
        return BINARY
    return BINARY if "\0" in text else text


def repo_context(
    folder: Path,
    names: Iterable[str],
    *,
    origin: str = "",
    instructions: str = "",
    content: Callable[[Path], str] = text_of_file,
) -> str:
    """Write the element: the repository's facts, and one `file` for each name, as given and in order [T-66 to T-68]."""
    facts = {"type": "git-repo", "path": str(folder), "origin": origin, "caveats": CAVEATS}
    if instructions:
        facts["instructions"] = instructions
    written = "".join(f' {name}="{_attribute(value)}"' for name, value in facts.items())
    files = [f'<file name="{_attribute(name)}">{_text(content(folder / name))}</file>' for name in names]
    return "\n".join([f"<context{written}>", *files, "</context>"])


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    return _text(text).replace('"', "&quot;")
