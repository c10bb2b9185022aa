"""Values of the types that providers publish: random, and valid by them.

OpenAI and Anthropic publish TypedDicts and pydantic models, Google and Cohere pydantic models, AWS a service model.
What is drawn from them has every kind of block, tool and setting there is, also those that no recording has.
"""

from __future__ import annotations

import base64
import enum
import random
import types
import typing
import warnings
from collections import abc
from typing import Any, get_args, get_origin

import pydantic
import typing_extensions as te

__all__ = ["Drawing", "bedrock_shape", "published"]

Json = dict[str, Any]
WORDS = ("tide", "pier", "harbour", "gull", "rope", "knot", "lamp", "anchor", "buoy", "reef")
BYTES = base64.b64encode(b"some bytes").decode()
DATA = frozenset({"data", "file_data", "b64_json", "result", "partial_image_b64"})
ADDRESSES = frozenset({"url", "image_url", "file_url", "uri", "file_uri", "server_url"})
ARGUMENTS = ("{}", '{"a": 1}', '{"b":["x", 2.5, null]}')
MEDIA_TYPES = ("image/png", "application/pdf", "text/plain")
# What the types leave open, and no answer leaves out.
NEEDED: dict[str, tuple[str, ...]] = {
    "FunctionCall": ("name",),
    "FunctionResponse": ("name",),
    "ToolCallV2": ("function",),
}
NEEDED |= {"ToolCallV2Function": ("name", "arguments"), "FunctionDeclaration": ("name",)}
NOT_JSON = ("PathLike", "IO[", "Callable", "PIL", "ClientSession", "Tuple[")  # what an SDK takes, and no wire carries
LISTS = (list, tuple, set, frozenset, abc.Iterable, abc.Sequence, abc.MutableSequence)
DEEPEST = 7


def published(path: str) -> Any:
    """Import a type by its dotted name."""
    module, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what SDKs say about themselves while they are imported
        return getattr(__import__(module, fromlist=[name]), name)


class Drawing:
    """Draws values of types; the same ones for the same seed."""

    def __init__(self, seed: int, *, by_alias: bool = True, without: tuple[str, ...] = ()) -> None:
        self.luck = random.Random(seed)
        self._by_alias = by_alias
        self._without = without
        self._count = 0

    def of(self, kind: Any, depth: int = 0, name: str = "") -> Any:
        """Draw a value of a type; `name` is that of the field it is for."""
        origin, inner = get_origin(kind), get_args(kind)
        if kind is None or kind is type(None):
            return None
        if origin is typing.Literal:
            return self.luck.choice(inner)
        if origin in (te.Required, te.NotRequired, typing.Required, typing.NotRequired, typing.Annotated):
            return self.of(inner[0], depth, name)
        if origin in (typing.Union, types.UnionType):
            return self.of(self._member(inner, depth), depth, name)
        if kind is list or origin in LISTS:
            count = 0 if depth > DEEPEST else self.luck.choice((0, 1, 1, 2, 3))
            return [self.of(inner[0] if inner else Any, depth + 1, name) for _ in range(count)]
        if kind is dict or origin in (dict, abc.Mapping):
            value = inner[1] if inner else Any
            return {self.luck.choice(WORDS): self.of(value, depth + 1) for _ in range(self.luck.randint(0, 2))}
        if te.is_typeddict(kind):
            return self._typed_dict(kind, depth)
        if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
            return self._model(kind, depth)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return self.luck.choice([member.value for member in kind] or ["NEW"])
        return self._scalar(kind, name)

    def text(self, name: str = "") -> str:
        """Draw a text that fits the name of its field; no two are the same, save bytes, types and arguments."""
        self._count += 1
        if name in DATA:
            return BYTES
        if name in ADDRESSES:
            return f"https://example.org/{self._count}.png"
        if name == "arguments":
            return self.luck.choice(ARGUMENTS)
        if name in ("media_type", "mime_type"):
            return self.luck.choice(MEDIA_TYPES)
        if name in ("id", "name") or name.endswith("_id"):
            return f"{name}_{self._count}"
        return f"{' '.join(self.luck.choices(WORDS, k=self.luck.randint(1, 4)))} {self._count}"

    def _member(self, members: tuple[Any, ...], depth: int) -> Any:
        fitting = [member for member in members if not any(word in str(member) for word in NOT_JSON)]
        if depth > DEEPEST:
            flat = [member for member in fitting if member in (str, int, bool) or get_origin(member) is typing.Literal]
            fitting = flat or fitting
        return self.luck.choice([member for member in fitting if member is not type(None)] or fitting)

    def _is_drawn(self, depth: int) -> bool:
        return depth <= DEEPEST and self.luck.random() < 0.35 / (1 + depth / 4)

    def _typed_dict(self, kind: Any, depth: int) -> Json:
        written: Json = {}
        for key, hint in te.get_type_hints(kind, include_extras=True).items():
            mark: Any = get_origin(hint)
            open_ended = mark in (te.NotRequired, typing.NotRequired) or not kind.__total__
            needed = mark in (te.Required, typing.Required) or not open_ended
            if key not in self._without and (needed or self._is_drawn(depth)):
                written[key] = self.of(hint, depth + 1, key)
        return written

    def _model(self, kind: type[pydantic.BaseModel], depth: int) -> Json:
        written: Json = {}
        for name, field in kind.model_fields.items():
            if name in self._without or any(word in str(field.annotation) for word in NOT_JSON[2:5]):
                continue
            needed = field.is_required() or name in NEEDED.get(kind.__name__, ())
            constant = get_origin(field.annotation) is typing.Literal  # the tag of a union
            if needed or constant or self._is_drawn(depth):
                key = (field.alias or name) if self._by_alias else name
                written[key] = self.of(field.annotation, depth + 1, name)
        return written

    def _scalar(self, kind: Any, name: str) -> Any:
        if kind is str:
            return self.text(name)
        if kind is bool:
            return self.luck.random() < 0.5
        if kind is int:
            return self.luck.randint(0, 999)
        if kind is float:
            return self.luck.choice((0.5, 1.0, 0.25))
        if kind is bytes:
            return BYTES
        if str(kind) == "<class 'datetime.datetime'>":
            return "2026-03-01T09:00:00Z"
        return self.luck.choice(({"k": self.text(), "n": [1, 2.5, True, None]}, self.text(), 3, [self.text()]))


def bedrock_shape(drawing: Drawing, shape: Any, depth: int = 0, name: str = "") -> Any:
    """Draw a value of a shape of AWS's service model."""
    luck = drawing.luck
    match shape.type_name:
        case "structure" if getattr(shape, "is_tagged_union", False):
            key, member = luck.choice(list(shape.members.items()))
            return {key: bedrock_shape(drawing, member, depth + 1, key)}
        case "structure":
            return {
                key: bedrock_shape(drawing, member, depth + 1, key)
                for key, member in shape.members.items()
                if key in shape.required_members or (depth < 8 and luck.random() < 0.4)
            }
        case "list":
            count = 0 if depth > 8 else luck.choice((1, 1, 2))
            return [bedrock_shape(drawing, shape.member, depth + 1) for _ in range(count)]
        case "map":
            return {luck.choice(WORDS): bedrock_shape(drawing, shape.value, depth + 1)}
        case "string":
            return luck.choice(shape.enum) if shape.enum else drawing.text(name)
        case "integer" | "long":
            return luck.randint(1, 99)
        case "float" | "double":
            return 0.5
        case "boolean":
            return luck.random() < 0.5
        case "blob":
            return BYTES
        case _:
            return {"k": drawing.text()}
