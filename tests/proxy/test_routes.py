"""One proxy for all providers: by prefix, by path, by headers."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.support.proxying import Said, answer, ask, far_side, post, recording
from weft.proxy import Routes, route_to

TABLE = {
    "openai": route_to("https://api.openai.com/v1", "openai"),
    "anthropic": route_to("https://api.anthropic.com", "anthropic"),
    "gemini": route_to("https://generativelanguage.googleapis.com", "gemini"),
    "groq": route_to("https://api.groq.com/openai/v1/", "groq"),
    "cohere": route_to("https://api.cohere.com", "cohere"),
    "ollama": route_to("http://localhost:11434", "ollama"),
    "bedrock": route_to("https://bedrock.example", "bedrock"),
}


@pytest.mark.parametrize(
    ("target", "headers", "provider", "asked"),
    [
        (b"/openai/v1/chat/completions", [], "openai", b"/v1/chat/completions"),
        (b"/openai/chat/completions?x=1", [], "openai", b"/v1/chat/completions?x=1"),
        (b"/openai", [], "openai", b"/v1/"),
        (b"/openai?x", [], "openai", b"/v1?x"),
        (b"/openai/../anthropic/v1/messages", [], "openai", b"/v1/../anthropic/v1/messages"),
        (b"/anthropic/v1/messages", [], "anthropic", b"/v1/messages"),
        (b"/gemini/v1beta/models/g:generateContent?key=k", [], "gemini", b"/v1beta/models/g:generateContent?key=k"),
        (b"/groq/chat/completions", [], "groq", b"/openai/v1/chat/completions"),
        (b"/groq/openai/v1/models", [], "groq", b"/openai/v1/models"),
        (b"/v1/messages", [], "anthropic", b"/v1/messages"),
        (b"/v1/models", [(b"anthropic-version", b"2023-06-01")], "anthropic", b"/v1/models"),
        (b"/v1/models", [], "openai", b"/v1/models"),
        (b"/v1/responses", [], "openai", b"/v1/responses"),
        (b"/chat/completions", [], "openai", b"/v1/chat/completions"),
        (
            b"/v1beta/models/g:streamGenerateContent?alt=sse",
            [],
            "gemini",
            b"/v1beta/models/g:streamGenerateContent?alt=sse",
        ),
        (b"/anything", [(b"x-goog-api-key", b"k")], "gemini", b"/anything"),
        (b"/v2/chat", [], "cohere", b"/v2/chat"),
        (b"/api/chat", [], "ollama", b"/api/chat"),
        (b"/model/m%3A0/converse-stream", [], "bedrock", b"/model/m%3A0/converse-stream"),
    ],
)
def test_who_is_meant(target: bytes, headers: list[tuple[bytes, bytes]], provider: str, asked: bytes) -> None:
    found = Routes(table=TABLE).find(target, headers)

    assert found is not None
    assert (found[0], found[1], found[2]) == (TABLE[provider], asked, provider)


@pytest.mark.parametrize("target", [b"/", b"/favicon.ico", b"/unknown/v1/messages", b"*"])
def test_nobody_is_meant(target: bytes) -> None:
    assert Routes(table=TABLE).find(target, []) is None


def test_a_request_for_nobody_says_what_to_do(tmp_path: Path) -> None:
    async def run() -> None:
        async with recording(Routes(table=TABLE), tmp_path) as rig:
            got = await ask(rig.url, b"GET /favicon.ico HTTP/1.1\r\nHost: x\r\n\r\n")
            assert got.status == 404
            assert b"begin it with one of /openai/, /anthropic/" in got.payload

    asyncio.run(run())


def test_two_providers_behind_one_proxy(tmp_path: Path) -> None:
    async def reply(_said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer())

    async def run() -> None:
        async with far_side(reply) as one, far_side(reply) as two:
            table = {"openai": route_to(one.url + "/v1", "openai"), "anthropic": route_to(two.url, "anthropic")}
            async with recording(Routes(table=table), tmp_path) as rig:
                await ask(rig.url, post("/openai/v1/chat/completions", b"{}"))
                await ask(rig.url, post("/v1/messages", b"{}"))
                assert (one.asked[0].target, two.asked[0].target) == (b"/v1/chat/completions", b"/v1/messages")
                records = await rig.records()
                assert [(record["provider"], record["path"]) for record in records] == [
                    ("openai", "/v1/chat/completions"),
                    ("anthropic", "/v1/messages"),
                ]

    asyncio.run(run())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine, signed by itself."""
    place = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", str(place), "-out", str(place.with_suffix(".crt")), "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    place.write_bytes(place.read_bytes() + place.with_suffix(".crt").read_bytes())
    return place


class _Trusting:
    def __init__(self, certificate: Path, proxy: str | None = None) -> None:
        self._certificate, self._proxy = certificate, proxy

    def proxy_for(self, url: str) -> str | None:  # noqa: ARG002
        return self._proxy

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self._certificate.with_suffix(".crt")))


def test_far_sides_over_tls_are_verified(tmp_path: Path, certificate: Path) -> None:
    """A certificate that is trusted is used, and the connection again; one that is not is refused with the reason."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)

    async def reply(_said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b'{"tls":true}'))

    async def run() -> None:
        async with far_side(reply, ssl=serving) as far:
            target = far.url.replace("127.0.0.1", "localhost")
            async with recording(target, tmp_path / "a", way=_Trusting(certificate)) as rig:
                for _ in range(3):
                    assert (await ask(rig.url, post("/v1/x", b"{}"))).payload == b'{"tls":true}'
                assert far.connections == 1
                assert far.asked[0].get("host") == f"localhost:{far.port}"
            async with recording(target, tmp_path / "b") as rig:
                got = await ask(rig.url, post("/v1/x", b"{}"))
                assert got.status == 502
                assert b"certificate is not trusted" in got.payload

    asyncio.run(run())


@pytest.mark.parametrize("tls", [True, False])
def test_the_way_out_may_be_another_proxy(tmp_path: Path, certificate: Path, tls: bool) -> None:
    """HTTPS_PROXY: a tunnel is asked for, with the password of its address."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        if b"refuse.example" in head:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            writer.close()
            return
        host, port = head.split()[1].decode().rsplit(":", 1)
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pump(source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                drain.write(data)
            drain.close()

        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True)

    async def reply(_said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b'{"through":1}'))

    async def run() -> None:
        server = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        way = _Trusting(certificate, f"http://me:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with far_side(reply, **({"ssl": serving} if tls else {})) as far:
            async with recording(far.url, tmp_path / "a", way=way) as rig:
                for _ in range(2):
                    assert (await ask(rig.url, post("/v1/x", b"{}"))).payload == b'{"through":1}'
            assert asked[0].startswith(f"CONNECT 127.0.0.1:{far.port} HTTP/1.1\r\n".encode())
            assert b"Proxy-Authorization: Basic bWU6cEBzcw==" in asked[0]
        async with recording("https://refuse.example", tmp_path / "b", way=way) as rig:
            got = await ask(rig.url, post("/v1/x", b"{}"))
            assert (got.status, b"the proxy refused: HTTP/1.1 403 Forbidden" in got.payload) == (502, True)
        server.close()

    asyncio.run(run())
