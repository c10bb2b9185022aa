"""`weft otel`: recorded traffic as OpenTelemetry spans."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from weft.cli.completing import files
from weft.cli.render import counted, json_text, note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.telemetry import GenAiSpan
    from weft.trace import CookedRequest, Problem

__all__ = ["otel"]

PARTIAL = 3  # some records could not be read; the others were sent


@click.command()
@click.argument("inputs", metavar="TRACE...", nargs=-1, required=True, shell_complete=files)
@click.option(
    "--endpoint", metavar="URL", help="Of the receiver; else OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318."
)
@click.option("--no-content", is_flag=True, help="Leave out what was said; send models, tokens and times only.")
@click.option("--no-redact", is_flag=True, help="Send what was said as it is, secrets and all.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def otel(inputs: tuple[str, ...], endpoint: str | None, no_content: bool, no_redact: bool, as_json: bool) -> int:
    """Send recorded exchanges to an OpenTelemetry receiver, as GenAI spans over OTLP.

    TRACE is a recording as `weft proxy` and `weft record` write it. Requests of one conversation are one trace, each
    linked to the request it continues; sending a recording twice gives the same spans. Secrets are masked.
    """
    from weft.jsontext import loads
    from weft.telemetry import OtlpExporter, span_of
    from weft.trace import Cooker, read_records

    cooker = Cooker()
    for place, line in read_records(inputs, cooker.problems.append):
        cooker.add(line, place)
    requests = {request.index: request for request in cooker.cooked().requests}
    by_id = {request.id: request for request in requests.values()}
    problems: list[Problem] = list(cooker.problems)
    bad = {(problem.place.source, problem.place.line) for problem in problems}

    def spans() -> Iterator[GenAiSpan]:
        index = 0
        for place, line in read_records(inputs):
            if (place.source, place.line) in bad:
                continue
            request = requests.get(index)
            index += 1
            if request is not None:
                record = {**loads(line), "id": request.id}
                yield span_of(
                    record,
                    root_id=_root(request, by_id),
                    parent_id=request.parent_id,
                    content=not no_content,
                    redact=not no_redact,
                )

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it tells each try in a paragraph; we tell the end
    exporter = OtlpExporter(endpoint)
    try:
        sent = exporter.send(spans())
    finally:
        exporter.close()
    if as_json:
        click.echo(json_text({"spans": sent, "problems": [str(problem) for problem in problems]}))
    else:
        note(f"sent {counted(sent, 'span')}")
        for problem in problems:
            note(f"  {problem}")
    return PARTIAL if problems else 0


def _root(request: CookedRequest, by_id: dict[str, CookedRequest]) -> str:
    while request.parent_id is not None and request.parent_id in by_id:
        request = by_id[request.parent_id]
    return request.id
