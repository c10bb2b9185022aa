"""The providers' own published types, asked whether they accept a request.

OpenAI and Anthropic publish TypedDicts, Google and Cohere pydantic models, AWS a service model. Unknown fields are
refused everywhere, as the services do. Each validator gives None, or a line that says where and what.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TARGETS", "check"]

Json = dict[str, Any]

# Where a conversation can be taken to. Ollama publishes no types that are among the test dependencies.
TARGETS = ("openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere", "ollama")
SDK_ARGUMENTS = ("extra_headers", "extra_query", "extra_body")  # of every method of the SDKs, beside the body
# model.md, section 10: reasoning goes back to OpenAI-compatible servers in fields that OpenAI's own types lack.
COMPATIBLE = ("reasoning_content", "reasoning", "reasoning_details")
# model.md, section 9: Anthropic's service takes these for the models that have them; its newest types do not list them.
SAMPLING = ("temperature", "top_p", "top_k")


def check(target: str, request: Json) -> str | None:
    """Ask a provider's types about a request."""
    return _validators()[target](request)


@cache
def _validators() -> dict[str, Callable[[Json], str | None]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what SDKs say about themselves while they are imported
        return {
            "openai_chat": _typed_dict(
                "openai.types.chat.completion_create_params", "CompletionCreateParams", in_messages=COMPATIBLE
            ),
            "openai_responses": _typed_dict("openai.types.responses.response_create_params", "ResponseCreateParams"),
            "anthropic": _typed_dict("anthropic.types.message_create_params", "MessageCreateParams", SAMPLING),
            "gemini": _gemini(),
            "bedrock": _bedrock(),
            "cohere": _cohere(),
            "ollama": lambda _: None,
        }


# -- OpenAI and Anthropic: TypedDicts --------------------------------------------------------------------------------


def _typed_dict(
    module: str, name: str, besides: tuple[str, ...] = (), in_messages: tuple[str, ...] = ()
) -> Callable[[Json], str | None]:
    import pydantic
    import pydantic_core

    found = import_module(module)
    _refuse_unknown_keys(module.split(".", 1)[0])
    adapters = {}
    for streaming in (True, False):
        adapter = pydantic.TypeAdapter(getattr(found, f"{name}{'Streaming' if streaming else 'NonStreaming'}"))
        adapters[streaming] = pydantic_core.SchemaValidator(_with_lists(adapter.core_schema))

    def validate(request: Json) -> str | None:
        body = {key: value for key, value in request.items() if key not in SDK_ARGUMENTS and key not in besides}
        if in_messages and isinstance(messages := body.get("messages"), list):
            body["messages"] = [
                {key: value for key, value in message.items() if key not in in_messages} for message in messages
            ]
        return _asked(lambda: adapters[body.get("stream") is True].validate_python(body))

    return validate


@cache
def _refuse_unknown_keys(package: str) -> None:
    import pydantic
    from typing_extensions import is_typeddict

    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.types"):
            for value in list(vars(module).values()):
                if is_typeddict(value):
                    value.__pydantic_config__ = config


def _with_lists(schema: Any) -> Any:
    """Have lists checked whole: the types say Iterable, which pydantic checks only as far as it is used up."""
    if isinstance(schema, dict):
        is_schema = isinstance(schema.get("type"), str)  # or else the fields of one, of which any may be "metadata"
        written = {key: _with_lists(value) for key, value in schema.items() if key != "metadata" or not is_schema}
        return {**written, "type": "list"} if schema.get("type") == "generator" else written
    return [_with_lists(item) for item in schema] if isinstance(schema, list) else schema


# -- Google, Cohere and AWS --------------------------------------------------------------------------------


def _gemini() -> Callable[[Json], str | None]:
    import pydantic
    from google.genai import types

    contents = pydantic.TypeAdapter(list[types.Content])

    def validate(request: Json) -> str | None:
        if unknown := set(request) - {"model", "contents", "config"}:
            return f"{min(unknown)}: not an argument of generate_content"
        return _asked(lambda: contents.validate_python(request["contents"])) or _asked(
            lambda: types.GenerateContentConfig.model_validate(request.get("config") or {})
        )

    return validate


def _cohere() -> Callable[[Json], str | None]:
    import inspect
    import typing

    import pydantic
    from cohere.v2.client import V2Client

    hints = typing.get_type_hints(V2Client.chat, include_extras=True)
    needed = [
        name
        for name, parameter in inspect.signature(V2Client.chat).parameters.items()
        if parameter.default is inspect.Parameter.empty and name != "self"
    ]
    adapters = {
        name: pydantic.TypeAdapter(hint) for name, hint in hints.items() if name not in ("return", "request_options")
    }

    def validate(request: Json) -> str | None:
        body = {key: value for key, value in request.items() if key not in (*SDK_ARGUMENTS, "stream")}
        for name in needed:
            if name not in body:
                return f"{name}: missing"
        for name, value in body.items():
            if name not in adapters:
                return f"{name}: not an argument of chat"
            if found := _asked(lambda: adapters[name].validate_python(value), name):  # noqa: B023  # called at once
                return found
        return None

    return validate


def _bedrock() -> Callable[[Json], str | None]:
    import botocore.session  # type: ignore[import-untyped]
    from botocore.validate import ParamValidator  # type: ignore[import-untyped]

    model = botocore.session.Session().get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape
    validator = ParamValidator()

    def validate(request: Json) -> str | None:
        report = validator.validate(request, shape).generate_report()
        return report.splitlines()[0].partition(", value:")[0] if report else None

    return validate


def _asked(question: Callable[[], Any], at: str = "") -> str | None:
    import pydantic
    import pydantic_core

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            question()
        except (pydantic.ValidationError, pydantic_core.ValidationError) as refused:
            errors = refused.errors(include_input=False, include_url=False, include_context=False)
            error = _likeliest([(each["loc"], each["msg"]) for each in errors])
            return f"{at}{'.'.join(str(step)[:40] for step in error[0])}: {error[1][:120]}"
    return None


_Error = tuple[tuple[int | str, ...], str]


def _likeliest(errors: list[_Error], depth: int = 0) -> _Error:
    """Of a union's complaints, take those of the member that was meant: its tag fits, and it has the fewest."""
    branches: dict[Any, list[_Error]] = {}
    for error in errors:
        branches.setdefault(error[0][depth] if len(error[0]) > depth else None, []).append(error)
    meant = min(branches.values(), key=lambda branch: (any(map(_is_misfit, branch)), len(branch)))
    deeper = len(meant) > 1 and any(len(loc) > depth + 1 for loc, _ in meant)
    return _likeliest(meant, depth + 1) if deeper else meant[0]


def _is_misfit(error: _Error) -> bool:
    """Tell whether a complaint is about being another member of the union altogether."""
    return error[0][-1:] in (("role",), ("type",), ("str",)) and error[1].startswith("Input should be")
