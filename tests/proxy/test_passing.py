"""What passes through is what was said, both ways; what is recorded is what passed."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import zlib
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path
from typing import Any

import pytest

from tests.support.proxying import (
    Said,
    answer,
    ask,
    chunk,
    connected,
    far_side,
    post,
    read_message,
    recording,
    sse_head,
    within,
)

CHAT = "/v1/chat/completions"


async def _say_ok(_said: Said, _reader: Reader, writer: Writer) -> None:
    writer.write(answer(b'{"ok": true}'))


def test_health_is_answered_here_and_everything_else_goes_on(tmp_path: Path) -> None:
    """C-6: target (without its last slash) + path + query; GET, POST, PUT, DELETE, PATCH."""

    async def run() -> None:
        async with far_side(_say_ok) as far, recording(far.url + "/base/", tmp_path) as rig:
            health = await ask(rig.url, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (health.status, json.loads(health.payload)) == (200, {"status": "ok"})
            assert far.asked == []
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                await ask(rig.url, f"{method} /a/b?q=1&r=%20x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert [said.first for said in far.asked] == [
                f"{method} /base/a/b?q=1&r=%20x HTTP/1.1".encode()
                for method in ("GET", "POST", "PUT", "DELETE", "PATCH")
            ]

    asyncio.run(run())


def test_headers_pass_but_those_of_the_connection(tmp_path: Path) -> None:
    """C-7, X-21: hop-by-hop headers and those named in Connection stay here; Host is the far side's.

    Accept-Encoding and Content-Length go on: bodies pass in the coding and the length they have (X-15 over C-7).
    """
    request = (
        b"POST /v1/x HTTP/1.1\r\nHost: proxy.local\r\nX-Custom:  Mixed Case \r\nConnection: keep-alive, X-Hop\r\n"
        b"X-Hop: 1\r\n"
        b"Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nProxy-Authorization: Basic dTpw\r\n"
        b"Upgrade: h2c\r\nAccept-Encoding: gzip, br\r\naccept: */*\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(
            answer(
                b"{}", "200 Fine", b"X-Request-Id: r1", b"Connection: X-Mine", b"X-Mine: 1", b"Keep-Alive: timeout=9"
            )
        )

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, request)
            assert far.asked[0].lines == [
                f"Host: 127.0.0.1:{far.port}".encode(),
                b"X-Custom:  Mixed Case ",
                b"Accept-Encoding: gzip, br",
                b"accept: */*",
                b"Content-Type: application/json",
                b"Content-Length: 2",
            ]
            assert got.first == b"HTTP/1.1 200 Fine"
            assert got.lines == [b"Content-Type: application/json", b"X-Request-Id: r1", b"Content-Length: 2"]

    asyncio.run(run())


def test_posts_of_json_are_recorded_and_others_pass_unrecorded(tmp_path: Path) -> None:
    """C-8, C-2, C-3: a record has its six fields and weft's own, and no header."""

    async def run() -> None:
        async with far_side(_say_ok) as far, recording(far.url, tmp_path) as rig:
            await ask(rig.url, b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
            await ask(rig.url, post("/note", b"plain words", kind="text/plain"))
            await ask(rig.url, b"DELETE /v1/files/1 HTTP/1.1\r\nHost: x\r\n\r\n")
            await ask(rig.url, post(CHAT + "?beta=1", '{"model": "m", "text": "é"}'.encode(), "X-Trace: t-123"))
            (record,) = await rig.records()
            assert len(far.asked) == 4
            assert far.asked[1].payload == b"plain words"
            assert set(record.pop("id")) <= set("0123456789abcdef-")
            assert record.pop("timestamp").endswith("+00:00")
            assert record.pop("duration_ms") >= 0
            assert record == {
                "request": {"model": "m", "text": "é"},
                "response": {"ok": True},
                "error": None,
                "method": "POST",
                "path": CHAT + "?beta=1",
                "status": 200,
                "provider": "openai",
                "state": "complete",
            }
            assert b"t-123" not in rig.path.read_bytes()
            assert "é".encode() in rig.path.read_bytes()

    asyncio.run(run())


def test_a_stream_reaches_the_client_event_by_event(tmp_path: Path) -> None:
    """C-1, C-9, C-11: each event as it comes, status and type of the far side, lines in the record."""
    told = asyncio.Event

    async def run() -> None:
        go_on = told()

        async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
            writer.write(sse_head() + chunk(b': hi\n\nevent: a\ndata: {"n":1}\n\n'))
            await go_on.wait()
            writer.write(chunk("data: \u2028 [é]\r\n\r\n".encode()) + chunk(b"data: [DONE]\n\n") + chunk(b""))

        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/v1beta/models/g:streamGenerateContent", b'{"contents":[]}'))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n")
            first = chunk(b': hi\n\nevent: a\ndata: {"n":1}\n\n')
            assert await reader.readexactly(len(first)) == first  # before the far side goes on
            go_on.set()
            rest = chunk("data: \u2028 [é]\r\n\r\n".encode()) + chunk(b"data: [DONE]\n\n") + chunk(b"")
            assert await reader.readexactly(len(rest)) == rest
            (record,) = await rig.records()
            assert record["response"] == {
                "stream": True,
                "sse_lines": [": hi", "event: a", 'data: {"n":1}', "data: \u2028 [é]", "data: [DONE]"],
            }
            assert (record["state"], record["provider"]) == ("complete", "gemini")

    asyncio.run(run())


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_an_error_status_passes_whole_and_is_no_failure(tmp_path: Path, status: int, streams: bool) -> None:
    """X-07, C-12: the same status, body and headers; body recorded as the response, `error` null."""
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    headers = (
        b"retry-after: 7",
        b"request-id: req_1",
        b"anthropic-ratelimit-requests-remaining: 0",
        b"x-should-retry: true",
    )

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(body, f"{status} Too Much", *headers))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, post("/v1/messages", b'{"stream":%b}' % (b"true" if streams else b"false")))
            assert got.first == f"HTTP/1.1 {status} Too Much".encode()
            assert got.payload == body
            assert set(headers) < set(got.lines)
            (record,) = await rig.records()
            assert (record["status"], record["response"], record["error"]) == (status, json.loads(body), None)

    asyncio.run(run())


def test_redirects_are_passed_and_not_followed(tmp_path: Path) -> None:
    """X-08: the key goes nowhere else."""

    async def run() -> None:
        async with far_side(_say_ok) as other:

            async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
                writer.write(answer(b"", "307 Temporary Redirect", f"Location: {other.url}/elsewhere".encode()))

            async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
                got = await ask(rig.url, post(CHAT, b"{}", "Authorization: Bearer sk-0123456789abcdef"))
                assert (got.status, got.get("location")) == (307, f"{other.url}/elsewhere")
                assert other.asked == []

    asyncio.run(run())


def _encoded(coding: str, body: bytes) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(body)
        case "deflate":
            return zlib.compress(body)
        case "br":
            import brotli  # type: ignore[import-untyped]

            return bytes(brotli.compress(body))
        case "zstd":
            from weft.trace.decoding import zstd_module

            return bytes(zstd_module().compress(body))
        case _:
            return body[::-1]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "x-reversed"])
def test_codings_pass_and_are_undone_for_the_record(tmp_path: Path, coding: str) -> None:
    """X-15: byte-equal both ways with their header; a decoded copy, flagged; an unknown coding stored raw."""
    asked, told = b'{"prompt": "' + b"warp and weft " * 200 + b'"}', b'{"text": "' + b"over and under " * 200 + b'"}'
    raw = _encoded(coding, told)

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(raw, "200 OK", b"Content-Encoding: " + coding.encode()))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, post(CHAT, _encoded(coding, asked), f"Content-Encoding: {coding}"))
            assert (got.payload, got.get("content-encoding")) == (raw, coding)
            assert (far.asked[0].payload, far.asked[0].get("content-encoding")) == (_encoded(coding, asked), coding)
            (record,) = await rig.records()
            assert (record["request_encoding"], record["response_encoding"]) == (coding, coding)
            if coding == "x-reversed":
                assert record["response"] == {"raw": raw.decode()}
                assert "request: kept as it came: nothing here decodes x-reversed" in record["notes"]
            else:
                assert (record["request"], record["response"]) == (json.loads(asked), json.loads(told))

    asyncio.run(run())


def test_a_compressed_stream_is_recorded_readable(tmp_path: Path) -> None:
    """X-15: flushed piece by piece, as servers do; cut anywhere."""
    press = zlib.compressobj(9, zlib.DEFLATED, 31)
    events = [b'data: {"n":%d}\n\n' % n for n in range(20)] + [b"data: [DONE]\n\n"]
    pieces = [press.compress(event) + press.flush(zlib.Z_SYNC_FLUSH) for event in events] + [press.flush()]

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(sse_head(b"Content-Encoding: gzip"))
        for piece in pieces:
            writer.write(chunk(piece[:3]) + chunk(piece[3:]))
            await asyncio.sleep(0)
        writer.write(chunk(b""))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, post(CHAT, b'{"stream":true}'))
            assert got.payload == b"".join(pieces)
            (record,) = await rig.records()
            assert record["response"]["sse_lines"] == [event.decode().strip() for event in events]

    asyncio.run(run())


def _bomb(times: int) -> bytes:
    """Give gzip of `times` x 16 MiB of zeros, made from one block over and over."""
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = press.compress(bytes(16 << 20)) + press.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + block * times + b"\x03\x00" + bytes(8)


def test_a_decompression_bomb_is_not_blown_up(tmp_path: Path) -> None:
    """X-16: 10 GiB in 10 MiB pass as they are; decoding stops at the limit, and the record says so."""
    bomb = _bomb(640)
    assert len(bomb) > 10_000_000

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(bomb, "200 OK", b"Content-Encoding: gzip"))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path, recorder={"body_bytes": 4 << 20}) as rig:
            got = await ask(rig.url, post(CHAT, b"{}"))
            assert got.payload == bomb
            await asyncio.to_thread(rig.recorder.close)
            (record,) = [json.loads(line) for line in rig.path.read_text().splitlines()]
            assert record["response_blob"]["size_bytes"] == 4 << 20
            assert record["notes"][0].startswith("response: decoded up to the limit")

    asyncio.run(run())


def test_chunks_extensions_and_trailers_pass(tmp_path: Path) -> None:
    """X-17: a chunked request, with extensions and trailers, without a length; and such an answer."""
    body = b'5;name="v;1"\r\n{"a":\r\n4 ; x\r\n "b"\r\n1\r\n}\r\n0\r\nX-Checksum: abc\r\n\r\n'
    kind = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    head = b"POST /v1/x HTTP/1.1\r\nHost: h\r\n" + kind + b"Trailer: X-Checksum\r\n\r\n"
    told = b'3;e=1\r\n{"b\r\n6\r\n": 12}\r\n0\r\nX-Sum: 1\r\n\r\n'

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
            + told
        )

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            for step in (1, 7, 1000):
                async with connected(rig.url) as (reader, writer):
                    for at in range(0, len(head + body), step):
                        writer.write((head + body)[at : at + step])
                        await asyncio.sleep(0)
                    got = await read_message(reader, is_reply=True)
                assert far.asked[-1].body == body
                assert far.asked[-1].get("trailer") == "X-Checksum"
                assert (got.body, got.get("trailer")) == (told, "X-Sum")
            assert [record["request"] for record in await rig.records()] == [{"a": "b"}] * 3
            assert {json.dumps(record["response"]) for record in await rig.records()} == {'{"b": 12}'}

    asyncio.run(run())


def test_a_client_that_waits_for_100_gets_it_at_once(tmp_path: Path) -> None:
    """X-18: 100, then the answer; no stall."""

    async def run() -> None:
        async with (
            far_side(_say_ok) as far,
            recording(far.url, tmp_path) as rig,
            connected(rig.url) as (reader, writer),
        ):
            writer.write(post("/v1/x", b"", "Expect: 100-continue").replace(b"Content-Length: 0", b"Content-Length: 7"))
            began = asyncio.get_running_loop().time()
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b'{"a":1}')
            got = await read_message(reader, is_reply=True)
            assert (got.status, far.asked[0].payload) == (200, b'{"a":1}')
            assert far.asked[0].get("expect") is None
            assert asyncio.get_running_loop().time() - began < within(0.9)

    asyncio.run(run())


def test_a_thousand_requests_on_one_connection(tmp_path: Path) -> None:
    """X-19: right answers in order, one connection to the far side, and a pipelined pair."""

    async def reply(said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(said.payload))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            for number in range(1000):
                writer.write(post("/v1/x", b'{"n":%d}' % number))
                assert (await read_message(reader, is_reply=True)).payload == b'{"n":%d}' % number
            writer.write(post("/v1/x", b'{"n":"first"}') + post("/v1/x", b'{"n":"second"}'))
            pair = [await read_message(reader, is_reply=True) for _ in range(2)]
            assert [said.payload for said in pair] == [b'{"n":"first"}', b'{"n":"second"}']
            assert far.connections == 1
            assert [record["request"]["n"] for record in await rig.records()] == [*range(1000), "first", "second"]

    asyncio.run(run())


def test_a_kept_connection_that_went_stale_is_not_used(tmp_path: Path) -> None:
    """X-19: closed while unused, a new one is made; closed after the request was sent, it is not sent again."""

    async def run() -> None:
        count = 0

        async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
            nonlocal count
            count += 1
            if count == 3:
                raise ConnectionError  # hang up with the request read
            writer.write(answer())
            await writer.drain()
            if count == 1:
                raise ConnectionError  # hang up behind the answer

        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            for expected in (200, 200, 502):
                writer.write(post("/v1/x", b"{}"))
                assert (await read_message(reader, is_reply=True)).status == expected
            assert (count, far.connections) == (3, 2)
            assert (await rig.records())[2]["reason"] == "upstream_reset"

    asyncio.run(run())


def test_what_a_client_says_never_changes_the_destination(tmp_path: Path) -> None:
    """X-22, X-23: absolute targets, //host, @host, encoded slashes, dots, other people's headers and fields."""
    targets = {
        b"http://evil.example/v1/x?a=1": b"/v1/x?a=1",
        b"https://evil.example": b"/",
        b"//evil.example/v1/x": b"//evil.example/v1/x",
        b"/@evil.example/v1": b"/@evil.example/v1",
        b"/v1/%2F%2e%2e/a": b"/v1/%2F%2e%2e/a",
        b"/v1/../../etc/passwd": b"/v1/../../etc/passwd",
        b"/http://evil.example/": b"/http://evil.example/",
        b"/a\xc3\xa9?x=\xff": b"/a\xc3\xa9?x=\xff",
    }
    extra = "X-Forwarded-Host: evil.example\r\nX-Original-URL: http://evil.example\r\nForwarded: host=evil.example"
    body = b'{"api_base":"http://evil.example","base_url":"http://evil.example"}'

    async def run() -> None:
        async with far_side(_say_ok) as far, recording(far.url, tmp_path) as rig:
            for target in targets:
                got = await ask(rig.url, post("/TARGET", body, extra).replace(b"/TARGET", target, 1))
                assert got.status == 200
            assert [said.target for said in far.asked] == list(targets.values())
            assert {said.get("host") for said in far.asked} == {f"127.0.0.1:{far.port}"}
            odd = await ask(rig.url, b"GET @evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
            assert odd.status == 404

    asyncio.run(run())


def test_odd_methods_pass_or_are_refused_with_a_reason(tmp_path: Path) -> None:
    """X-27: OPTIONS, HEAD and unknown methods pass; CONNECT is 501; never 500."""

    async def reply(said: Said, _reader: Reader, writer: Writer) -> None:
        body = b"" if said.first.startswith(b"HEAD") else b"{}"
        writer.write(b"HTTP/1.1 200 OK\r\nAllow: POST\r\nContent-Length: 2\r\n\r\n" + body)

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            for line in ("OPTIONS * HTTP/1.1", "OPTIONS /v1/x HTTP/1.1", "BREW /pot HTTP/1.1", "HEAD /v1/x HTTP/1.1"):
                got = await ask(rig.url, f"{line}\r\nHost: x\r\n\r\n".encode(), to_head=line.startswith("HEAD"))
                assert (got.status, got.get("allow"), got.get("content-length")) == (200, "POST", "2")
            assert far.asked[0].target == b"*"
            refused = await ask(rig.url, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert refused.status == 501
            assert json.loads(refused.payload)["error"]["type"] == "proxy_error"

    asyncio.run(run())


def test_uploads_in_parts_are_recorded_as_parts(tmp_path: Path) -> None:
    """X-28: multipart, audio, binary pass; files become blobs."""
    sound = bytes(range(256)) * 40
    body = (
        b'--XyZ\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
        b'--XyZ\r\nContent-Disposition: form-data; name="file"; filename="a b.wav"\r\nContent-Type: audio/wav\r\n\r\n'
        + sound
        + b"\r\n--XyZ--\r\n"
    )

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(sound, kind="audio/mpeg"))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            await ask(rig.url, post("/v1/audio/transcriptions", body, kind="multipart/form-data; boundary=XyZ"))
            got = await ask(rig.url, post("/v1/listen", sound, kind="audio/wav"))
            assert (far.asked[0].payload, far.asked[1].payload, got.payload) == (body, sound, sound)
            first, second = await rig.records()
            model, file = first["request"]["multipart"]
            assert model == {"name": "model", "text": "whisper-1"}
            assert (file["name"], file["filename"], file["content_type"]) == ("file", "a b.wav", "audio/wav")
            kept = rig.path.with_name("trace.jsonl.blobs") / "content"
            assert (kept / file["blob"]["sha256"]).read_bytes() == sound
            assert second["request"] == second["response"] == {"raw": ""}
            assert second["request_blob"]["media_type"] == "audio/wav"
            assert second["response_blob"]["media_type"] == "audio/mpeg"

    asyncio.run(run())


def _odd_json(rng: random.Random, depth: int = 0) -> str:
    blank = rng.choice(["", " ", "\n", "\t", "\r\n  "])
    match rng.randrange(8 if depth < 4 else 5):
        case 0:
            return blank + rng.choice(
                ["1", "-0", "1.0", "1e400", str(2**63), "9" * 5000, "0.1000", "1E5", "12345678901234567890"]
            )
        case 1:
            return blank + rng.choice(["true", "false", "null"])
        case 2 | 3:
            text = "".join(
                rng.choice(["a", "é", "\U0001f9f5", "\\n", "\\u00e9", "\\/", "\\ud83e", '\\"', "\u2028"])
                for _ in range(9)
            )
            return f'{blank}"{text}"'
        case 4:
            return blank + "{}"
        case 5 | 6:
            pairs = [f'"{rng.choice("abk")}"{blank}:{_odd_json(rng, depth + 1)}' for _ in range(rng.randrange(5))]
            return blank + "{" + ",".join(pairs) + blank + "}"
        case _:
            return blank + "[" + ",".join(_odd_json(rng, depth + 1) for _ in range(rng.randrange(4))) + blank + "]"


def test_bodies_arrive_as_they_were_sent(tmp_path: Path) -> None:
    """X-31, J-02, J-04, J-05: 1,000 random JSON texts, byte-equal: key order, repeated keys, spacing, escapes, numbers.

    In the record they are the same texts, line ends between tokens aside.
    """
    rng = random.Random(31)
    texts = ["{" + f'"r":{_odd_json(rng)}' + "}" for _ in range(1000)]

    async def run() -> None:
        async with (
            far_side(_say_ok) as far,
            recording(far.url, tmp_path) as rig,
            connected(rig.url) as (reader, writer),
        ):
            for text in texts:
                writer.write(post("/v1/x", text.encode()))
                await read_message(reader, is_reply=True)
            assert [said.payload for said in far.asked] == [text.encode() for text in texts]
            assert await asyncio.to_thread(rig.recorder.flush)
            for line, text in zip(rig.path.read_bytes().splitlines(), texts, strict=True):
                kept = line.partition(b',"request":')[2].rpartition(b',"response":')[0]
                assert kept == text.encode().replace(b"\n", b" ").replace(b"\r", b" ")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param(b"[" * 100_000 + b"]" * 100_000, None, id="J-01 nested 100,000 deep"),
        pytest.param(b'{"a": NaN}', '{"a": NaN}', id="J-03 NaN"),
        pytest.param(b'{"a": tru', '{"a": tru', id="cut off"),
        pytest.param(b'{"a": "\xff\xfe"}', None, id="J-05 invalid UTF-8"),
        pytest.param(b"\xff\xfe{\x00}\x00", None, id="UTF-16"),
    ],
)
def test_what_says_json_and_is_none_is_kept_raw(tmp_path: Path, body: bytes, kept: str | None) -> None:
    """J-01, J-03, J-05: forwarded, kept as it is, said to be unparsed; no 500."""

    async def run() -> None:
        async with far_side(_say_ok) as far, recording(far.url, tmp_path) as rig:
            assert (await ask(rig.url, post("/v1/x", body))).status == 200
            assert far.asked[0].payload == body
            (record,) = await rig.records()
            if kept is not None:
                assert record["request"] == {"raw": kept}
            elif "request_blob" in record:
                place = rig.path.with_name("trace.jsonl.blobs") / "content" / record["request_blob"]["sha256"]
                assert place.read_bytes() == body
            else:
                assert record["request"] == {"raw": body.decode()}
            assert record["notes"] == ["request: unparsed, as it is not JSON or nested too deeply"]

    asyncio.run(run())


def test_an_answer_without_a_length_ends_with_the_connection(tmp_path: Path) -> None:
    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":')
        await asyncio.sleep(0.01)
        writer.write(b"1}")
        await writer.drain()
        raise ConnectionError

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, post("/v1/x", b"{}"))
            assert (got.payload, got.get("connection")) == (b'{"a":1}', "close")
            assert (await rig.records())[0]["state"] == "complete"

    asyncio.run(run())


def test_an_old_client_gets_chunks_joined(tmp_path: Path) -> None:
    """A client of HTTP/1.0 knows no chunks."""

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(sse_head() + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n") + chunk(b""))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, b"POST /v1/x HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
            assert got.get("transfer-encoding") is None
            assert got.payload == b"data: 1\n\ndata: [DONE]\n\n"

    asyncio.run(run())


def test_other_framings_are_recorded_as_events(tmp_path: Path) -> None:
    """NDJSON (Ollama) and Amazon's event stream."""
    from weft.wire.eventstream import Frame, encode_frame

    def frame(kind: str, value: Any) -> bytes:
        return encode_frame(Frame({":event-type": kind, ":message-type": "event"}, json.dumps(value).encode()))

    replies = [
        answer(b'{"a":1.0}\n{"done":true}\n', kind="application/x-ndjson"),
        answer(
            frame("messageStart", {"role": "assistant"}) + frame("messageStop", {"stopReason": "end_turn"}),
            kind="application/vnd.amazon.eventstream",
        ),
        answer(b"not a frame at all, but long enough to be read as one", kind="application/vnd.amazon.eventstream"),
    ]

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(replies.pop(0))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            for _ in range(3):
                await ask(rig.url, post("/x", b"{}"))
            first, second, third = await rig.records()
            assert first["response"] == {"stream": True, "framing": "ndjson", "events": [{"a": 1.0}, {"done": True}]}
            assert second["response"] == {
                "stream": True,
                "framing": "aws_eventstream",
                "events": [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}],
            }
            assert [record["state"] for record in (first, second, third)] == ["complete"] * 3
            assert third["response"]["raw"].startswith("not a frame")

    asyncio.run(run())


def test_early_hints_pass_and_a_second_100_does_not(tmp_path: Path) -> None:
    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer())

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/v1/x", b"{}"))
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            assert (await read_message(reader, is_reply=True)).status == 200

    asyncio.run(run())
