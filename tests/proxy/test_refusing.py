"""Requests that two readers could understand in two ways go nowhere, and neither do those for forbidden addresses."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.proxying import Said, answer, connected, far_side, post, read_message, recording
from weft.errors import UsageError
from weft.proxy import Options, route_to
from weft.proxy.upstream import Pool, is_forbidden

HEAD = b"POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

SMUGGLED = {
    "both lengths": HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "the same length twice": HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    "a signed length": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "a length in hex": HEAD + b"Content-Length: 0x2\r\n\r\n{}",
    "a folded line": HEAD + b"X-A: 1\r\n folded\r\nContent-Length: 2\r\n\r\n{}",
    "a folded line with a tab": HEAD + b"X-A: 1\r\n\tfolded\r\nContent-Length: 2\r\n\r\n{}",
    "a bare line feed": HEAD + b"X-A: 1\nContent-Length: 2\r\n\r\n{}",
    "line feeds only": HEAD.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}",
    "a bare carriage return": HEAD + b"X-A: 1\rX-B: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a blank before the colon": HEAD + b"Content-Length : 2\r\n\r\n{}",
    "a header without a name": HEAD + b": 2\r\n\r\n",
    "a line without a colon": HEAD + b"nonsense\r\n\r\n",
    "a NUL": HEAD + b"X-A: a\x00b\r\n\r\n",
    "another coding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    "chunked not last": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n",
    "chunked twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked in disguise": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk size in disguise": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "a chunk longer than it says": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "a chunk line with a bare line feed": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
    "a trailer with a bare line feed": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: 1\n\r\n",
    "two blanks in the request line": b"POST  /v1/x HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": b"POST /v1/x\r\nHost: x\r\n\r\n",
    "another version": b"POST /v1/x HTTP/2.0\r\nHost: x\r\n\r\n",
    "HTTP/2 without asking": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a method that is none": b"PO(ST /v1/x HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a head without end": b"POST /v1/x HTTP/1.1\r\nX: " + b"a" * 140_000,
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_ambiguous_requests_are_refused_and_go_nowhere(tmp_path: Path, case: str) -> None:
    """X-20: 4xx (or 5xx for what is not supported), the connection closed, nothing sent on."""

    async def reply(_said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer())

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(SMUGGLED[case] + b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
            got = await asyncio.wait_for(read_message(reader, is_reply=True), 5)
            assert got.status == {"another version": 505, "HTTP/2 without asking": 505, "a head without end": 431}.get(
                case, 400
            )
            assert json.loads(got.payload)["error"]["type"] == "proxy_error"
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            assert far.asked == []
            assert far.connections == 0

    asyncio.run(run())


def test_a_bad_chunk_in_the_middle_breaks_the_request_off(tmp_path: Path) -> None:
    """X-20: what was sent before is not completed."""

    async def run() -> None:
        async with far_side(lambda *_: asyncio.sleep(0)) as far, recording(far.url, tmp_path) as rig:
            async with connected(rig.url) as (reader, writer):
                writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
                await asyncio.sleep(0.1)
                writer.write(b"zz\r\n")
                assert (await read_message(reader, is_reply=True)).status == 400
            assert far.asked == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "forbidden"),
    [
        ("169.254.169.254", True),
        ("fe80::1", True),
        ("fe80::1%eth0", True),
        ("::ffff:169.254.169.254", True),
        ("fd00:ec2::254", True),
        ("100.100.100.200", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("93.184.216.34", False),
    ],
)
def test_link_local_and_metadata_addresses_are_for_the_owner_to_allow(address: str, forbidden: bool) -> None:
    """X-24: whatever names them."""
    assert is_forbidden(address) is forbidden


def test_a_target_that_is_a_metadata_address_is_refused(tmp_path: Path) -> None:
    """X-24: 502 with the reason, before anything is sent; the owner's word opens the way."""

    async def run() -> None:
        async with recording("http://169.254.169.254/latest", tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/meta-data", b"{}"))
            got = await read_message(reader, is_reply=True)
            assert got.status == 502
            assert "only whoever starts the proxy may allow that" in json.loads(got.payload)["error"]["message"]
        pool = Pool(Options(allow_link_local=True), asyncio.get_running_loop())
        assert await pool._resolve("169.254.169.254", 80) == [(0, "169.254.169.254")]

    asyncio.run(run())


@pytest.mark.parametrize(
    "target",
    [
        "api.openai.com",
        "ftp://x",
        "http://",
        "http://u:secret@h/",
        "http://h/?key=1",
        "http://h:99999",
        "http://h/a b",
        "http://\udcff/",
    ],
)
def test_a_target_that_is_no_address_is_refused_at_once(target: str) -> None:
    with pytest.raises(UsageError) as refused:
        route_to(target)
    assert "secret" not in str(refused.value)
