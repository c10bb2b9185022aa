"""`weft plan`: a request as it would go to a provider, with an account of what is kept, changed and left out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

import click

from weft.canon import Context, ExcludedItem, RequestPlan, RunSpec
from weft.cli.render import json_text, visible
from weft.errors import UsageError
from weft.jsontext import loads, repeated_keys
from weft.wire import DIALECTS, dialect, plan_request, plan_with

__all__ = ["plan"]

LOSSY = 3  # something was lost, and --strict forbids it


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--to", "target", required=True, metavar="DIALECT", help=f"Who it is for: {', '.join(DIALECTS)}.")
@click.option("--from", "source", metavar="DIALECT", help="What FILE speaks; guessed if left out.")
@click.option("-m", "--model", help="The model to ask for; the file's own if left out.")
@click.option("--strict", is_flag=True, help="Exit 3 if anything is lost.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole plan, diagnostics included, as JSON.")
def plan(*, file: BinaryIO, target: str, source: str | None, model: str | None, strict: bool, as_json: bool) -> int:
    """Show the request that FILE becomes for another provider.

    FILE holds a request body of any dialect, or a conversation written by Context.to_dict. The request goes to
    stdout; what was included, mended and left out goes to stderr.
    """
    body, repeated = _read(file)
    made = _plan(body, target, source, model).with_excluded(repeated)
    shown = made.to_dict() if as_json else made.request
    click.echo(json_text(shown))
    if not as_json:
        _explain(made)
    return LOSSY if strict and (made.excluded or made.errors) else 0


def _read(file: BinaryIO) -> tuple[Mapping[str, Any], list[ExcludedItem]]:
    """Read a body, with what reading it left out: of a key that is there twice, all values but the last."""
    name = getattr(file, "name", "input")
    text = file.read()
    try:
        body = loads(text)
    except ValueError as problem:
        raise UsageError(f"{name} is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise UsageError(f"{name} holds a JSON {type(body).__name__}; a request body is an object")
    reason = "the key is there more than once; only its last value was read"
    return body, [ExcludedItem(key or '""', reason) for key in repeated_keys(text)]


def _plan(body: Mapping[str, Any], target: str, source: str | None, model: str | None) -> RequestPlan:
    try:
        if source is None and _is_context(body):
            spoken = dialect(target)
            return plan_with(spoken, _context(body), RunSpec(spoken.provider, spoken.endpoint, model or ""))
        return plan_request(body, target, source=source, model=model)
    except ValueError as problem:  # such as a conversation without the prompt that a picture is made from
        raise UsageError(str(problem)) from problem


def _context(body: Mapping[str, Any]) -> Context:
    try:
        return Context.from_dict(body)
    except TypeError as problem:
        raise UsageError(str(problem)) from problem


def _is_context(body: Mapping[str, Any]) -> bool:
    match body:
        case {"messages": [{"role": _, "parts": _}, *_]}:
            return True
    return False


def _explain(made: RequestPlan) -> None:
    lines = [("included", name) for name in made.included]
    lines += [("returned", f"{place}: sent back to its provider untouched") for place in made.must_roundtrip]
    lines += [("left out", f"{item.description}: {item.reason}") for item in made.excluded]
    lines += [("warning", warning) for warning in made.warnings]
    lines += [("error", error) for error in made.errors]
    if made.token_estimate is not None:
        lines.append(("size", f"about {made.token_estimate} tokens"))
    for kind, text in lines:
        click.echo(f"{kind:<9} {visible(text)}", err=True)
    sys.stdout.flush()
