"""`weft scan-secrets`, and `--redact` before anything is kept."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from tests.support.asking import CLAUDE
from tests.support.cli import Weft
from weft.sim import Simulator
from weft.threads import open_store

DRAWN = "".join(Random(3).choices("abcdefghijkmnpqrstuvwxyz23456789", k=40))
KEY = f"sk-ant-api03-{DRAWN}"


def kept_bytes(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_k03_a_key_in_a_prompt_is_kept_and_found(weft: Weft, tmp_path: Path) -> None:
    """K-03: it is content, so it is kept; the finder shows its turn, its place and its kind, and not itself."""
    note = tmp_path / "notes.txt"
    note.write_text(f"the key: {KEY}\n")
    harmless = weft("add", "When is high water?").id
    turn = weft("add", f"use {KEY}", "-b", "tides").id
    file = weft("doc", str(note)).id

    ran = weft("scan-secrets", "--json", ok=False)

    assert ran.status == 1
    assert {row["id"]: row["place"] for row in ran.json} == {
        turn: "content[0].text",
        file: "content[0].source.data",
    }
    assert {row["kind"] for row in ran.json} == {"anthropic"}
    assert {row["masked"] for row in ran.json} == {f"sk-ant-api03-…({len(KEY)} characters)"}
    assert len({row["fingerprint"] for row in ran.json}) == 1
    shown = weft("scan-secrets", ok=False)
    assert DRAWN not in ran.out + shown.out + shown.err
    assert (turn in shown.out, harmless in shown.out, "2 secrets found" in shown.err) == (True, False, True)
    assert [row["id"] for row in weft("scan-secrets", "tides", "--json", ok=False).json] == [turn]
    assert weft("scan-secrets", harmless).err == "no secrets found\n"


def test_k03_a_purged_key_is_found_no_more(weft: Weft) -> None:
    turn = weft("add", f"use {KEY}").id

    weft("purge", turn, "--yes")

    assert weft("scan-secrets", "--json").json == []


def test_k03_a_key_kept_by_another_program_is_found(weft: Weft, tmp_path: Path) -> None:
    """Imported frames of a provider have its key outright, whatever it looks like."""
    meta = {"name": "openai", "key": "no shape"}
    with open_store(tmp_path / "home") as store:
        store.import_frames([({"id": "03" + "0" * 23, "topic": "gpt.provider", "meta": meta}, None)])

    [row] = weft("scan-secrets", "--json", ok=False).json

    assert (row["kind"], row["place"], row["masked"]) == ("provider-key", "meta.key", "…(8 characters)")


def test_k03_redaction_comes_before_the_write(weft: Weft, sim: Simulator, tmp_path: Path) -> None:
    """K-03: neither on disk nor on the wire; in the prompt, the instructions and a text that goes with it."""
    file = tmp_path / "settings.ini"
    file.write_text(f"key = {KEY}\n")
    line = ["-m", CLAUDE, "--redact", "-s", f"Use {KEY}.", "-a", str(file), f"What is {KEY}?"]

    ran = weft(*line)

    assert ran.out == "You said: What is [redacted:anthropic]?\n"
    assert ran.err.count("1 secret taken out: anthropic") == 3
    assert DRAWN.encode() not in kept_bytes(tmp_path / "home")
    assert DRAWN not in json.dumps(sim.seen[-1].body)
    assert weft("add", "--redact", f"or {KEY}").err == "1 secret taken out: anthropic\n"
    assert DRAWN.encode() not in kept_bytes(tmp_path / "home")
