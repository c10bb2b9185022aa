"""Every way a call can fail: one clear line, nothing thrown away, and no key in it."""

from __future__ import annotations

import asyncio
import ipaddress
import random
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import (
    CANARY,
    SPEAKERS,
    a_call,
    events_of,
    one_shot,
    row_at,
    streamed,
    text_of,
    whole,
)
from tests.support.upstream import Answer, sse, upstream
from weft.canon import Event, Fold, StreamEnd, StreamError
from weft.client import Client, Network, RetryPolicy
from weft.errors import ProviderError, UsageError
from weft.providers import Secret

ONCE = RetryPolicy(attempts=1)


def failure_of(answer: Answer, *, name: str = "anthropic", stream: bool = False) -> ProviderError:
    async def scene() -> ProviderError:
        async with one_shot(answer) as (far, client):
            call = a_call(name, far.url)
            with pytest.raises(ProviderError) as caught:
                await (events_of(client, call) if stream else client.send(call))
        return caught.value

    return asyncio.run(scene())


def failure_at(url: str, **settings: Any) -> ProviderError:
    async def scene() -> ProviderError:
        async with Client(**{"retries": ONCE, **settings}) as client:
            with pytest.raises(ProviderError) as caught:
                await client.send(replace(a_call("openai", ""), provider=row_at("openai", url)))
        return caught.value

    return asyncio.run(scene())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "line", "advice"),
    [
        (400, "anthropic: does not take the request (400): nope", "see it as sent: --dry-run"),
        (401, "anthropic: does not accept the key (401): nope", "weft keys"),
        (403, "anthropic: does not allow this (403): nope", "weft keys"),
        (404, "anthropic: has nothing at http://127.0.0.1:PORT/v1/messages (404): nope", "weft models anthropic"),
        (413, "anthropic: finds the request too large (413): nope", "leave something out"),
        (429, "anthropic: says it is too much (429): nope", "wait a little"),
        (500, "anthropic: failed on its side (500): nope", "try again later"),
        (503, "anthropic: failed on its side (503): nope", "try again later"),
        (529, "anthropic: is overloaded (529): nope", "try again later"),
        (307, "anthropic: sends us elsewhere from http://127.0.0.1:PORT/v1/messages (307): nope", "redirects"),
        (418, "anthropic: refused (418): nope", ""),
    ],
)
def test_every_status_is_one_clear_line_and_what_to_do(status: int, line: str, advice: str, *, stream: bool) -> None:
    answer = Answer.json({"type": "error", "error": {"type": "x", "message": "nope"}}, status)

    error = failure_of(answer, stream=stream)

    first, _, rest = str(error).partition("\n")
    port = first.partition("127.0.0.1:")[2].partition("/")[0] or "PORT"
    assert first == line.replace("PORT", port)
    assert advice in rest
    assert (error.provider, error.status) == ("anthropic", status)
    assert error.body == '{"type": "error", "error": {"type": "x", "message": "nope"}}'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": "plain text"}', "plain text"),
        (b'{"message": "cohere says so"}', "cohere says so"),
        (b'{"Message": "aws says so"}', "aws says so"),
        (b'{"detail": "a framework says so"}', "a framework says so"),
        (b'[{"error": {"message": "gemini says so"}}]', "gemini says so"),
        (b'{"error": {"code": 7}}', '{"error": {"code": 7}}'),
        (b"<html>\n <b>Bad   gateway</b>", "<html> <b>Bad gateway</b>"),
        (b"x" * 5000, "x" * 300 + "…"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
    ],
)
def test_what_the_provider_says_is_found_in_every_form_of_error_body(body: bytes, said: str) -> None:
    error = failure_of(Answer([body], status=500))

    assert str(error).splitlines()[0] == f"anthropic: failed on its side (500): {said}"


def test_an_error_without_a_body_is_told_by_its_status_alone() -> None:
    assert str(failure_of(Answer(status=500))).splitlines()[0] == "anthropic: failed on its side (500)"
    assert str(failure_of(Answer([b"{}"], 402))) == "anthropic: wants to be paid first (402)"


def test_an_error_whose_body_breaks_off_is_told_with_what_came() -> None:
    error = failure_of(Answer([b"all is lo"], status=500, cut=True))

    assert str(error).splitlines()[0] == "anthropic: failed on its side (500): all is lo"


@pytest.mark.parametrize("stream", [False, True])
def test_a_login_page_is_not_an_answer(*, stream: bool) -> None:
    error = failure_of(Answer([b"<html>Please log in"], content_type="text/html; charset=utf-8"), stream=stream)

    assert str(error).splitlines() == [
        "anthropic: answered with something that is not JSON (text/html): <html>Please log in",
        "  is the address right, or does a proxy or login page stand between?",
    ]
    assert error.status == 200


def test_an_empty_answer_is_none() -> None:
    assert "not JSON (application/json), and nothing in it" in str(failure_of(Answer()))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"hello": "there"}', "answered with JSON that is no anthropic response"),
        (b"[1, 2]", "response"),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "later"}}', "(200): later"),
    ],
)
def test_json_that_is_no_answer_is_an_error(body: bytes, said: str) -> None:
    assert said in str(failure_of(Answer([body])))


def test_a_name_that_does_not_exist() -> None:
    error = failure_at("http://nowhere.invalid")

    assert str(error).startswith("openai: no such host as nowhere.invalid\n")
    assert error.status is None
    assert error.__cause__ is not None


def test_a_port_where_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        error = failure_at(url)

    assert str(error) == f"openai: nothing listens at {url[7:]}\n  is the server started, and base_url right?"


def test_a_server_that_speaks_no_http() -> None:
    error = failure_of(Answer(raw=b"220 mail.example.org ESMTP\r\n"))

    assert "anthropic: the connection to 127.0.0.1:" in str(error)
    assert "broke" in str(error)


def test_a_connection_dropped_before_a_word_is_said() -> None:
    assert "broke: Server disconnected without sending a response" in str(failure_of(Answer(drop=True)))


def test_a_whole_answer_cut_short() -> None:
    answer = replace(whole("anthropic"), cut=True)

    assert "anthropic: the connection to 127.0.0.1:" in str(failure_of(answer))


def a_certificate(folder: Path) -> Path:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "far.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path


def test_a_certificate_nobody_vouches_for_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    pem = a_certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)

    async def scene() -> None:
        async with upstream(whole("openai"), tls=tls) as far:
            async with Client(retries=RetryPolicy(attempts=3), sleep=_never) as client:
                with pytest.raises(ProviderError, match=r"openai: no safe connection to 127\.0\.0\.1:.* self-signed"):
                    await client.send(a_call("openai", far.url))
            async with Client({"SSL_CERT_FILE": str(pem)}) as client:
                assert (await client.send(a_call("openai", far.url))).finished

    asyncio.run(scene())


def test_certificates_that_are_not_there_are_said_so(tmp_path: Path) -> None:
    network = Network.from_environ({"SSL_CERT_FILE": str(tmp_path / "none.pem")})

    with pytest.raises(UsageError, match=r"no certificates can be read from .*none\.pem"):
        network.trust()


async def _never(_seconds: float) -> None:
    raise AssertionError("this must not be tried again")


# -- streams that break ----------------------------------------------------------------------------------------


def heard(answer: Answer, name: str) -> list[Event]:
    async def scene() -> list[Event]:
        async with one_shot(answer) as (far, client):
            return await events_of(client, a_call(name, far.url))

    return asyncio.run(scene())


@pytest.mark.parametrize("close_delimited", [False, True], ids=["reset", "quiet"])
@pytest.mark.parametrize("name", SPEAKERS)
def test_a_stream_cut_at_any_byte_keeps_what_arrived(name: str, *, close_delimited: bool) -> None:
    """W-34: `stream.error`, then `stream.end` without a reason; the fold holds what came."""
    data = b"".join(piece for piece in streamed(name).pieces if isinstance(piece, bytes))
    dice = random.Random(f"{name}{close_delimited}")
    places = sorted({1, *(dice.randrange(1, len(data) * 2 // 3) for _ in range(6))})
    for place in places:
        answer = replace(streamed(name), pieces=[data[:place]], cut=True, close_delimited=close_delimited)

        events = heard(answer, name)

        fold = Fold()
        for event in events:
            fold.feed(event)
        errors = [event for event in events if isinstance(event, StreamError)]
        end = events[-1]
        assert isinstance(end, StreamEnd), place
        assert (len(errors), end.finish_reason, fold.reply().finished) == (1, None, False), place
        assert "Six metres at pier four.".startswith(text_of(fold.reply())), place
        assert errors[0].error in fold.reply().notes


def test_a_stream_cut_after_its_text_still_has_the_text() -> None:
    pieces = [piece for piece in streamed("anthropic").pieces if isinstance(piece, bytes)]

    events = heard(replace(streamed("anthropic"), pieces=pieces[:-2], cut=True), "anthropic")

    end = events[-1]
    assert isinstance(end, StreamEnd)
    assert text_of(end.reply) == "Six metres at pier four."


def test_an_error_in_the_middle_of_a_stream_is_an_event() -> None:
    pieces = [piece for piece in streamed("anthropic").pieces if isinstance(piece, bytes)]
    said = sse(("error", {"type": "error", "error": {"type": "overloaded_error", "message": f"busy, {CANARY}"}}))

    events = heard(replace(streamed("anthropic"), pieces=[*pieces[:4], *said]), "anthropic")

    [error] = [event for event in events if isinstance(event, StreamError)]
    assert "busy" in error.error
    assert CANARY not in "".join(map(repr, events))


def test_a_stream_that_is_not_what_it_says_ends_with_an_error() -> None:
    events = heard(Answer([b"\x00\x01 what is this \xff" * 50], content_type="text/event-stream"), "openai")

    assert isinstance(events[-1], StreamEnd)
    assert [type(event) for event in events if isinstance(event, StreamError)] == [StreamError]


# -- proxies ---------------------------------------------------------------------------------------------------

PROXIES = {"HTTPS_PROXY": "http://user:pw-canary-123@proxy.example.org:3128", "http_proxy": "plain.example.org:80"}


@pytest.mark.parametrize(
    ("url", "no_proxy", "proxy"),
    [
        ("https://api.openai.com/v1", "", PROXIES["HTTPS_PROXY"]),
        ("http://api.openai.com/v1", "", "http://plain.example.org:80"),
        ("https://api.openai.com/v1", "openai.com", None),
        ("https://api.openai.com/v1", ".openai.com", None),
        ("https://api.openai.com/v1", "*.openai.com", None),
        ("https://notopenai.com/v1", "openai.com", PROXIES["HTTPS_PROXY"]),
        ("https://api.openai.com/v1", "other.org, *", None),
        ("https://10.1.2.3/v1", "10.0.0.0/8", None),
        ("https://11.1.2.3/v1", "10.0.0.0/8", PROXIES["HTTPS_PROXY"]),
        ("https://[fd00::1]/v1", "fd00::/8", None),
        ("https://llm.lan:8443/v1", "llm.lan:8443", None),
        ("https://llm.lan:9443/v1", "llm.lan:8443", PROXIES["HTTPS_PROXY"]),
        ("http://localhost:11434", "", None),
        ("http://127.0.0.1:11434", "", None),
        ("http://[::1]:11434", "", None),
    ],
)
def test_the_environment_says_which_way_out(url: str, no_proxy: str, proxy: str | None) -> None:
    network = Network.from_environ({**PROXIES, "NO_PROXY": no_proxy})

    assert network.proxy_for(url) == proxy
    assert "canary" not in repr(network)


def test_a_proxy_is_asked_to_pass_the_call_on() -> None:
    async def scene() -> None:
        async with upstream(whole("openai")) as proxy:
            async with Client({"HTTP_PROXY": proxy.url}) as client:
                reply = await client.send(a_call("openai", "http://llm.example.org:8080"))
            assert reply.finished
            assert proxy.asked[0].path == "http://llm.example.org:8080/v1/chat/completions"

    asyncio.run(scene())


def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    async def scene() -> str:
        async with upstream(Answer(status=407)) as proxy:
            environ = {"HTTPS_PROXY": proxy.url.replace("//", "//user:pw-canary-123@")}
            async with Client(environ, retries=ONCE) as client:
                with pytest.raises(ProviderError) as caught:
                    await client.send(a_call("openai", "https://llm.example.org"))
        return str(caught.value)

    said = asyncio.run(scene())
    assert "openai: the proxy does not let us through to llm.example.org: 407" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    "proxy", ["gopher://user:pw-canary-123@example.org", "socks5://user:pw-canary-123@example.org"]
)
def test_a_proxy_that_cannot_be_used_is_said_so_without_its_password(proxy: str) -> None:
    async def scene() -> str:
        async with Client({"ALL_PROXY": proxy}) as client:
            with pytest.raises(UsageError, match="the proxy cannot be used") as caught:
                await client.send(a_call("openai", "https://llm.example.org"))
        return str(caught.value)

    assert "canary" not in asyncio.run(scene())


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda row: replace(row, base_url="ftp://example.org"), "is no URL"),
        (lambda row: replace(row, base_url=""), "no address is known for openai"),
        (lambda row: replace(row, base_url="https://"), "is no URL"),
    ],
)
def test_an_address_that_cannot_be_called_is_refused_before_anything_is_sent(
    prepare: Callable[[Any], Any], said: str
) -> None:
    async def scene() -> None:
        call = a_call("openai", "http://127.0.0.1:9")
        async with Client() as client:
            with pytest.raises(UsageError, match=said):
                await client.send(replace(call, provider=prepare(call.provider)))

    asyncio.run(scene())


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(UsageError) as caught:
        Secret("sk-canary\n9f3b7c21d4e8")

    assert "canary" not in str(caught.value)
