"""Agent loops written by hand on the providers' own SDKs: OpenAI's two APIs, Anthropic, Gemini and Cohere."""

# ruff: noqa: T201 - a program that prints
from __future__ import annotations

import json
import os
import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, at import
    import anthropic
    import cohere
    import openai
    from google import genai
    from google.genai import types

DEPTH = 'How deep is it? [[tool depth {"pier": 4}]] [[then]] [[say {results}]]'
SYSTEM = "You are a sailor."
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]}
FUNCTION: dict[str, Any] = {"name": "depth", "description": "How deep it is at a pier", "parameters": SCHEMA}
CHAT_TOOL: dict[str, Any] = {"type": "function", "function": FUNCTION}
Said = list[Any]


def depth(pier: int) -> str:
    """Measure how deep the water is at a pier."""
    return f"6.2 m at pier {pier}"


class OpenAIChat:
    """Chat completions: results are messages of the role `tool`."""

    def __init__(self) -> None:
        self.client: Any = openai.OpenAI()
        self.begin: Said = [{"role": "system", "content": SYSTEM}]

    def ask(self, said: Said, *, stream: bool) -> Said:
        given = {"model": "gpt-5.2", "messages": said, "tools": [CHAT_TOOL]}
        if stream:
            with self.client.chat.completions.stream(**given) as events:
                answer = events.get_final_completion().choices[0].message
        else:
            answer = self.client.chat.completions.create(**given).choices[0].message
        calls = [call.model_dump(include={"id", "type", "function"}) for call in answer.tool_calls or ()]
        for call in calls:
            call["function"].pop("parsed_arguments", None)
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": depth(**json.loads(call["function"]["arguments"]))}
            for call in calls
        ]
        message = {"role": "assistant", "content": answer.content} | ({"tool_calls": calls} if calls else {})
        return [message, *results]


class OpenAIResponses:
    """Responses: what came goes back item by item."""

    def __init__(self) -> None:
        self.client: Any = openai.OpenAI()
        self.begin: Said = []

    def ask(self, said: Said, *, stream: bool) -> Said:
        tool = {"type": "function", **FUNCTION, "strict": False}
        given = {"model": "gpt-5.3", "instructions": SYSTEM, "input": said, "tools": [tool], "store": False}
        if stream:
            with self.client.responses.stream(**given) as events:
                answer = events.get_final_response()
        else:
            answer = self.client.responses.create(**given)
        results = [
            {"type": "function_call_output", "call_id": item.call_id, "output": depth(**json.loads(item.arguments))}
            for item in answer.output
            if item.type == "function_call"
        ]
        sent = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        return [*sent, *results]


class Anthropic:
    """Messages: results are blocks of the user's."""

    def __init__(self) -> None:
        self.client: Any = anthropic.Anthropic()
        self.begin: Said = []

    def ask(self, said: Said, *, stream: bool) -> Said:
        tool = {"name": "depth", "description": FUNCTION["description"], "input_schema": SCHEMA}
        given = {
            "model": "claude-sonnet-4-6",
            "max_tokens": 500,
            "system": SYSTEM,
            "messages": said,
            "tools": [tool],
        }
        if stream:
            with self.client.messages.stream(**given) as events:
                answer = events.get_final_message()
        else:
            answer = self.client.messages.create(**given)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": depth(**block.input)}
            for block in answer.content
            if block.type == "tool_use"
        ]
        blocks = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in answer.content]
        return [{"role": "assistant", "content": blocks}, *([{"role": "user", "content": results}] if results else [])]


class Gemini:
    """generateContent: contents with parts."""

    def __init__(self) -> None:
        self.client = genai.Client()
        self.begin: Said = []

    def ask(self, said: Said, *, stream: bool) -> Said:
        declared = types.FunctionDeclaration(
            name="depth", description=FUNCTION["description"], parameters_json_schema=SCHEMA
        )
        config = types.GenerateContentConfig(
            system_instruction=SYSTEM, tools=[types.Tool(function_declarations=[declared])]
        )
        given: dict[str, Any] = {"model": "gemini-3-pro-preview", "contents": [_content(each) for each in said]}
        models = self.client.models
        if stream:
            pieces = list(models.generate_content_stream(**given, config=config))
            parts = [part for piece in pieces for each in piece.candidates or () for part in _parts(each)]
        else:
            whole = models.generate_content(**given, config=config)
            parts = [part for each in whole.candidates or () for part in _parts(each)]
        if parts and all(part.text is not None and not part.thought_signature for part in parts):
            parts = [types.Part(text="".join(part.text or "" for part in parts))]
        results = [
            types.Part.from_function_response(
                name="depth", response={"result": depth(**(part.function_call.args or {}))}
            )
            for part in parts
            if part.function_call
        ]
        answer = types.Content(role="model", parts=parts)
        return [answer, *([types.Content(role="user", parts=results)] if results else [])]


def _content(said: Any) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=said["content"])]) if isinstance(said, dict) else said


def _parts(candidate: types.Candidate) -> list[types.Part]:
    return (candidate.content.parts if candidate.content else None) or []


class Cohere:
    """Chat v2."""

    def __init__(self) -> None:
        self.client: Any = cohere.ClientV2(api_key=os.environ["CO_API_KEY"], base_url=os.environ["CO_API_URL"])
        self.begin: Said = [{"role": "system", "content": SYSTEM}]

    def ask(self, said: Said, *, stream: bool) -> Said:
        given = {"model": "command-a-03-2025", "messages": said, "tools": [CHAT_TOOL]}
        calls: list[dict[str, Any]] = []
        text = ""
        if stream:
            for event in self.client.chat_stream(**given):
                if event.type == "tool-call-start":
                    call = event.delta.message.tool_calls
                    calls.append({"id": call.id, "type": "function", "function": dict(call.function)})
                elif event.type == "tool-call-delta":
                    calls[-1]["function"]["arguments"] += event.delta.message.tool_calls.function.arguments
                elif event.type == "content-delta":
                    text += event.delta.message.content.text or ""
        else:
            answer = self.client.chat(**given).message
            calls = [{"id": c.id, "type": "function", "function": dict(c.function)} for c in answer.tool_calls or ()]
            text = "".join(block.text for block in answer.content or ())
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": depth(**json.loads(call["function"]["arguments"]))}
            for call in calls
        ]
        message: dict[str, Any] = {"role": "assistant"} | ({"content": text} if text else {})
        return [message | ({"tool_calls": calls} if calls else {}), *results]


def main() -> None:
    """Ask each: once whole, once streamed, and once more in the conversation that was streamed."""
    for kind in (OpenAIChat, OpenAIResponses, Anthropic, Gemini, Cohere):
        api: Any = kind()
        said: Said = []
        for words, stream in (("Whole.", False), ("Streamed.", True)):
            said = [*api.begin, {"role": "user", "content": f"{words} {DEPTH}"}]
            for _ in range(2):
                said += api.ask(said, stream=stream)
        said.append({"role": "user", "content": "And there?"})
        said += api.ask(said, stream=False)
        print(kind.__name__, len(said))


if __name__ == "__main__":
    main()
