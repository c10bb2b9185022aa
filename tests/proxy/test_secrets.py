"""Keys pass, and are nowhere to be found afterwards: not in the output, nor the journal, the log, the errors."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import random
import signal
import socket
import string
import subprocess
import sys
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.proxying import Said, answer, ask, chunk, connected, far_side, post, recording, sse_head, until
from weft.trace import Masker, masker_for, secrets_of


def canary(seed: int, odd: str = "") -> str:
    rng = random.Random(seed)
    return "sk-" + "".join(rng.choices(string.ascii_letters + string.digits, k=30)) + odd


def spellings(secret: str) -> dict[str, bytes]:
    """Give a secret in each encoding, as an upstream may echo it."""
    raw = secret.encode()
    return {
        "raw": raw,
        "percent": quote(secret, safe="").encode(),
        "percent, all of it": "".join(f"%{byte:02X}" for byte in raw).encode(),
        "percent twice": quote(quote(secret, safe=""), safe="").encode(),
        "base64": base64.b64encode(raw),
        "base64 for URLs": base64.urlsafe_b64encode(raw),
        "base64 in another text": base64.b64encode(b"user:" + raw + b";x"),
        "base64 in another text, shifted": base64.b64encode(b"user-" + b"1:" + raw),
        "JSON": json.dumps(secret)[1:-1].encode(),
        "JSON, escaped": "".join(f"\\u{byte:04x}" for byte in raw).encode(),
        "JSON in JSON": json.dumps(json.dumps(secret)[1:-1])[1:-1].encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
    }


def everything(folder: Path) -> bytes:
    """Read every file, while a recorder makes and renames some of them."""
    found = []
    for file in [*folder.rglob("*")]:
        with suppress(FileNotFoundError, IsADirectoryError):
            found.append(file.read_bytes())
    return b"\0".join(found)


def holds(data: bytes, secret: str) -> list[str]:
    """Name the spellings in which a secret is in the data; base64 by the letters that depend on it alone."""
    cut = {
        name: text[8:-8] if name.startswith("base64 in") else text.rstrip(b"=")
        for name, text in spellings(secret).items()
    }
    return [name for name, text in cut.items() if text in data]


@pytest.mark.parametrize("odd", ["", '/+="\\'])
def test_a_secret_is_masked_in_every_spelling(odd: str) -> None:
    secret = canary(1, odd)
    masker = Masker([secret.encode()])

    for name, text in spellings(secret).items():
        masked = masker.mask(b'{"a":"' + text + b'"}')
        assert b"****" in masked, name
        assert holds(masked, secret) == [], name
    plain = b'{"a":"' + canary(2).encode() + b' %41 \\u0041"}'
    assert masker.mask(plain) == plain


@pytest.mark.parametrize("odd", ["", "/+="])
def test_a_secret_cut_in_two_is_held_back(odd: str) -> None:
    """Journals are written as bytes come; wherever they are cut, nothing of a secret gets there."""
    from weft.trace.strand import Strand

    secret = canary(3, odd)
    for name, text in spellings(secret).items():
        if name.startswith("base64 in"):
            continue  # its edges belong to the text beside it
        whole = b"before " + text + b"\nafter"
        for at in range(len(whole)):
            strand = Strand(masker_for((secret.encode(),)), "", 1 << 20)
            pieces = [strand.feed(whole[:at]), strand.feed(whole[at:], is_last=True)]
            assert b"".join(pieces) == b"before ****\nafter", (name, at)


HEADERS = {
    "Authorization": "Bearer {}",
    "x-api-key": "{}",
    "api-key": "{}",
    "x-goog-api-key": "{}",
    "Cookie": "theme=dark; session={}",
    "Proxy-Authorization": "Basic {}",
    "X-Amz-Security-Token": "{}",
    "Sec-WebSocket-Protocol": "realtime, openai-insecure-api-key.{}",
}


def test_canaries_are_nowhere_in_what_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """K-01, K-02, K-11, C-3: in headers, cookies, the query, proxy credentials; echoed in every encoding.

    In whole answers, streams and errors; with debug logging on; byte search of everything written, while it is under
    way and afterwards.
    """
    caplog.set_level(logging.DEBUG)
    secrets = {name: canary(number) for number, name in enumerate(HEADERS)} | {
        "query": canary(99),
        "password": canary(98),
    }
    given = {name: secrets[name] for name in HEADERS}
    del secrets["Proxy-Authorization"]  # a password is in there
    given["Proxy-Authorization"] = base64.b64encode(f"user:{secrets['password']}".encode()).decode()
    lines = [f"{name}: {form.format(given[name])}" for name, form in HEADERS.items()]
    echoes = [text for secret in secrets.values() for text in spellings(secret).values()]
    body = json.dumps({"echo": [text.decode() for text in echoes]}).encode() + b""
    raw = b'{"e":"' + b'","e":"'.join(text.replace(b"\\", b"").replace(b'"', b"") for text in echoes) + b'"}'
    seen: list[bytes] = []
    logged: list[str] = []

    async def reply(said: Said, reader: Reader, writer: Writer) -> None:
        if b"stream" not in said.payload:
            writer.write(answer(raw, "401 Unauthorized"))
            return
        writer.write(sse_head())
        for echo in echoes:
            line = b"data: " + echo + b"\n\n"
            writer.write(chunk(line[: len(line) // 2]))
            await writer.drain()
            await asyncio.sleep(0.003)
            writer.write(chunk(line[len(line) // 2 :]))
        writer.write(chunk(b": that was all\n\n"))
        await writer.drain()
        await reader.read(1)

    async def run() -> None:
        keeper = {"tick_seconds": 0.01}
        async with far_side(reply) as far, recording(far.url, tmp_path, recorder=keeper, log=logged.append) as rig:
            path = f"/v1/x?alt=sse&key={secrets['query']}&api_key={secrets['query']}"
            got = await ask(rig.url, post(path, body, *lines))
            assert got.payload == raw  # the traffic is not touched
            assert f"key={secrets['query']}".encode() in far.asked[0].target
            assert far.asked[0].get("authorization") == f"Bearer {secrets['Authorization']}"
            async with connected(rig.url) as (reader, writer):
                writer.write(post(path, b'{"stream":true}', *lines))
                await reader.readuntil(b"\r\n\r\n")
                got_bytes = b""
                while b": that was all" not in got_bytes:
                    got_bytes += await reader.read(65536)
                    seen.append(everything(tmp_path))
                await asyncio.sleep(0.1)
                seen.append(everything(tmp_path))
            await until(lambda: len(rig.path.read_bytes().splitlines()) == 2)
            first, second = await rig.records()
            assert first["path"] == second["path"] == "/v1/x?alt=sse&key=****&api_key=****"
            assert second["response"]["sse_lines"].count("data: ****") > len(secrets) * 9
            assert first["status"] == 401

    asyncio.run(run())
    seen += [everything(tmp_path), "\n".join(logged).encode(), caplog.text.encode()]
    assert any(b".part" in data or b"sse" in data for data in seen)
    for secret in secrets.values():
        assert [holds(data, secret) for data in seen if holds(data, secret)] == []


def test_a_secret_in_a_compressed_echo_is_masked(tmp_path: Path) -> None:
    """K-01: the journal and the record hold decoded, masked text."""
    import gzip

    secret = canary(5)
    raw = gzip.compress(json.dumps({"error": f"bad key {secret}"}).encode())

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(raw, "401 No", b"Content-Encoding: gzip"))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            assert (await ask(rig.url, post("/v1/x", b"{}", f"x-api-key: {secret}"))).payload == raw
            assert (await rig.records())[0]["response"] == {"error": "bad key ****"}

    asyncio.run(run())


def test_what_looks_like_a_key_in_a_prompt_is_kept_unless_asked(tmp_path: Path) -> None:
    """K-03: content by default; `--redact` takes it out before anything is written."""
    key = "sk-ant-api03-" + canary(7).removeprefix("sk-") + "1a2B"
    prompt = json.dumps({"messages": [{"role": "user", "content": f"my key is {key}, is it safe?"}]}).encode()

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(json.dumps({"text": f"no: {key}"}).encode()))

    async def run() -> None:
        async with far_side(reply) as far:
            for redacts in (False, True):
                folder = tmp_path / str(redacts)
                async with recording(far.url, folder, recorder={"redacts": redacts}) as rig:
                    await ask(rig.url, post("/v1/x", prompt))
                    (record,) = await rig.records()
                    assert (key.encode() in everything(folder)) is not redacts
                    assert record["request"]["messages"][0]["content"].startswith("my key is ")

    asyncio.run(run())


def test_nothing_is_connected_to_but_the_target(tmp_path: Path) -> None:
    """K-10: no telemetry, no update check: the program run under strace, every connect looked at."""
    strace = "/usr/bin/strace"
    if not Path(strace).exists():
        pytest.fail("strace is needed to watch the network")

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer())

    async def run() -> None:
        log = tmp_path / "strace.txt"
        async with far_side(reply) as far:
            command = [
                strace,
                "-f",
                "-e",
                "trace=connect,sendto,sendmmsg",
                "-o",
                str(log),
                sys.executable,
                "-m",
                "weft.cli",
            ]
            command += ["proxy", "--target", far.url, "--port", "0", "-o", str(tmp_path / "t.jsonl")]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
            assert process.stdout is not None
            url = (await asyncio.to_thread(process.stdout.readline)).decode().strip()
            await ask(url, post("/v1/x", b"{}"))
            traced = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()  # noqa: ASYNC240
            os.kill(int(traced[0]), signal.SIGTERM)
            await asyncio.to_thread(process.wait, 20)
            process.stdout.close()
            reached = {
                line.partition("sin_port=htons(")[2].split(")")[0]
                for line in log.read_text().splitlines()
                if "connect(" in line and "AF_INET" in line
            }
            assert reached == {str(far.port)}

    asyncio.run(run())


def test_which_values_count_as_secrets() -> None:
    headers = [
        (b"authorization", b"Bearer abcdefgh12"),
        (b"cookie", b'a=short; b="quoted-cookie-value"'),
        (b"content-type", b"application/json; charset=utf-8"),
        (b"sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ=="),
        (b"x-my-secret-thing", b"hush-hush-hush"),
        (b"authorization", b"Basic !!!not-base64!!!"),
    ]
    found = secrets_of(
        headers, b"/p?model=abcdefghijkl&key=query%2Bsecret&access_token=another-one-1&monkey=banana-banana"
    )

    assert found == (
        b"abcdefgh12",
        b"quoted-cookie-value",
        b"hush-hush-hush",
        b"!!!not-base64!!!",
        b"query%2Bsecret",
        b"query+secret",
        b"another-one-1",
    )


def test_a_transport_error_does_not_show_the_key(tmp_path: Path) -> None:
    """K-02: neither in the answer nor in the record."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    secret = canary(11)

    async def run() -> None:
        async with recording(f"http://127.0.0.1:{port}", tmp_path) as rig:
            got = await ask(rig.url, post(f"/v1/x?key={secret}", b"{}", f"authorization: Bearer {secret}"))
            assert secret.encode() not in got.head + got.body
            await rig.records()
            assert holds(everything(tmp_path), secret) == []

    asyncio.run(run())


def test_exchanges_of_one_key_can_be_told_by_a_keyed_fingerprint(tmp_path: Path) -> None:
    """K-04: equal for equal keys, another with another salt, and no plain hash."""
    import hashlib

    from weft.secrets import fingerprint

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer())

    async def run() -> list[str | None]:
        async with (
            far_side(reply) as far,
            recording(far.url, tmp_path, name_key=lambda secret: fingerprint(secret.decode(), b"salt")) as rig,
        ):
            for secret in (canary(1), canary(2), canary(1)):
                await ask(rig.url, post("/v1/x", b"{}", f"x-api-key: {secret}"))
            await ask(rig.url, post("/v1/x", b"{}"))
            return [record.get("key_id") for record in await rig.records()]

    first, second, again, none = asyncio.run(run())
    assert first is not None
    assert first == again == fingerprint(canary(1), b"salt") != fingerprint(canary(1), b"pepper")
    assert first != second
    assert none is None
    assert hashlib.sha256(canary(1).encode()).hexdigest()[: len(first)] != first
