from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

import weft
from weft import errors
from weft.errors import (
    BadBlobIdError,
    BlobIntegrityError,
    BlobNotFoundError,
    ContextError,
    McpError,
    PlanValidationError,
    ProviderError,
    StfSyntaxError,
    StoreError,
    TraceFormatError,
    WeftError,
    WireError,
)

ROOMS = [name for _, name, _ in pkgutil.walk_packages(weft.__path__, "weft.") if not name.endswith("__main__")]


def test_every_public_name_is_really_there() -> None:
    missing = [name for name in weft.__all__ if not hasattr(weft, name)]

    assert missing == []
    assert len(set(weft.__all__)) == len(weft.__all__)
    assert set(weft.__all__) <= set(dir(weft))


def test_the_type_checker_sees_the_same_names_as_a_program() -> None:
    """`__init__` lists each name twice: for type checkers, and in the table it is loaded from."""
    with open(weft.__file__, encoding="utf-8") as source:
        lines = source.read().splitlines()
    imported = {line.split(" as ")[1] for line in lines if line.startswith("    from weft.") and " as " in line}

    assert imported | {"__version__"} == set(weft.__all__)


@pytest.mark.parametrize("room", ["weft.canon", "weft.blobs", "weft.errors", "weft.ids", "weft.jsontext"])
def test_a_room_gives_the_names_it_lists(room: str) -> None:
    module: Any = importlib.import_module(room)

    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize(
    "name", [name for name in ROOMS if name.startswith(("weft.canon", "weft.blobs", "weft.errors", "weft.ids"))]
)
def test_every_module_says_what_is_public(name: str) -> None:
    module: Any = importlib.import_module(name)

    assert [listed for listed in module.__all__ if not hasattr(module, listed)] == []
    assert module.__doc__


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'no_such_name'"):
        getattr(weft, "no_such_name")  # noqa: B009 - a plain attribute would not pass the type checker


def test_importing_weft_loads_nothing_else() -> None:
    """A command that needs no conversation must not pay for one."""
    program = "import sys, weft; print(sorted(name for name in sys.modules if name.startswith('weft')))"

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "['weft', 'weft.version']"


def test_every_error_is_a_weft_error() -> None:
    """Section 7 of the model: one tree."""
    kinds = [getattr(errors, name) for name in errors.__all__]

    assert [kind for kind in kinds if not issubclass(kind, WeftError)] == []
    assert {BlobNotFoundError, BlobIntegrityError, ContextError, PlanValidationError} <= set(kinds)
    assert issubclass(BlobNotFoundError, StoreError)
    assert {kind.__name__ for kind in kinds} == {
        name for name, kind in vars(errors).items() if isinstance(kind, type) and kind.__module__ == errors.__name__
    }


@pytest.mark.parametrize(
    ("error", "facts", "said"),
    [
        (BlobNotFoundError("b1"), {"blob_id": "b1"}, "blob not found: b1"),
        (
            BadBlobIdError("x" * 100),
            {"blob_id": "x" * 100},
            f"bad blob id: '{'x' * 80}…' (an id is 32 lower-case hex digits)",
        ),
        (
            BlobIntegrityError("b1", "aa", "bb"),
            {"blob_id": "b1", "expected": "aa", "actual": "bb"},
            "blob b1 is damaged: expected sha256 aa, found bb",
        ),
        (WireError("no role", where="messages[2]"), {"where": "messages[2]"}, "messages[2]: no role"),
        (WireError("no role"), {"where": ""}, "no role"),
        (StfSyntaxError("bad tag", line=3), {"line": 3, "where": "line 3"}, "line 3: bad tag"),
        (TraceFormatError("no url", line=4), {"line": 4, "where": "line 4"}, "line 4: no url"),
        (errors.CodecError("empty"), {"where": ""}, "empty"),
        (
            ProviderError("busy", provider="openai", status=529, body="{}"),
            {"provider": "openai", "status": 529, "body": "{}"},
            "busy",
        ),
        (McpError("no such tool", code=-32601), {"code": -32601}, "MCP Error (-32601): no such tool"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_errors_keep_their_facts_beside_their_text(error: WeftError, facts: dict[str, Any], said: str) -> None:
    """Facts are attributes as well as text, and go with it to another process."""
    pickled = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    for same in (error, pickled, copy.copy(error), copy.deepcopy(error)):
        assert {name: getattr(same, name) for name in facts} == facts
        assert (type(same), str(same)) == (type(error), said)
