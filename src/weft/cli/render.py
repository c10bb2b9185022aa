"""What printing has in common: text from models, tools and files is made safe to show in a terminal."""

from __future__ import annotations

__all__ = ["visible"]

# C0 but tab and newline, DEL, and the 8-bit C1 range: any of them may begin a sequence that a terminal obeys.
_MARKS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_MARKS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def visible(text: str) -> str:
    """Replace every control character but tab and newline with a visible mark."""
    return text.translate(_MARKS)
