"""Every exception weft raises on its own account, as one tree.

Branches answer the question "whose move is next?": the caller's (`UsageError`), nobody's because what
arrived does not fit its dialect (`WireError`), the provider's (`ProviderError`), or the disk's (`StoreError`).
Plain `TypeError` and `ValueError` stay where the model promises them: a value of the wrong shape given to a
constructor or to `from_dict`.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BadBlobIdError",
    "BlobIntegrityError",
    "BlobNotFoundError",
    "BookmarkConflictError",
    "CodecError",
    "ContextError",
    "InvalidContentError",
    "McpError",
    "PlanValidationError",
    "ProviderError",
    "StfSyntaxError",
    "StoreBusyError",
    "StoreError",
    "ThreadCycleError",
    "ToolError",
    "TraceFormatError",
    "TurnNotFoundError",
    "UnknownBookmarkError",
    "UnsupportedFeatureError",
    "UsageError",
    "WeftError",
    "WireError",
]


class WeftError(Exception):
    """The root of the tree: catching it catches everything weft can say went wrong."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle with text and facts as they are: another process hears the same."""
        return _same_error, (type(self), self.args, vars(self))


def _same_error(kind: type[WeftError], args: tuple[Any, ...], facts: dict[str, Any]) -> WeftError:
    error = kind.__new__(kind, *args)
    vars(error).update(facts)
    return error


class UsageError(WeftError):
    """The caller asked for something that cannot be done as asked."""


class ContextError(UsageError):
    """A Context cannot do what was asked, such as carrying a blob that is not in its store."""


class PlanValidationError(UsageError):
    """A RequestPlan does not pass the checks its caller chose."""


class UnsupportedFeatureError(UsageError):
    """The provider has no way to do this (built-in search, a document type)."""


class InvalidContentError(UsageError):
    """Content given for a turn is not text, nor a list of blocks."""


class WireError(WeftError):
    """What arrived does not fit its dialect. `where` is the place inside the body, such as `messages[2].role`."""

    def __init__(self, message: str, *, where: str = "") -> None:
        """Say what is wrong, and where in the body."""
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)


class CodecError(WeftError):
    """A file does not fit its format. `where` is a path or a line."""

    def __init__(self, message: str, *, where: str = "") -> None:
        """Say what is wrong, and where in the file."""
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)


class StfSyntaxError(CodecError):
    """A line of an STF file cannot be read."""

    def __init__(self, message: str, *, line: int) -> None:
        """Say what is wrong, on which line (counted from 1)."""
        self.line = line
        super().__init__(message, where=f"line {line}")


class TraceFormatError(CodecError):
    """A line of a trace is not a trace record."""

    def __init__(self, message: str, *, line: int) -> None:
        """Say what is wrong, on which line (counted from 1)."""
        self.line = line
        super().__init__(message, where=f"line {line}")


class ProviderError(WeftError):
    """The far side said no. Its status and its body are kept as they came, and how long it asks to be left alone."""

    def __init__(
        self,
        message: str,
        *,
        provider: str,
        status: int | None = None,
        body: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        """Keep who answered, with which status, and what they said."""
        self.provider = provider
        self.status = status
        self.body = body
        self.retry_after_s = retry_after_s
        super().__init__(message)


class McpError(WeftError):
    """A tool server answered with a JSON-RPC error."""

    def __init__(self, message: str, *, code: int) -> None:
        """Keep the server's code beside its message."""
        self.code = code
        self.message = message
        super().__init__(f"MCP Error ({code}): {message}")


class ToolError(WeftError):
    """A tool server could not be started, reached or understood."""


class StoreError(WeftError):
    """What is kept cannot be read or written."""


class StoreBusyError(StoreError):
    """Someone else holds the store's write lock for longer than the caller would wait."""


class BlobNotFoundError(StoreError):
    """No blob has this id."""

    def __init__(self, blob_id: str) -> None:
        """Keep the id that was asked for."""
        self.blob_id = blob_id
        super().__init__(f"blob not found: {blob_id}")


class BadBlobIdError(BlobNotFoundError):
    """The id is not one a blob store gives out, so nothing was looked up."""

    def __init__(self, blob_id: str) -> None:
        """Keep the id that was asked for; long ones are shown cut."""
        super().__init__(blob_id)
        shown = blob_id if len(blob_id) <= 80 else f"{blob_id[:80]}…"
        self.args = (f"bad blob id: {shown!r} (an id is 32 lower-case hex digits)",)


class BlobIntegrityError(StoreError):
    """A blob's bytes are not the ones its reference names."""

    def __init__(self, blob_id: str, expected: str, actual: str) -> None:
        """Keep the id and both digests."""
        self.blob_id = blob_id
        self.expected = expected
        self.actual = actual
        super().__init__(f"blob {blob_id} is damaged: expected sha256 {expected}, found {actual}")


class TurnNotFoundError(StoreError):
    """No turn has this id."""


class UnknownBookmarkError(StoreError):
    """The value is neither a turn id nor a known bookmark."""


class BookmarkConflictError(StoreError):
    """The bookmark belongs to another branch."""


class ThreadCycleError(StoreError):
    """Turns continue each other in a circle."""
