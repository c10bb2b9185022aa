"""Where recordings go: the protocol between the recorder and a file or a store.

The recorder (`recorder.py`) takes captures from a proxy or a transport, journals those that last, and hands finished
ones to a sink in batches, from its own writer thread. A sink does nothing but keep them:

- `write(batch)` is called from one thread at a time. When it returns, every capture of the batch is durable. When it
  raises, none of the batch counts as written, and the same captures come again later: writing one twice must leave one
  (the capture's `id` names it).
- It must not hold anything back: there is no other call that says "now".
- It may be slow: traffic does not wait for it. What piles up beyond the recorder's limit is counted as lost [X-13].
- Nothing it is given holds a secret of the request's headers or query: captures are masked before [K-01].
- Two processes may write to the same place at once [X-10].

A `Capture` (capture.py) has everything: `exchange()` is the `Exchange` value (plain JSON), `line()` its JSON line with
the bodies as they were written on the wire, `request_body` and `response_body` the decoded, masked bytes. All three may
take as long as their bodies are large, so call them here, not earlier, and at most once.

`journal` is a folder of the sink's own, on the same disk, where the recorder keeps what is not finished yet. Whoever
opens the place again calls `weft.trace.recover(sink)`, which turns what a killed process left there into captures,
`incomplete: killed`, and writes them [X-06].
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from weft.trace.capture import Capture

__all__ = ["Sink"]


@runtime_checkable
class Sink(Protocol):
    """A place that keeps finished captures."""

    @property
    def output(self) -> str:
        """Name the place, so that another process can open it again with `open_sink`: a path or a URL."""
        ...

    @property
    def journal(self) -> Path:
        """Give the folder for what is under way; it need not exist yet."""
        ...

    def write(self, batch: Sequence[Capture]) -> None:
        """Keep the captures; durable when it returns."""
        ...

    def close(self) -> None:
        """Let go of the place."""
        ...
