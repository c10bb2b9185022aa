"""Lists of numbers as few bytes: which chunks a body is made of, said as a change to a list that is there already."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["apply", "change", "pack_numbers", "unpack_numbers"]


def change(base: Sequence[int], refs: Sequence[int]) -> bytes:
    """Write `refs` as what differs from `base`: how many are alike in front and behind, and what is between."""
    limit = min(len(base), len(refs))
    front = 0
    while front < limit and base[front] == refs[front]:
        front += 1
    behind = 0
    while behind < limit - front and base[-1 - behind] == refs[-1 - behind]:
        behind += 1
    return pack_numbers([front, behind, *steps(refs[front : len(refs) - behind])])


def apply(base: Sequence[int], changed: bytes) -> list[int]:
    """Read what `change` wrote; ValueError if it does not fit its base."""
    numbers = unpack_numbers(changed)
    if len(numbers) < 2:
        raise ValueError("a list of chunks is cut short")
    front, behind, *between = numbers
    if front + behind > len(base):
        raise ValueError("a list of chunks does not fit the one it is based on")
    return [*base[:front], *_summed(between), *(base[len(base) - behind :] if behind else ())]


def steps(refs: Sequence[int]) -> list[int]:
    """Write numbers as steps from one to the next; new chunks are numbered in order, so most steps are one."""
    found, last = [], 0
    for ref in refs:
        step = ref - last
        found.append(step << 1 if step >= 0 else (-step << 1) - 1)
        last = ref
    return found


def _summed(steps_: Sequence[int]) -> list[int]:
    refs, last = [], 0
    for step in steps_:
        last += -((step + 1) >> 1) if step & 1 else step >> 1
        refs.append(last)
    return refs


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Write numbers from 0 on, seven bits a byte."""
    out = bytearray()
    for number in numbers:
        rest = number
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return bytes(out)


def unpack_numbers(data: bytes) -> list[int]:
    """Read what `pack_numbers` wrote; ValueError if it is cut short."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        if byte & 128:
            shift += 7
        else:
            numbers.append(value)
            value, shift = 0, 0
    if shift:
        raise ValueError("a list of chunks is cut short")
    return numbers
