"""The server as a client on the network finds it: raw connections, odd requests, requests that are seen."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.sim.asking import APIS, post
from weft.sim import Simulator
from weft.sim import server as serving

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer any\r\n"


@contextmanager
def connection(sim: Simulator) -> Iterator[socket.socket]:
    host, _, port = sim.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as made:
        yield made


def until_closed(made: socket.socket) -> bytes:
    return b"".join(iter(lambda: made.recv(65_536), b""))


def test_one_connection_carries_many_requests(sim: Simulator) -> None:
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    last = request.replace(b"Host: x", b"Host: x\r\nConnection: close")
    with connection(sim) as made:
        made.sendall(request + request + last)
        answers = until_closed(made)

    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert len(sim.seen) == 3


def test_a_client_that_waits_to_be_asked_is_asked(sim: Simulator) -> None:
    with connection(sim) as made:
        made.sendall(HEAD + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert made.recv(100).startswith(b"HTTP/1.1 100")
        made.sendall(BODY)
        assert b"HTTP/1.1 200 OK" in until_closed(made)


@pytest.mark.parametrize("raw", [b"this is not HTTP\r\n\r\n", HEAD, b""])
def test_what_is_not_a_whole_request_ends_the_connection_and_nothing_else(sim: Simulator, raw: bytes) -> None:
    with connection(sim) as made:
        made.sendall(raw)
        made.shutdown(socket.SHUT_WR)
        assert until_closed(made) == b""

    assert post(sim, APIS["openai_chat"], APIS["openai_chat"].body("hi")).status_code == 200


def test_a_body_that_is_too_long_is_refused(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MAX_BODY_BYTES", 1_000)
    response = post(sim, APIS["anthropic"], APIS["anthropic"].body("x" * 2_000))

    assert (response.status_code, response.json()["error"]["type"]) == (413, "request_too_large")


def raw(
    sim: Simulator, method: str, path: str, body: bytes = b"", headers: bytes = b"Authorization: Bearer any\r\n"
) -> str:
    with connection(sim) as made:
        made.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode() + headers)
        made.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return until_closed(made).decode()


def test_bodies_that_are_not_json_objects_are_refused(sim: Simulator) -> None:
    assert "We could not parse the JSON body" in raw(sim, "POST", "/v1/chat/completions", b"{")
    assert "must be an object, not a list" in raw(sim, "POST", "/v1/chat/completions", b"[]")


def test_paths_and_methods_that_are_not_there_are_refused(sim: Simulator) -> None:
    assert "404 Not Found" in (answer := raw(sim, "GET", "/v1/nothing"))
    assert "Invalid URL (GET /v1/nothing)" in answer
    assert "405 Method Not Allowed" in raw(sim, "GET", "/v1/chat/completions")
    assert '"type":"error"' in raw(sim, "GET", "/v1/nothing", headers=b"x-api-key: any\r\n")
    assert '"status":"NOT_FOUND"' in raw(sim, "GET", "/v1beta/nothing")
    assert '"code":404' not in raw(sim, "GET", "/v2/nothing")


def test_a_shared_path_is_told_apart_by_headers_and_by_prefix(sim: Simulator) -> None:
    assert '"object":"list"' in raw(sim, "GET", "/v1/models")
    assert '"has_more":false' in raw(sim, "GET", "/v1/models", headers=b"x-api-key: any\r\n")
    assert '"endpoints":["chat"]' in raw(sim, "GET", "/cohere/v1/models")
    assert '"supportedGenerationMethods"' in raw(sim, "GET", "/v1beta/models")
    assert '"modelSummaries"' in raw(sim, "GET", "/foundation-models")
    assert '"object":"list"' in raw(sim, "GET", "/groq/openai/v1/models")


def test_what_was_seen_is_kept_without_its_key(sim: Simulator) -> None:
    """K-01: a key is in no record."""
    post(
        sim, APIS["anthropic"], APIS["anthropic"].body("hi"), headers={"x-api-key": "secret", "anthropic-version": "1"}
    )
    seen = sim.seen[-1]

    assert (seen.method, seen.path, seen.provider, seen.status) == ("POST", "/v1/messages", "anthropic", 200)
    assert seen.body["messages"] == [{"role": "user", "content": "hi"}]
    assert "secret" not in repr(seen)
    assert seen.headers["anthropic-version"] == "1"


def test_a_simulator_that_closes_drops_those_who_wait(sim: Simulator) -> None:
    with connection(sim) as made:
        stalling = BODY.replace(b"hi", b"[[stall]] hi")
        made.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(stalling) + stalling)
        assert b"200 OK" in made.recv(65_536)
        # the fixture ends the simulator while this connection is open
