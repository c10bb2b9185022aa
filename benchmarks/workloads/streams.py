"""2,000 stream events from bytes to the finished message, every event delivered; the same two names on every side.

weft and the SDKs read bytes and tell events. llm-path's parser is what its cook runs over lines that are cut already;
it tells nothing. With orjson as the library, each data line is parsed and nothing else is done: the limit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 2_000
HEAD = '{"id":"c1","object":"chat.completion.chunk","created":1710000000,"model":"mint-1","system_fingerprint":"fp_1",'


def openai_stream() -> bytes:
    """Return a chat completions stream of one long answer."""
    chunks = [HEAD + '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}']
    chunks += [
        f'{HEAD}"choices":[{{"index":0,"delta":{{"content":" word{n}"}},"logprobs":null,"finish_reason":null}}]}}'
        for n in range(EVENTS)
    ]
    chunks.append(HEAD + '"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}')
    return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()


def anthropic_stream() -> bytes:
    """Return a Messages stream of one long answer."""
    message = (
        '{"id":"msg_1","type":"message","role":"assistant","model":"mint-1","content":[],"stop_reason":null,'
        '"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}'
    )
    events = [
        ("message_start", f'{{"type":"message_start","message":{message}}}'),
        ("content_block_start", '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'),
    ]
    events += [
        (
            "content_block_delta",
            f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" word{n}"}}}}',
        )
        for n in range(EVENTS)
    ]
    ending = (
        '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}'
    )
    events += [
        ("content_block_stop", '{"type":"content_block_stop","index":0}'),
        ("message_delta", ending),
        ("message_stop", '{"type":"message_stop"}'),
    ]
    return "".join(f"event: {kind}\ndata: {data}\n\n" for kind, data in events).encode()


STREAMS = {"openai": openai_stream(), "anthropic": anthropic_stream()}
TEXT = "".join(f" word{n}" for n in range(EVENTS))


def functions(library: Any) -> dict[str, Callable[[], object]]:
    """Return what can be timed: each gives the text of the finished message."""
    sides: dict[str, Callable[[Any, str], Callable[[], object]]] = {
        "weft": _weft,
        "openai": _openai,
        "anthropic": _anthropic,
        "llm_path": _llm_path,
        "orjson": _orjson,
    }
    side = sides[library.__name__]
    return {name: side(library, name) for name in STREAMS}


def _weft(library: Any, name: str) -> Callable[[], object]:
    wire = import_module("weft.wire")
    dialect, data = library.dialect(name), STREAMS[name]

    def read() -> object:
        reader = wire.StreamReader(dialect.StreamDecoder(), "sse")
        told = sum(1 for _ in reader.feed(data)) + sum(1 for _ in reader.close())
        assert told > EVENTS
        return reader.reply.message.parts[0].text

    assert read() == TEXT
    return read


def _client(library: Any, make: str, name: str) -> Any:
    http = import_module("httpx2")
    headers = {"content-type": "text/event-stream"}
    transport = http.MockTransport(lambda _: http.Response(200, headers=headers, content=STREAMS[name]))
    return getattr(library, make)(
        api_key="none", base_url="http://loopback/v1", http_client=http.Client(transport=transport)
    )


def _openai(library: Any, name: str) -> Callable[[], object]:
    if name != "openai":
        return lambda: None
    client = _client(library, "OpenAI", name)

    def read() -> object:
        with client.chat.completions.stream(model="mint-1", messages=[{"role": "user", "content": "Go."}]) as stream:
            told = sum(1 for _ in stream)
            assert told > EVENTS
            return stream.get_final_completion().choices[0].message.content

    assert read() == TEXT
    return read


def _anthropic(library: Any, name: str) -> Callable[[], object]:
    if name != "anthropic":
        return lambda: None
    client = _client(library, "Anthropic", name)

    def read() -> object:
        asked = [{"role": "user", "content": "Go."}]
        with client.messages.stream(model="mint-1", max_tokens=9, messages=asked) as stream:
            told = sum(1 for _ in stream)
            assert told > EVENTS
            return stream.get_final_message().content[0].text

    assert read() == TEXT
    return read


def _llm_path(_library: Any, name: str) -> Callable[[], object]:
    module = "claude" if name == "anthropic" else name
    parser = getattr(import_module(f"llm_path.cook.providers.{module}"), f"_parse_{module}_sse")
    lines = [line for line in STREAMS[name].decode().split("\n") if line]
    assert TEXT in str(parser(lines))
    return lambda: parser(lines)


def _orjson(library: Any, name: str) -> Callable[[], object]:
    lines = [line[6:] for line in STREAMS[name].split(b"\n") if line.startswith(b"data: {")]

    def read() -> object:
        loads = library.loads
        for line in lines:
            loads(line)
        return None

    return read
