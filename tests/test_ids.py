from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import threading
import time
from base64 import b64decode
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scru128 import Scru128Id

from weft.ids import content_address, hex_of_address, id_time, is_turn_id, new_id, normal_id

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def written(number: int) -> str:
    """An id in 25 digits of base 36, as the specification has it."""
    text = ""
    for _ in range(25):
        number, digit = divmod(number, 36)
        text = DIGITS[digit] + text
    return text


def test_an_id_is_25_lower_case_digits_of_base_36() -> None:
    """T-5: exactly 25 digits, left-padded; T-6: written in lower case."""
    made = new_id()

    assert re.fullmatch(r"[0-9a-z]{25}", made)
    assert int(made, 36) < 1 << 128


def test_an_id_begins_with_its_milliseconds() -> None:
    """T-5: 48 bits of Unix milliseconds in front of two counters and a random number."""
    before = time.time_ns() // 1_000_000
    milliseconds = int(new_id(), 36) >> 80
    after = time.time_ns() // 1_000_000

    assert before <= milliseconds <= after


@given(st.integers(0, (1 << 128) - 1))
def test_the_layout_is_that_of_scru128(number: int) -> None:
    """T-5, T-6: either case names the same number; read by the reference implementation."""
    text = written(number)

    assert int(Scru128Id.from_str(text)) == int(Scru128Id.from_str(text.upper())) == number
    assert normal_id(text.upper()) == text
    assert is_turn_id(text)
    assert is_turn_id(text.upper())


def test_ids_of_one_process_only_grow() -> None:
    """T-7: as text as well as in number, many within one millisecond."""
    made = [new_id() for _ in range(20_000)]

    assert made == sorted(set(made))


def test_ids_made_by_several_threads_only_grow_in_each_and_never_meet() -> None:
    """T-7."""
    made: list[list[str]] = [[] for _ in range(4)]
    start = threading.Barrier(4)

    def make(into: list[str]) -> None:
        start.wait()
        into.extend(new_id() for _ in range(2_000))

    threads = [threading.Thread(target=make, args=(each,)) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(each == sorted(each) for each in made)
    assert len({one for each in made for one in each}) == 8_000


def test_an_id_is_made_above_the_newest_of_a_store() -> None:
    """T-8: written by a process whose clock was ahead; in a process of its own, whose later ids stay ahead too."""
    newest = written((int(time.time() * 1000) + 2 * 86_400_000 << 80) | (1 << 80) - 1)
    program = (
        "import sys; from weft.ids import new_id\n"
        "print(new_id(above=sys.argv[1].upper()), new_id(), new_id(above=sys.argv[1]), new_id(above='0' * 25))"
    )

    result = subprocess.run([sys.executable, "-c", program, newest], capture_output=True, text=True, check=True)

    made = [newest, *result.stdout.split()]
    assert len(made) == 5
    assert made == sorted(set(made))


def test_above_an_old_id_is_simply_now() -> None:
    """T-8."""
    before = new_id()

    assert new_id(above="0" * 25) > before


def test_above_the_last_id_there_is_none() -> None:
    last = written((1 << 128) - 1)

    with pytest.raises(OverflowError, match="no turn id is left"):
        new_id(above=last)


def test_a_failed_id_does_not_stop_the_next() -> None:
    with pytest.raises(ValueError, match=r"\S"):
        new_id(above="not an id")

    assert is_turn_id(new_id())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0" * 25, True),
        ("Z" * 25, True),
        ("aZ09" * 6 + "x", True),
        ("0" * 24, False),
        ("0" * 26, False),
        ("0" * 24 + "-", False),
        ("0" * 24 + "é", False),
        ("0" * 24 + "\u0660", False),
        ("0" * 25 + "\n", False),
        (" " + "0" * 24, False),
        ("", False),
        ("notes", False),
    ],
)
def test_25_letters_and_digits_are_an_id_and_nothing_else_is(text: str, expected: bool) -> None:
    """T-9: never looked up as a bookmark."""
    assert is_turn_id(text) is expected


def test_the_time_in_an_id_can_be_read() -> None:
    """T-5: to the millisecond."""
    moment = datetime(2026, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC)
    made = written((round(moment.timestamp() * 1000) << 80) | 12345)

    assert id_time(made) == id_time(made.upper()) == moment


def test_a_content_address_is_a_subresource_integrity_string() -> None:
    """T-2: `sha256-` and standard base64 of the digest; this one is that of no bytes."""
    assert content_address(b"") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


@given(st.binary())
def test_an_address_holds_the_same_digest_as_a_blob_reference(data: bytes) -> None:
    """T-2: equal bytes, equal addresses."""
    address = content_address(data)

    assert hex_of_address(address) == hashlib.sha256(data).hexdigest()
    assert b64decode(address.removeprefix("sha256-"), validate=True) == hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "sha256-",
        "e3b0c442",
        "sha512-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sha256-47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
    ],
)
def test_what_is_no_address_is_refused(wrong: str) -> None:
    """T-2."""
    with pytest.raises(ValueError, match="not a content address"):
        hex_of_address(wrong)
