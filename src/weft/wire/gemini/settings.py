"""The settings of a request: where each stands in the two shapes, and in which spelling.

REST has instructions and tools at the root and numbers in `generationConfig`; the SDK has all of them in `config`.
`extra_body` holds the rest, in the shape it came in. Three things in it are about how to write, not what: a `config`
object (the body had the SDK's shape), a null (the key is spelled this way, its value is in the spec), and tools or
a schema in words of Gemini's that canon has read as well (they go back unless the spec says otherwise by now).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from weft.canon import RunSpec, ToolSpecification, freeze, thaw
from weft.wire.body import deep_merge, residue, same
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.gemini.schema import other_tools, read_schema, read_tools, schema_key, write_tools
from weft.wire.gemini.spelling import CAMEL, SNAKE, find
from weft.wire.gemini.way import Way, way_of

__all__ = ["Place", "Shape", "decode_spec", "encode_settings", "find_shape"]

NUMBERS = {"maxOutputTokens": "max_output_tokens", "temperature": "temperature", "topP": "top_p", "seed": "seed"}
WHOLE = ("maxOutputTokens", "seed")
_FAITHFUL = way_of(FAITHFUL)


class Place:
    """An object that settings are put into, and what `extra_body` keeps for it."""

    __slots__ = ("kept", "snake", "written")

    def __init__(self, kept: Json, *, snake: bool) -> None:
        """Begin with nothing written."""
        self.written: Json = {}
        self.kept = kept
        self.snake = snake

    def put(self, name: str, value: Any) -> None:
        """Write a setting, in the spelling that was kept for it or else in the usual one."""
        usual, other = (SNAKE[name], name) if self.snake else (name, SNAKE[name])
        if self.kept.get(usual, value) is None:
            del self.kept[usual]
        if self.kept.get(other, value) is None:
            del self.kept[other]
            usual = other
        self.written[usual] = value

    def drop(self, *names: str) -> None:
        """Forget what was kept under some names."""
        for name in names:
            self.kept.pop(name, None)
            self.kept.pop(SNAKE[name], None)

    def merged(self) -> Json:
        """Give what was written with what was kept on top [M-44]."""
        try:
            return deep_merge(self.written, self.kept)
        except RecursionError:  # two schemas nested past any sense: one of them is enough
            return {**self.written, **self.kept}


class Shape(NamedTuple):
    """Where things stand: `home` for instructions and tools, `settings` for numbers (in the SDK's shape the same)."""

    home: Place
    settings: Place
    config: bool
    numbers_key: str  # how `generationConfig` is spelled
    root: Json  # what is kept beside `config`


# -- canon to wire ---------------------------------------------------------------------------------------------


def find_shape(spec: RunSpec, way: Way) -> Shape:
    """Choose the shape a request is written in."""
    kept: Json = thaw(spec.extra_body) if spec.extra_body else {}
    inner = kept.get("config")
    if way.config or (way.as_given and isinstance(inner, dict)):
        root: Json = {}
        if isinstance(inner, dict):
            del kept["config"]
            kept, root = inner, kept
        if way.config:
            kept = _respelled(kept, way)
        home = Place(kept, snake=way.snake or way.as_given)
        return Shape(home, home, True, "", root)
    key = "generation_config" if "generation_config" in kept and not way.snake else "generationConfig"
    numbers = kept.pop(key, None)
    if not isinstance(numbers, dict):
        if numbers is not None:
            kept[key] = numbers
        return Shape(Place(kept, snake=way.snake), Place({}, snake=way.snake), False, key, {})
    if not numbers:
        kept[key] = {}  # an empty object was given, and goes back
    return Shape(Place(kept, snake=way.snake), Place(numbers, snake=way.snake), False, key, {})


def _respelled(kept: Json, way: Way) -> Json:
    """Bring what was kept, of either shape and spelling, to the spelling of `config`."""
    for key in ("generationConfig", "generation_config"):
        if isinstance(numbers := kept.get(key), dict):
            del kept[key]
            kept = {**numbers, **kept}
    table = SNAKE if way.snake else CAMEL
    return {table.get(key, key): value for key, value in kept.items()}


def encode_settings(spec: RunSpec, shape: Shape, policy: Policy, way: Way, out: Encoded) -> None:
    """Write every setting into its place and the places into the body."""
    home, settings = shape.home, shape.settings
    for name, field in NUMBERS.items():
        if (value := getattr(spec, field)) is not None:
            settings.put(name, value)
    if spec.response_modalities:
        settings.put("responseModalities", list(spec.response_modalities))
    _put_schema(spec, settings, way)
    _put_tools(spec, home, way)
    if spec.tool_choice is not None:
        home.put("toolConfig", thaw(spec.tool_choice))
    if spec.extra_headers and (policy.sdk_arguments or (way.as_given and shape.config)):
        home.put("httpOptions", {"headers": thaw(spec.extra_headers)})
    if spec.extra_query and policy.sdk_arguments:
        out.lose("extra_query", "google/models.generate_content takes no query parameters")
    body = out.body
    if shape.config:
        if config := home.merged():
            body["config"] = config
        elif way.as_given:
            body["config"] = {}
        deep_merge(body, shape.root)
        return
    if numbers := settings.merged():
        home.written[shape.numbers_key] = numbers
    body.update(home.written)
    deep_merge(body, home.kept)


def _put_schema(spec: RunSpec, settings: Place, way: Way) -> None:
    schema = spec.response_schema
    if schema is None and not way.as_given:
        return
    if (held := read_schema(settings.kept)) is not None:
        agreed = same(freeze(held), schema)
        if agreed and way.as_given:
            return  # in Gemini's own words, which say the same
        if agreed or way.as_given:
            settings.drop("responseSchema", "responseJsonSchema", "responseMimeType")
    if schema is not None:
        settings.put(schema_key(schema, way), thaw(schema))
        settings.put("responseMimeType", "application/json")


def _put_tools(spec: RunSpec, home: Place, way: Way) -> None:
    others: list[Json] = []
    if (held := home.kept.get("tools")) is not None:
        agreed = same(_told(read_tools(held)), _told(spec.tools))
        if agreed and way.as_given:
            return
        if agreed or way.as_given:
            others = other_tools(held)
            home.drop("tools")
    if spec.tools or others:
        functions = write_tools(spec, way, snake=home.snake) if spec.tools else []
        home.put("tools", [*functions, *others])


def _told(tools: Iterable[ToolSpecification]) -> list[Any]:
    return [(tool.name, tool.description, tool.input_schema) for tool in tools]


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    """Read everything but the contents."""
    kept = residue(body, "contents")
    known: Json = {}
    model = kept.pop("model", None)
    if not isinstance(model, str) or not model:  # nothing to name a model by, but it was said
        kept, model = (kept if model is None else {**kept, "model": model}), ""
    config = kept.get("config")
    if isinstance(config, Mapping):
        kept["config"] = home = residue(config)
        _take_numbers(home, known, snake=True)
        _take_rest(home, known, snake=True)
        _take_headers(home, known)
    else:
        key = find(kept, "generationConfig")
        if key is not None and isinstance(numbers := kept[key], Mapping):
            rest = residue(numbers)
            _take_numbers(rest, known, snake=False)
            kept[key] = rest
            if known and not rest and key == "generationConfig":
                del kept[key]
        _take_rest(kept, known, snake=False)
    return RunSpec(provider, "models.generate_content", model, extra_body=kept, **known)


def _take(kept: Json, key: str, name: str, *, snake: bool) -> Any:
    """Take a setting out of what is kept; where it is spelled unusually, a null stays to say so."""
    value = kept.pop(key)
    if key != (SNAKE[name] if snake else name):
        kept[key] = None
    return value


def _take_numbers(kept: Json, known: Json, *, snake: bool) -> None:
    for name, field in NUMBERS.items():
        key = find(kept, name)
        if key is not None and _is_number(kept[key], whole=name in WHOLE):
            known[field] = _take(kept, key, name, snake=snake)
    key = find(kept, "responseModalities")
    if key is not None and _is_texts(kept[key]):
        known["response_modalities"] = tuple(_take(kept, key, "responseModalities", snake=snake))
    schema = read_schema(kept)
    if schema is None:
        return
    known["response_schema"] = schema
    # Taken out only if it would be written again just so; otherwise Gemini's own words stay, and go back.
    written = Place({}, snake=snake)
    _put_schema(RunSpec("", "", "", response_schema=schema), written, _FAITHFUL)
    names = ("responseSchema", "responseJsonSchema", "responseMimeType")
    given = {key: kept[key] for name in names for key in (name, SNAKE[name]) if kept.get(key) is not None}
    if same(written.written, given):
        for key in given:
            del kept[key]


def _take_rest(kept: Json, known: Json, *, snake: bool) -> None:
    if (key := find(kept, "systemInstruction")) is not None and kept[key] != []:
        _take(kept, key, "systemInstruction", snake=snake)  # it is among the messages
    if (key := find(kept, "toolConfig")) is not None:
        known["tool_choice"] = _take(kept, key, "toolConfig", snake=snake)
    if tools := read_tools(kept.get("tools")):
        known["tools"] = tools
        if same(write_tools(RunSpec("", "", "", tools=tuple(tools)), _FAITHFUL, snake=snake), kept["tools"]):
            del kept["tools"]


def _take_headers(kept: Json, known: Json) -> None:
    match kept.get("http_options"):
        case {"headers": Mapping() as headers, **rest} if headers and all(_is_texts(pair) for pair in headers.items()):
            known["extra_headers"] = dict(headers)
            kept["http_options"] = rest
            if not rest:
                del kept["http_options"]


def _is_number(value: Any, *, whole: bool) -> bool:
    return isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, str) for item in value)
