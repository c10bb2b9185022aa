"""Every example in the README and the docs runs as printed.

Python blocks of a page run in order in one namespace, in an empty folder. In console blocks each `$ weft ...` line runs
for real and must print what follows it; a line `...` stands for any lines, a `…` inside a line for anything up to the
next character, which is how ids and times are written. Other commands (`$ make test`) are not run.

Two comments, unseen by readers, make more possible. `<!-- save as agent.py -->` before a Python block has it saved, not
run. `<!-- the ids d2e8cb and 54396c are examples -->` lets a page show ids and use them: where an output has one the
first time, the real one is taken down, and stands for it from then on.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.sim import running_simulator

SAVED = re.compile(r"<!-- save as (?P<name>[\w.-]+) -->\s*$")
EXAMPLE_IDS = re.compile(r"<!-- the ids (?P<ids>\w+(?:(?:, | and )\w+)*) are examples -->")
SIMULATED = "<!-- the examples of this page run beside `weft sim` -->"
PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>python|console)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    body: str
    line: int
    saved_as: str | None = None


def blocks(text: str) -> list[Block]:
    return [_block(text, match) for match in FENCE.finditer(text)]


def _block(text: str, match: re.Match[str]) -> Block:
    body = _outdent(match["body"], len(match["indent"]))
    saved = SAVED.search(text[: match.start()])
    return Block(match["language"], body, text.count("\n", 0, match.start("body")), saved["name"] if saved else None)


def _outdent(body: str, width: int) -> str:
    return "".join(line[width:] if line[:width].isspace() else line for line in body.splitlines(keepends=True))


def console_steps(body: str) -> list[tuple[str, str]]:
    """Split a console block into (command, expected output)."""
    steps: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return [(command, "\n".join(output).strip("\n")) for command, output in steps]


def example_ids(text: str) -> dict[str, str]:
    """Give the ids a page shows as examples, each standing for itself until the real one is known."""
    found = EXAMPLE_IDS.search(text)
    return dict.fromkeys(re.split(", | and ", found["ids"]), "") if found else {}


def agrees(expected: str, actual: str, ids: dict[str, str] | None = None) -> bool:
    """Tell whether a command printed what the page says; learn the ids that stand for the page's examples."""
    pieces = [
        re.escape(line).replace("…", ".*") if line.strip() != "..." else "<any>" for line in expected.splitlines()
    ]
    pattern = (
        "\n".join(pieces).replace("<any>\n", r"(?:.*\n)*").replace("\n<any>", r"(?:\n.*)*").replace("<any>", r"(?s:.*)")
    )
    if ids:
        learnt: set[str] = set()

        def real(found: re.Match[str]) -> str:
            if ids[found[0]]:
                return ids[found[0]]
            is_first = found[0] not in learnt
            learnt.add(found[0])
            return rf"(?P<id_{found[0]}>\w+)" if is_first else rf"(?P=id_{found[0]})"

        pattern = re.sub("|".join(ids), real, pattern)
    match = re.fullmatch(pattern, actual.strip("\n"))
    if match is not None and ids is not None:
        ids.update({name.removeprefix("id_"): found for name, found in match.groupdict().items()})
    return match is not None


def has_examples(page: Path) -> bool:
    return any(
        block.language == "python" or "$ weft" in block.body for block in blocks(page.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=str(page.relative_to(PROJECT))) for page in PAGES if has_examples(page)]
)
def test_the_examples_of_a_page_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "weft-home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace: dict[str, object] = {"__name__": "__main__"}
    with ExitStack() as stack:
        if SIMULATED in page.read_text(encoding="utf-8"):
            for name, value in stack.enter_context(running_simulator()).environment().items():
                monkeypatch.setenv(name, value)
        run_blocks(page, namespace)


def run_blocks(page: Path, namespace: dict[str, object]) -> None:
    text = page.read_text(encoding="utf-8")
    ids = example_ids(text)
    for block in blocks(text):
        if block.saved_as is not None:
            Path(block.saved_as).write_text(block.body, encoding="utf-8")
            continue
        if block.language == "python":
            # Padded so that a traceback names the line of the page.
            exec(compile("\n" * block.line + block.body, str(page), "exec"), namespace)  # noqa: S102
            continue
        for command, expected in console_steps(block.body):
            if not command.startswith("weft"):
                continue
            for example, real in ids.items():
                command = command.replace(example, real or example)  # noqa: PLW2901
            result = subprocess.run(
                shlex.split(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert agrees(expected, result.stdout, ids), f"{page.name}:{block.line}: $ {command}\n{result.stdout}"


def test_the_readme_has_a_python_example() -> None:
    assert any(block.language == "python" for block in blocks((PROJECT / "README.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...", "a\nb\nc\n", True),
        ("a\n...", "b\n", False),
        ("a.c", "abc\n", False),
        ("turn 03… (tides)", "turn 03q8v1n0c5 (tides)\n", True),
        ("turn 03… (tides)", "turn 03q8v1n0c5\n(tides)\n", False),
    ],
)
def test_three_dots_stand_for_any_lines(expected: str, actual: str, *, same: bool) -> None:
    assert agrees(expected, actual) is same


def test_ids_of_a_page_stand_for_the_real_ones() -> None:
    ids = example_ids("Read on.\n<!-- the ids d2e8cb and 54396c are examples -->\n")

    assert agrees("● 54396c  late\n● d2e8cb  early, d2e8cb", "● 1234ab  late\n● 77aa00  early, 77aa00", ids)
    assert ids == {"d2e8cb": "77aa00", "54396c": "1234ab"}
    assert agrees("went on from d2e8cb", "went on from 77aa00", ids)
    assert not agrees("went on from d2e8cb", "went on from 1234ab", ids)


LINK = re.compile(r"\[[^\]]*\]\((?!https?:|#)(?P<target>[^)#\s]+)")


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(PROJECT))) for page in PAGES])
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = {match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))}

    assert {target for target in targets if not (page.parent / target).exists()} == set()


def test_every_page_is_listed_where_one_looks_for_it() -> None:
    """STYLE: docs by need; a page that no index names is not found."""
    docs = PROJECT / "docs"
    listed = {
        (index.parent / match["target"]).resolve()
        for index in (docs / "README.md", docs / "decisions" / "README.md")
        for match in LINK.finditer(index.read_text(encoding="utf-8"))
    }

    assert {page for page in docs.rglob("*.md") if page.name != "README.md"} - listed == set()
