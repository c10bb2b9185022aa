"""RequestPlan: a request ready to send, and the account of what became of everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from weft.canon.freezing import BuiltAnew, empty, freeze_mapping, thaw
from weft.canon.misfit import (
    Misfit,
    each,
    mapping,
    nonempty_text,
    optional_int,
    optional_text,
    reading,
    shown,
    text_tuple,
)
from weft.closed import closed
from weft.errors import PlanValidationError

__all__ = ["AdapterCapabilities", "AdapterId", "CapabilityLevel", "ExcludedItem", "RequestPlan", "plain_plan"]

CapabilityLevel = Literal["yes", "partial", "no"]
_LEVELS = ("yes", "partial", "no")


@closed
@dataclass(frozen=True, slots=True)
class AdapterId:
    """Which endpoint of which provider an adapter speaks to."""

    provider: str
    endpoint: str
    api_version: str | None = None

    def __str__(self) -> str:
        """Write it as `provider/endpoint[@version]`."""
        version = f"@{self.api_version}" if self.api_version else ""
        return f"{self.provider}/{self.endpoint}{version}"

    def to_dict(self) -> dict[str, Any]:
        """Write every field."""
        return {"provider": self.provider, "endpoint": self.endpoint, "api_version": self.api_version}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote [M-22]."""
        return reading("AdapterId", cls.read, value)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read one inside something larger: a misfit goes up to whoever knows the whole path."""
        data = mapping(value)
        return cls(
            nonempty_text(data.get("provider"), "provider"),
            nonempty_text(data.get("endpoint"), "endpoint"),
            optional_text(data.get("api_version"), "api_version"),
        )


@closed
@dataclass(frozen=True, slots=True)
class ExcludedItem:
    """Something that was not sent, and why."""

    description: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Write both fields."""
        return {"description": self.description, "reason": self.reason}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote [M-22]."""
        return reading("ExcludedItem", cls.read, value)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read one inside something larger: a misfit goes up to whoever knows the whole path."""
        data = mapping(value)
        reason = data.get("reason")
        if not isinstance(reason, str):
            raise Misfit("reason", f"must be a string, not {type(reason).__name__}")
        return cls(nonempty_text(data.get("description"), "description"), reason)


@closed
@dataclass(frozen=True, slots=True)
class AdapterCapabilities(BuiltAnew):
    """How far an endpoint supports each RunSpec field."""

    id: AdapterId
    fields: Mapping[str, CapabilityLevel]
    notes: Mapping[str, str] = field(default_factory=empty)

    def __post_init__(self) -> None:
        """Freeze both tables; every level must be known and every note about a field that is there."""
        object.__setattr__(self, "fields", freeze_mapping(self.fields, "AdapterCapabilities.fields"))
        object.__setattr__(self, "notes", freeze_mapping(self.notes, "AdapterCapabilities.notes"))
        for name, level in self.fields.items():
            if level not in _LEVELS:
                raise ValueError(f"capability {name!r} must be yes, partial or no, not {level!r}")
        for name, note in self.notes.items():
            if not isinstance(note, str):
                raise TypeError(f"the note for capability {name!r} must be a string, not {type(note).__name__}")
            if name not in self.fields:
                raise ValueError(f"there is a note for {name!r}, but no such capability")

    def level(self, name: str) -> CapabilityLevel | None:
        """Give the level of one field, None if it is not listed."""
        return self.fields.get(name)

    def is_supported(self, name: str, *, allow_partial: bool = True) -> bool:
        """Tell whether a field can be used."""
        level = self.level(name)
        return level == "yes" or (allow_partial and level == "partial")


@closed
@dataclass(frozen=True, slots=True)
class RequestPlan:
    """The request, and what was included, excluded, mended, and must come back untouched."""

    request: dict[str, Any]
    included: tuple[str, ...] = ()
    excluded: tuple[ExcludedItem, ...] = ()
    must_roundtrip: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    token_estimate: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]  # `request` and `extra` are ordinary dicts

    def __post_init__(self) -> None:
        """Make `request` and `extra` plain, ready for JSON or an SDK [M-5]."""
        for name in ("request", "extra"):
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise TypeError(f"RequestPlan.{name} must be a mapping, not {type(given).__name__}")
            object.__setattr__(self, name, thaw(given))

    def unused_parameter_warnings(self) -> tuple[str, ...]:
        """Say of each excluded item that it was not used, and why."""
        return tuple(f"unused parameter '{item.description}': {item.reason}" for item in self.excluded)

    def warning_messages(self, *, include_unused_parameters: bool = True) -> tuple[str, ...]:
        """Give the warnings, then what was excluded unless switched off."""
        return (*self.warnings, *self.unused_parameter_warnings()) if include_unused_parameters else self.warnings

    def assert_valid(self, *, fail_on_warnings: bool = False, fail_on_excluded: bool = False) -> None:
        """Raise PlanValidationError if the plan has errors, or what else the caller will not accept [M-23]."""
        violations = [f"error: {error}" for error in self.errors]
        if fail_on_warnings:
            violations += [f"warning: {warning}" for warning in self.warnings]
        if fail_on_excluded:
            violations += self.unused_parameter_warnings()
        if violations:
            raise PlanValidationError("\n- ".join(["the request plan is not valid:", *violations]))

    def with_excluded(self, more: Iterable[ExcludedItem]) -> RequestPlan:
        """Give the same plan with more left out, around the same request."""
        return plain_plan(
            self.request,
            included=self.included,
            excluded=(*self.excluded, *more),
            must_roundtrip=self.must_roundtrip,
            warnings=self.warnings,
            errors=self.errors,
            token_estimate=self.token_estimate,
            extra=self.extra,
        )

    def to_dict(self) -> dict[str, Any]:
        """Write every field."""
        return {
            "request": thaw(self.request),
            "included": list(self.included),
            "excluded": [item.to_dict() for item in self.excluded],
            "must_roundtrip": list(self.must_roundtrip),
            "warnings": list(self.warnings),
            "errors": list(self.errors),
            "token_estimate": self.token_estimate,
            "extra": thaw(self.extra),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; only `request` is required [M-22]."""
        return reading("RequestPlan", cls.read, value)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read one inside something larger: a misfit goes up to whoever knows the whole path."""
        data = mapping(value)
        excluded = data.get("excluded", ())
        if not isinstance(excluded, list | tuple):
            raise Misfit("excluded", f"must be a list, not {shown(excluded)}")
        return cls(
            thaw(mapping(data.get("request"), "request")),
            text_tuple(data.get("included"), "included"),
            tuple(each("excluded", excluded, ExcludedItem.read)),
            text_tuple(data.get("must_roundtrip"), "must_roundtrip"),
            text_tuple(data.get("warnings"), "warnings"),
            text_tuple(data.get("errors"), "errors"),
            optional_int(data.get("token_estimate"), "token_estimate"),
            thaw(mapping(data.get("extra", {}), "extra")),
        )


def plain_plan(
    request: dict[str, Any],
    *,
    included: tuple[str, ...] = (),
    excluded: tuple[ExcludedItem, ...] = (),
    must_roundtrip: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    errors: tuple[str, ...] = (),
    token_estimate: int | None = None,
    extra: dict[str, Any] | None = None,
) -> RequestPlan:
    """Build a plan around a request that is plain already: copying it would cost as much as writing it."""
    plan = object.__new__(RequestPlan)
    put = object.__setattr__
    put(plan, "request", request)
    put(plan, "included", included)
    put(plan, "excluded", excluded)
    put(plan, "must_roundtrip", must_roundtrip)
    put(plan, "warnings", warnings)
    put(plan, "errors", errors)
    put(plan, "token_estimate", token_estimate)
    put(plan, "extra", {} if extra is None else extra)
    return plan
