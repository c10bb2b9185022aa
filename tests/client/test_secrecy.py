"""K-01, K-02, K-10, K-11, K-12: a key is in its header and nowhere else."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import subprocess
import sys
import traceback
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.support.calls import CANARY, SPEAKERS, a_call, events_of, one_shot, row_at, streamed, whole
from tests.support.upstream import Answer, sse
from weft.client import Client, RetryPolicy
from weft.errors import ProviderError, WeftError
from weft.providers import Secret

SPELLINGS = {
    "raw": CANARY,
    "percent": quote(CANARY, safe=""),
    "percent, lower case": quote(CANARY, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "form": quote_plus(CANARY),
    "json": json.dumps(CANARY)[1:-1],
    "json in json": json.dumps(json.dumps(CANARY)[1:-1])[1:-1],
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64, url-safe": base64.urlsafe_b64encode(CANARY.encode()).decode(),
    "basic auth": base64.b64encode(f":{CANARY}".encode()).decode(),
    "basic auth, user": base64.b64encode(f"me:{CANARY}".encode()).decode(),
    "hex": CANARY.encode().hex(),
}
# What would give the key away in each: long enough to be no accident, and without the letters at the edges of base64.
TRACES = {name: text if "auth" not in name else text[8:-8] for name, text in SPELLINGS.items()}


def has_trace(text: str) -> list[str]:
    return [name for name, trace in TRACES.items() if trace in text]


def everything_said(error: BaseException) -> str:
    """The error's text, its body, and the worst a crash report may print: tracebacks with locals, causes included."""
    told: traceback.TracebackException | None = traceback.TracebackException.from_exception(error, capture_locals=True)
    said = [str(error), repr(error), str(getattr(error, "body", ""))]
    while told is not None:
        # The test's own frames hold the very thing that is looked for.
        told.stack[:] = [frame for frame in told.stack if frame.filename != __file__]
        said += told.format(chain=False)
        told = told.__cause__ or told.__context__
    return "".join(said)


@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_k02_a_key_echoed_by_the_provider_is_redacted_in_every_spelling(spelling: str, status: int) -> None:
    echoes = [
        Answer.json({"error": {"message": f"bad key {SPELLINGS[spelling]} given"}}, status),
        Answer([f"<pre>GET /?key={SPELLINGS[spelling]}</pre>".encode()], status, content_type="text/plain"),
    ]

    async def scene(answer: Answer) -> BaseException:
        async with one_shot(answer) as (far, client):
            try:
                await client.send(a_call("openai", far.url))
            except ProviderError as error:
                return error
        raise AssertionError("an error was to be expected")

    for answer in echoes:
        assert has_trace(everything_said(asyncio.run(scene(answer)))) == []


def test_k02_letters_escaped_in_the_body_are_no_way_around() -> None:
    body = b'{"error": {"message": "bad key ' + "".join(f"\\u{ord(letter):04x}" for letter in CANARY).encode() + b'"}}'

    async def scene() -> str:
        async with one_shot(Answer([body], 401)) as (far, client):
            with pytest.raises(ProviderError) as caught:
                await client.send(a_call("openai", far.url))
        return str(caught.value)

    assert "bad key ****" in asyncio.run(scene())


FAULTS = {
    "401": Answer.json({"error": {"message": f"bad {CANARY}"}}, 401),
    "drop": Answer(drop=True),
    "cut": Answer([b"{"], cut=True),
    "html": Answer([b"<html>"], content_type="text/html"),
    "no http": Answer(raw=b"EHLO\r\n\r\n"),
    "bad header": Answer(raw=b"HTTP/1.1 200 OK\r\nx y: z\r\n\r\n"),
    "error in stream": Answer(
        sse({"error": {"message": f"bad {CANARY}", "code": 500}}), content_type="text/event-stream"
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SPEAKERS)
def test_k01_k11_k12_no_key_in_errors_logs_or_tracebacks_with_locals(
    name: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With debug logging on, for every way of showing the key."""

    async def scene() -> str:
        said = ""
        async with one_shot(FAULTS[fault]) as (far, client):
            call = a_call(name, far.url)
            for stream in (False, True):
                try:
                    heard = await (events_of(client, call) if stream else client.send(call))
                    said += repr(heard)
                except WeftError as error:
                    said += everything_said(error)
            said += repr(client) + repr(call)
        assert any(CANARY in value for value in far.asked[0].headers.values())
        assert CANARY not in far.asked[0].path
        return said

    with caplog.at_level(logging.DEBUG):
        said = asyncio.run(scene())

    assert has_trace(said + caplog.text) == []


def test_k12_a_cancelled_call_shows_no_key_in_its_own_frames() -> None:
    async def scene() -> str:
        async with one_shot(replace(streamed("anthropic"), pieces=[None])) as (far, client):
            task = asyncio.create_task(events_of(client, a_call("anthropic", far.url)))
            await far.was_asked.wait()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            frames = traceback.StackSummary.extract(
                ((frame, frame.f_lineno) for frame in task.get_stack()), capture_locals=True
            )
        return "".join(frames.format())

    assert has_trace(asyncio.run(scene())) == []


def test_k12_a_secret_is_masked_however_it_is_printed() -> None:
    secret = Secret(f" {CANARY}\n")

    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>30}", "%s" % secret, repr({"key": secret})]  # noqa: UP031

    assert has_trace("".join(shown)) == []
    assert secret.reveal() == CANARY
    assert secret == Secret(CANARY)
    assert secret != Secret("another-key")
    assert len({secret, Secret(CANARY)}) == 1
    with pytest.raises(TypeError):
        json.dumps(secret)
    with pytest.raises(TypeError, match="not written anywhere"):
        secret.__reduce__()


def test_k01_the_answer_itself_is_left_as_it_came() -> None:
    """K-03: what a model says is content, even if it says a key that was in the prompt."""
    from weft.canon import Message, Part, Reply, fold

    reply = Reply(
        (Message("assistant", (Part("text", f"You wrote {CANARY}"),)),), id="r", model="m", finish_reason="stop"
    )

    async def scene() -> Any:
        async with one_shot(streamed("openai", reply)) as (far, client):
            return fold(await events_of(client, a_call("openai", far.url)))

    message = asyncio.run(scene()).message
    assert message is not None
    assert message.parts[0].text == f"You wrote {CANARY}"


PROGRAM = """
import asyncio, sys
seen = set()
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        seen.add(str(arguments[1]))
    elif event == "socket.getaddrinfo":
        seen.add(str(arguments[0]))
sys.addaudithook(watch)
from dataclasses import replace
from datetime import UTC, datetime
from weft.client import Call, Client, Secret
from weft.canon import Usage
from weft.providers import PROVIDERS, price_of
async def main(url):
    row = replace(PROVIDERS["openai"], base_url=url)
    async with Client({}) as client:
        call = Call(row, "gpt-4o", {"messages": []}, Secret("sk-made-up"))
        await client.send(call)
        async for _ in client.stream(call): pass
        try:
            await client.models(row, Secret("sk-made-up"))
        except Exception as error:
            print(error, file=sys.stderr)
    price_of("openai", "gpt-4o", Usage(10, 10), at=datetime.now(UTC))
asyncio.run(main(sys.argv[1]))
print(*sorted(seen), sep="\\n")
"""


def test_k10_nothing_is_connected_to_but_the_configured_address() -> None:
    async def scene() -> tuple[str, str]:
        async with one_shot(whole("openai")) as (far, _client):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", PROGRAM, far.url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            out, err = await process.communicate()
            assert process.returncode == 0, err.decode()
        return far.url, out.decode()

    url, seen = asyncio.run(scene())
    host, _, port = url.removeprefix("http://").partition(":")
    allowed = {host, f"('{host}', {port})", str(host.encode())}
    assert set(seen.splitlines()) <= allowed
    assert f"('{host}', {port})" in seen


def test_k01_a_wait_is_told_without_the_key() -> None:
    said: list[str] = []

    async def nap(_seconds: float) -> None: ...

    async def scene() -> None:
        echo = Answer.json({"error": {"message": f"slow down, {CANARY}"}}, 429)
        async with one_shot(echo, whole("openai"), on_wait=said.append, sleep=nap, retries=RetryPolicy()) as (
            far,
            client,
        ):
            await client.send(a_call("openai", far.url))

    asyncio.run(scene())
    assert has_trace("".join(said)) == []
    assert "slow down, ****" in said[0]


def test_k02_a_broken_list_of_models_is_told_without_the_key() -> None:
    async def scene() -> BaseException:
        async with one_shot(Answer.json({"error": CANARY}, 403)) as (far, client):
            with pytest.raises(ProviderError) as caught:
                await client.models(row_at("gemini", far.url), Secret(CANARY))
        assert isinstance(client, Client)
        return caught.value

    assert has_trace(everything_said(asyncio.run(scene()))) == []
