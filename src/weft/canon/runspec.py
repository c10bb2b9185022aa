"""RunSpec: everything about a call except the conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from weft.canon.freezing import EMPTY, BuiltAnew, empty, freeze, freeze_mapping, thaw
from weft.canon.misfit import (
    Misfit,
    each,
    mapping,
    named,
    nonempty_text,
    optional_float,
    optional_int,
    optional_mapping,
    optional_text,
    reading,
    text_mapping,
    text_tuple,
)
from weft.canon.usage import ToolSpecification
from weft.closed import closed

__all__ = ["Instructions", "RunSpec"]


@closed
@dataclass(frozen=True, slots=True)
class Instructions:
    """What the model is told before the conversation starts."""

    system: str | None = None
    developer: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write both fields."""
        return {"system": self.system, "developer": self.developer}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return reading("Instructions", cls.read, value)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read one inside something larger: a misfit goes up to whoever knows the whole path."""
        data = mapping(value)
        return cls(
            optional_text(data.get("system"), "system"),
            optional_text(data.get("developer"), "developer"),
        )


class _Remembers(BuiltAnew):
    """A place, outside the fields, for what is made of a spec's tools (see weft.canon.part.remembered)."""

    __slots__ = ("_memo",)


@closed
@dataclass(frozen=True, slots=True)
class RunSpec(_Remembers):
    """Who is called, with which settings. Fields a provider lacks end up in the plan's `excluded`."""

    provider: str
    endpoint: str
    model: str
    api_version: str | None = None
    instructions: Instructions | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: tuple[ToolSpecification, ...] = ()
    tool_choice: Any = None
    response_schema: Mapping[str, Any] | None = None
    response_modalities: tuple[str, ...] = ()
    extra_body: Mapping[str, Any] = field(default_factory=empty)
    extra_headers: Mapping[str, str] = field(default_factory=empty)
    extra_query: Mapping[str, str] = field(default_factory=empty)
    base_url: str | None = None

    if TYPE_CHECKING:  # what may be given is wider than what is kept

        def __init__(
            self,
            provider: str,
            endpoint: str,
            model: str,
            api_version: str | None = None,
            instructions: Instructions | None = None,
            max_output_tokens: int | None = None,
            seed: int | None = None,
            temperature: float | None = None,
            top_p: float | None = None,
            tools: Iterable[ToolSpecification] = (),
            tool_choice: Any = None,
            response_schema: Mapping[str, Any] | None = None,
            response_modalities: Iterable[str] = (),
            extra_body: Mapping[str, Any] | None = None,
            extra_headers: Mapping[str, str] | None = None,
            extra_query: Mapping[str, str] | None = None,
            base_url: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Freeze what could change, and refuse headers and query values that are not text [M-3, M-6, M-7]."""
        put = object.__setattr__
        put(self, "tools", _tuple(self.tools, "tools"))
        for index, tool in enumerate(self.tools):
            if not isinstance(tool, ToolSpecification):
                raise TypeError(f"RunSpec.tools[{index}] must be a ToolSpecification, not {type(tool).__name__}")
        if self.instructions is not None and not isinstance(self.instructions, Instructions):
            raise TypeError(f"RunSpec.instructions must be Instructions, not {type(self.instructions).__name__}")
        put(self, "response_modalities", _tuple(self.response_modalities, "response_modalities"))
        put(self, "tool_choice", freeze(self.tool_choice))
        if self.response_schema is not None:
            put(self, "response_schema", freeze_mapping(self.response_schema, "RunSpec.response_schema"))
        for name in ("extra_body", "extra_headers", "extra_query"):
            given = getattr(self, name)
            put(self, name, EMPTY if given is None or given is EMPTY else freeze_mapping(given, f"RunSpec.{name}"))
        for name in ("extra_headers", "extra_query"):
            for key, value in getattr(self, name).items():
                if not isinstance(value, str):
                    raise TypeError(f"RunSpec.{name}[{key!r}] must be a string, not {type(value).__name__}")

    def to_dict(self) -> dict[str, Any]:
        """Write every field [M-21]."""
        return {
            "provider": self.provider,
            "endpoint": self.endpoint,
            "model": self.model,
            "api_version": self.api_version,
            "instructions": self.instructions.to_dict() if self.instructions else None,
            "max_output_tokens": self.max_output_tokens,
            "seed": self.seed,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": thaw(tool.input_schema)}
                for tool in self.tools
            ],
            "tool_choice": thaw(self.tool_choice),
            "response_schema": thaw(self.response_schema),
            "response_modalities": list(self.response_modalities),
            "extra_body": thaw(self.extra_body),
            "extra_headers": thaw(self.extra_headers),
            "extra_query": thaw(self.extra_query),
            "base_url": self.base_url,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; what does not fit is named by its path."""
        return reading("RunSpec", cls.read, value)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read one inside something larger: a misfit goes up to whoever knows the whole path."""
        data = mapping(value)
        get = data.get
        instructions, tools = get("instructions"), get("tools")
        if tools is not None and not isinstance(tools, list | tuple):
            raise Misfit("tools", f"must be a list, not {type(tools).__name__}")
        return cls(
            nonempty_text(get("provider"), "provider"),
            nonempty_text(get("endpoint"), "endpoint"),
            nonempty_text(get("model"), "model"),
            optional_text(get("api_version"), "api_version"),
            None if instructions is None else named("instructions", Instructions.read, instructions),
            optional_int(get("max_output_tokens"), "max_output_tokens"),
            optional_int(get("seed"), "seed"),
            optional_float(get("temperature"), "temperature"),
            optional_float(get("top_p"), "top_p"),
            tuple(each("tools", tools or (), _read_tool)),
            get("tool_choice"),
            optional_mapping(get("response_schema"), "response_schema"),
            text_tuple(get("response_modalities"), "response_modalities"),
            optional_mapping(get("extra_body"), "extra_body") or {},
            text_mapping(get("extra_headers"), "extra_headers"),
            text_mapping(get("extra_query"), "extra_query"),
            optional_text(get("base_url"), "base_url"),
        )


def _tuple(values: Any, name: str) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | Mapping):
        raise TypeError(f"RunSpec.{name} must be a sequence, not {type(values).__name__}")
    try:
        return tuple(values)
    except TypeError:
        raise TypeError(f"RunSpec.{name} must be a sequence, not {type(values).__name__}") from None


def _read_tool(value: Any) -> ToolSpecification:
    data = mapping(value)
    description = data.get("description")
    if not isinstance(description, str):
        raise Misfit("description", f"must be a string, not {type(description).__name__}")
    return ToolSpecification(
        nonempty_text(data.get("name"), "name"), description, mapping(data.get("input_schema"), "input_schema")
    )
