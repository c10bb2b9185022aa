"""Pointers, frames, settings and targets: T-51 to T-54."""

from __future__ import annotations

from typing import Any

import pytest

from weft.errors import UsageError
from weft.providers import (
    PROVIDERS,
    SIZES,
    KeyPlaces,
    Pointer,
    ProviderAdapter,
    Registry,
    Secret,
    adjust,
    is_disabled,
    latest_frames,
    merged_table,
    pointer_table,
    provider,
    read_reference,
    with_pointer,
    without_pointer,
)
from weft.wire import DIALECTS

CANARY = "sk-canary-9f3b7c21"


def a_registry(environ: dict[str, str] | None = None, **rest: Any) -> Registry:
    environ = environ or {}
    return Registry(KeyPlaces(environ, use_keyring=False), environ, **rest)


def test_t51_the_latest_frame_per_name_wins_and_a_null_key_disables() -> None:
    """T-51."""
    frames: list[dict[str, Any]] = [
        {"name": "openai", "key": "first"},
        {"name": "anthropic", "key": "one"},
        {"name": "openai", "key": "second"},
        {"name": "anthropic", "key": None},
        {"odd": True},
    ]

    registry = a_registry({"ANTHROPIC_API_KEY": "there", "GROQ_API_KEY": "there"}, frames=frames)

    assert latest_frames(frames) == {"openai": frames[2], "anthropic": frames[3]}
    assert registry.key("openai").secret == Secret("second")
    assert (registry.enabled("openai"), registry.enabled("anthropic")) == (True, False)
    assert (registry.enabled("groq"), registry.enabled("mistral")) == (True, False)
    with pytest.raises(UsageError, match=r"anthropic is switched off\n  switch it on: weft provider enable anthropic"):
        registry.target("anthropic/claude-x")


@pytest.mark.parametrize(
    ("frame", "disabled"),
    [
        (None, False),
        ({"name": "x", "key": "k"}, False),
        ({"name": "x", "key": None}, True),
        ({"name": "x", "key_env": "VAR"}, False),
        ({"name": "x", "key_in": "file"}, False),
    ],
)
def test_t51_only_a_key_that_is_null_and_nowhere_else_switches_off(
    frame: dict[str, Any] | None, *, disabled: bool
) -> None:
    assert is_disabled(frame) is disabled


def test_t52_setting_a_pointer_gives_a_new_whole_table() -> None:
    """T-52."""
    table = {"kilo": {"provider": "openai", "model": "a"}, "nano": {"provider": "openai", "model": "b"}}

    changed = with_pointer(table, "kilo", Pointer("anthropic", "c"))

    assert changed == {"kilo": {"provider": "anthropic", "model": "c"}, "nano": {"provider": "openai", "model": "b"}}
    assert table["kilo"] == {"provider": "openai", "model": "a"}
    assert without_pointer(changed, "nano") == {"kilo": {"provider": "anthropic", "model": "c"}}
    assert with_pointer(None, "x", Pointer("openai", "m")) == {"x": {"provider": "openai", "model": "m"}}
    with pytest.raises(UsageError, match="no pointer is called 'mega'"):
        without_pointer(changed, "mega")
    with pytest.raises(UsageError, match="needs a name"):
        with_pointer(None, " ", Pointer("openai", "m"))


@pytest.mark.parametrize("name", [*SIZES, "kilo.r", "my favourite", "ünïcode", "a/b", "openai"])
def test_t53_pointer_names_are_free_text_and_the_dot_is_part_of_them(name: str) -> None:
    """T-53."""
    table = {name: Pointer("openai", "m"), "kilo-other": Pointer("openai", "n")}

    assert read_reference(name, table, PROVIDERS) == Pointer("openai", "m")


def test_t53_a_reasoning_variant_is_not_derived() -> None:
    """T-53: `kilo.r` is a name of its own, not a lookup in `kilo`."""
    with pytest.raises(
        UsageError, match=r"no pointer is called 'kilo\.r'\n  near it: kilo\n  set it: weft alias set kilo\.r"
    ):
        read_reference("kilo.r", {"kilo": Pointer("openai", "m")}, PROVIDERS)


def test_t54_a_pointer_is_shown_with_its_key_masked() -> None:
    """T-54: a key never appears in any view."""
    frames = [{"name": "openai", "key": CANARY}]
    registry = a_registry(frames=frames, pointers={"kilo": {"provider": "openai", "model": "m"}})

    assert registry.pointer_view("kilo") == {"provider": "openai", "model": "m", "key": "****"}
    shown = repr([registry, registry.summary(), registry.target("kilo"), registry.key("openai"), registry.places])
    assert CANARY not in shown
    with pytest.raises(UsageError, match="no pointer is called 'kila'"):
        registry.pointer_view("kila")
    with pytest.raises(UsageError):
        registry.pointer_view("openai/m")


def test_the_summary_lists_every_provider_and_pointer() -> None:
    registry = a_registry({"OPENAI_API_KEY": "k"}, pointers={"kilo": {"provider": "openai", "model": "m"}})

    summary = registry.summary()

    assert [entry["name"] for entry in summary["providers"]] == list(PROVIDERS)
    assert {entry["name"] for entry in summary["providers"] if entry["enabled"]} == {"openai", "openai-responses"}
    assert summary["ptrs"] == {"kilo": {"provider": "openai", "model": "m"}}


def test_a_target_is_a_row_a_model_and_a_key_with_its_source() -> None:
    registry = a_registry({"OPENAI_API_KEY": "k-1234", "OPENAI_BASE_URL": "http://10.0.0.1/v1"})

    target = registry.target("openai/org/model:free")

    assert (target.provider.base_url, target.model) == ("http://10.0.0.1/v1", "org/model:free")
    assert (target.key, target.source) == (Secret("k-1234"), "environment OPENAI_API_KEY")
    assert registry.target("ollama/llama3").key is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openia/m", r"no provider is called 'openia'\n  near it: openai"),
        ("zzz/m", r"no provider is called 'zzz'\n  known: anthropic"),
        ("openai/", r"'openai' needs a model: openai/<model>"),
        ("openai", r"'openai' needs a model"),
        ("kila", r"no pointer is called 'kila'\n  none is set yet"),
        ("claude-x", r"no pointer is called 'claude-x'\n  a model is named with who has it: anthropic/claude-x\n"),
    ],
)
def test_a_name_that_leads_nowhere_is_told_with_those_near_it(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        a_registry().target(text)


def test_pointers_of_the_settings_stand_until_the_store_says_otherwise() -> None:
    settings = {"pointers": {"kilo": "openai/a", "nano": {"provider": "groq", "model": "b"}}}

    registry = a_registry(settings=settings, pointers={"kilo": {"provider": "anthropic", "model": "c"}})

    assert registry.pointers == {"kilo": Pointer("anthropic", "c"), "nano": Pointer("groq", "b")}
    assert str(registry.pointers["kilo"]) == "anthropic/c"
    with pytest.raises(UsageError, match='pointers in the settings: kilo must be "provider/model"'):
        pointer_table(None, {"kilo": "claude"})


# -- rows from the settings ------------------------------------------------------------------------------------


def test_any_openai_compatible_server_is_an_entry_of_the_settings() -> None:
    entry = {
        "base_url": "https://llm.example.org/v1",
        "key_env": "MINE_KEY",
        "headers": {"x-team": "harbour"},
        "query": {"v": "2"},
        "renames": {"max_tokens": "max_new_tokens"},
        "roles": {"developer": "system"},
        "refuses": ["seed"],
        "reasoning_field": "reasoning",
    }

    registry = a_registry({"MINE_KEY": "k-1234"}, settings={"providers": {"mine": entry}})

    target = registry.target("mine/m")
    assert (target.provider.dialect, target.key) == ("openai_chat", Secret("k-1234"))
    assert target.provider.headers == (("x-team", "harbour"),)
    assert ProviderAdapter(target.provider).id.provider == "mine"
    body = {"max_tokens": 5, "seed": 1, "messages": [{"role": "developer", "content": "x"}]}
    assert [item.description for item in adjust(body, target.provider)] == ["seed"]
    assert body == {"max_new_tokens": 5, "messages": [{"role": "system", "content": "x"}]}
    assert provider("mine", registry.table) is target.provider


def test_an_entry_without_a_key_variable_needs_no_key() -> None:
    registry = a_registry(settings={"providers": {"mine": {"base_url": "https://llm.example.org/v1"}}})

    assert registry.target("mine/m").source == "none needed"


def test_an_entry_of_a_known_name_changes_only_what_it_says_and_outdoes_the_sdks_variable() -> None:
    settings = {"providers": {"openai": {"base_url": "http://127.0.0.1:9/v1"}}}

    registry = a_registry({"OPENAI_BASE_URL": "http://elsewhere"}, settings=settings)

    row = registry.row("openai")
    assert row.base_url == "http://127.0.0.1:9/v1"
    assert (row.keys, row.quirks) == (PROVIDERS["openai"].keys, PROVIDERS["openai"].quirks)


@pytest.mark.parametrize(
    ("providers", "said"),
    [
        ({"mine": 5}, r"\[providers\.mine\] must be a table"),
        ({"a/b": {"base_url": "x"}}, "has no slash"),
        ({"mine": {}}, r"\[providers\.mine\] needs a base_url"),
        ({"mine": {"base_url": 5}}, r"\[providers\.mine\] base_url must be a text"),
        (
            {"mine": {"base_url": "x", "dialect": "latin"}},
            f"no dialect is called 'latin'\n  known: {', '.join(DIALECTS)}",
        ),
        ({"mine": {"base_url": "x", "hedaers": {}}}, "nothing is called 'hedaers'\n  known: dialect, base_url"),
        ({"mine": {"base_url": "x", "key_env": 5}}, "key_env must be a list of texts"),
        ({"mine": {"base_url": "x", "headers": ["a"]}}, "headers must be a table of texts"),
        (
            {"mine": {"base_url": "x", "key": CANARY}},
            "a key does not belong in the settings\n  keep it: weft keys set mine",
        ),
        ({"mine": {"base_url": "x", "headers": {"X-Api-Key": CANARY}}}, "a key does not belong in the settings"),
    ],
)
def test_an_entry_that_is_wrong_is_refused_with_its_place(providers: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        merged_table(providers)

    assert CANARY not in str(caught.value)


def test_rooms_are_named_once_where_a_frame_of_gpt2099_holds_the_key_itself() -> None:
    registry = a_registry(frames=[{"name": "openai", "key": CANARY}])

    assert registry.key("openai") == (Secret(CANARY), "store")
