"""Where secrets are looked for: every text of a turn, and keys in the log."""

from __future__ import annotations

import base64
from random import Random

import pytest

import weft
from weft.store import Draft
from weft.threads import scan_secrets
from weft.threads.leaks import found_in_pieces

KEY = "gsk_" + "".join(Random(5).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789", k=40))


def places(store: weft.Store) -> list[str]:
    return [leak.place for leak in scan_secrets(store)]


def test_k03_a_secret_is_found_wherever_it_stands(store: weft.Store) -> None:
    """K-03: in text, arguments, results, a document's text and a key of an object; on both databases."""
    data = base64.b64encode(f"token: {KEY}".encode()).decode()
    blocks = [
        {"type": "text", "text": f"use {KEY}"},
        {"type": "tool_use", "id": "c", "name": "call", "input": {"headers": [{"x": KEY}], KEY: 1}},
        {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": data}},
        {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    ]
    store.add_turn(blocks, json=True)

    found = set(places(store))

    assert found >= {"content[0].text", "content[1].input.headers[0].x", "content[2].source.data"}
    assert any(place.startswith("content[1].input") and place.endswith("(a key)") for place in found)
    assert "content[3].source.data" in found  # what calls itself a picture, and is text


def test_k03_a_secret_in_a_long_result_is_found_by_its_turn(sqlite_store: weft.Store) -> None:
    """K-03: what was too long for a turn is kept beside it, and is looked through too; so is what no turn names."""
    blobs = sqlite_store.overflow.open()
    ref = blobs.put_blob(f"{'x' * (3 << 20)} {KEY} and more".encode())
    lost = blobs.put_blob(f"key: {KEY}".encode())
    text = f"xxx\n\n[cut by weft; the whole is kept as blob {ref.id}]"
    block = {"type": "tool_result", "name": "log", "tool_use_id": "c1", "content": [{"type": "text", "text": text}]}
    turn = sqlite_store.add_turn([block], json=True)

    found = [(leak.id, leak.place, leak.found.value) for leak in scan_secrets(sqlite_store)]

    assert found == [(turn.id, f"blob {ref.id}", KEY), (lost.id, "a blob that no turn names", KEY)]
    assert [leak.id for leak in scan_secrets(sqlite_store, [turn])] == [turn.id]
    sqlite_store.purge(turn=turn.id)
    sqlite_store.purge(text=KEY)
    assert list(scan_secrets(sqlite_store)) == []


@pytest.mark.parametrize("cut", [4_001, 1 << 15, (1 << 16) + 1, 1 << 20])
def test_k03_no_secret_falls_between_two_pieces(cut: int) -> None:
    """K-03: however a blob is read, each secret of it is found once, and nothing else."""
    drawn = Random(cut)
    text = "".join(
        f"{'é ' * drawn.randrange(9_000)}api_key={KEY[5:]}\n" if number % 2 else f"plain sk-{'word-' * 9} {KEY}\n"
        for number in range(20)
    ).encode()

    pieces = (text[at : at + cut] for at in range(0, len(text), cut))

    assert [found.value for found in found_in_pieces(pieces)] == [KEY, KEY[5:]] * 10


def test_k03_base64_hides_nothing(store: weft.Store) -> None:
    """K-03: a text file inside a data: URL, with letters of several bytes; a picture is not read as text."""
    said = base64.b64encode(f"naïve: {KEY}\n".encode()).decode()
    noise = base64.b64encode(Random(1).randbytes(5_000)).decode()
    store.add_turn(f"see data:text/plain;base64,{said} and {noise}")

    assert [leak.found.value for leak in scan_secrets(store)] == [KEY]


def test_all_of_a_store_is_looked_through(store: weft.Store) -> None:
    turns = [store.add_turn(f"{number}: {KEY if number % 100 == 0 else 'nothing'}").id for number in range(201)]

    assert [leak.id for leak in scan_secrets(store)] == [turns[number] for number in (200, 100, 0)]
    assert [leak.id for leak in scan_secrets(store, [store.turn(turns[100])])] == [turns[100]]


def test_k03_recorded_bytes_are_looked_through(store: weft.Store) -> None:
    """K-03: an upload that a proxy recorded is no JSON, and has its key as it was sent."""
    form = f'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntoken: {KEY}\r\n--x--\r\n'.encode()
    store.frames.write(lambda writer: writer.append(Draft("weft.blob", {"media_type": "multipart/form-data"}, form)))

    assert [(leak.place, leak.found.value) for leak in scan_secrets(store)] == [("recorded bytes", KEY)]
    store.purge(text=KEY)
    assert list(scan_secrets(store)) == []
