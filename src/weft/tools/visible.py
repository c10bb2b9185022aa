"""Text that strangers wrote, made safe to show and impossible to hide anything in [M-01, M-11].

A tool's name, description and arguments come from a server or a model. What a terminal would obey or a reader could
not see (control characters, zero-width and direction marks, tag characters, private use) is shown as a mark.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["hidden_marks", "reveal", "reveal_line"]

# What draws nothing although Unicode calls it a letter or symbol: Hangul fillers, the blank Braille pattern.
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# A joiner or a selector inside an emoji is how the emoji is spelled, and hides nothing.
_SYMBOL = "\u2190-\u2bff\U0001f000-\U0001faff"
_EMOJI = re.compile(f"(?<=[{_SYMBOL}\ufe0f])(?:\ufe0f|\u200d(?=[{_SYMBOL}]))")
_ORDINARY = re.compile(r"[\t\n\x20-\x7e]*")


def reveal(text: str) -> str:
    """Show every character: controls and invisible ones as `<U+200B>`; line ends and tabs stay as they are."""
    if _ORDINARY.fullmatch(text):
        return text
    spelled = {match.start() for match in _EMOJI.finditer(text)}
    return "".join(
        char if char in "\n\t" or n in spelled or not _unseen(char) else _mark(char) for n, char in enumerate(text)
    )


def reveal_line(text: str) -> str:
    """Show every character on one line: line ends and tabs are marks as well."""
    return reveal(text).replace("\n", _mark("\n")).replace("\t", _mark("\t"))


def hidden_marks(text: str, *, space: str = "\r\n\t") -> tuple[str, ...]:
    """Name the characters a reader would not see, each once, in order; ordinary white space is none of them."""
    if _ORDINARY.fullmatch(text) and space:
        return ()
    spelled = {match.start() for match in _EMOJI.finditer(text)}
    found = (_mark(c) for n, c in enumerate(text) if c not in space and n not in spelled and _unseen(c))
    return tuple(dict.fromkeys(found))


def _unseen(char: str) -> bool:
    # Variation selectors beyond the emoji ones can spell out whole messages.
    return (
        unicodedata.category(char) in _UNSEEN
        or char in _BLANKS
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _mark(char: str) -> str:
    return f"<U+{ord(char):04X}>"
