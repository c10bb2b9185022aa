"""What one module gives another is listed in its `__all__`; what begins with an underscore stays in its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


@cache
def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@cache
def listed(module: str) -> set[str] | None:
    """The names in `__all__`; None where it is made of other tables."""
    for node in modules()[module].body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                if all(isinstance(name, ast.Constant) for name in names):
                    return {str(name.value) for name in names if isinstance(name, ast.Constant)}
    return None


def imports() -> Iterator[tuple[str, str, str]]:
    """Every `from weft.x import name` as (importer, weft.x, name)."""
    for importer, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and node.module in modules():
                for alias in node.names:
                    if f"{node.module}.{alias.name}" not in modules():
                        yield importer, str(node.module), alias.name


def test_a_name_that_another_module_imports_is_listed() -> None:
    unlisted = [
        f"{module}: add {name!r} to __all__, for {importer}"
        for importer, module, name in imports()
        if not name.startswith("_") and (known := listed(module)) is not None and name not in known
    ]

    assert unlisted == []


def test_a_name_with_an_underscore_is_not_imported() -> None:
    private = [f"{importer} imports {module}.{name}" for importer, module, name in imports() if name.startswith("_")]

    assert [each for each in private if not each.endswith("__")] == []
