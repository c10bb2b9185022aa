"""weft keeps conversations with language models as data.

The names below are what a program imports; everything else is reached through the room it lives in. A name is
loaded when it is first asked for, so that `import weft`, and a command that needs none of it, cost next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from weft.version import __version__

if TYPE_CHECKING:
    from weft.blobs import BlobEntry as BlobEntry
    from weft.blobs import BlobReference as BlobReference
    from weft.blobs import BlobStore as BlobStore
    from weft.blobs import FileBlobStore as FileBlobStore
    from weft.blobs import InMemoryBlobStore as InMemoryBlobStore
    from weft.blobs import PruneReport as PruneReport
    from weft.blobs import put_file as put_file
    from weft.canon import AdapterCapabilities as AdapterCapabilities
    from weft.canon import AdapterId as AdapterId
    from weft.canon import CapabilityLevel as CapabilityLevel
    from weft.canon import Context as Context
    from weft.canon import Cursor as Cursor
    from weft.canon import ExcludedItem as ExcludedItem
    from weft.canon import Instructions as Instructions
    from weft.canon import Message as Message
    from weft.canon import Part as Part
    from weft.canon import Reply as Reply
    from weft.canon import RequestPlan as RequestPlan
    from weft.canon import Role as Role
    from weft.canon import RunSpec as RunSpec
    from weft.canon import ToolSpecification as ToolSpecification
    from weft.canon import Usage as Usage
    from weft.canon import fold as fold
    from weft.canon import replay as replay
    from weft.chat import Chat as Chat
    from weft.errors import BadBlobIdError as BadBlobIdError
    from weft.errors import BlobIntegrityError as BlobIntegrityError
    from weft.errors import BlobNotFoundError as BlobNotFoundError
    from weft.errors import BookmarkConflictError as BookmarkConflictError
    from weft.errors import CodecError as CodecError
    from weft.errors import ContextError as ContextError
    from weft.errors import InvalidContentError as InvalidContentError
    from weft.errors import McpError as McpError
    from weft.errors import PlanValidationError as PlanValidationError
    from weft.errors import ProviderError as ProviderError
    from weft.errors import StfSyntaxError as StfSyntaxError
    from weft.errors import StoreBusyError as StoreBusyError
    from weft.errors import StoreError as StoreError
    from weft.errors import ThreadCycleError as ThreadCycleError
    from weft.errors import ToolError as ToolError
    from weft.errors import TraceFormatError as TraceFormatError
    from weft.errors import TurnNotFoundError as TurnNotFoundError
    from weft.errors import UnknownBookmarkError as UnknownBookmarkError
    from weft.errors import UnsupportedFeatureError as UnsupportedFeatureError
    from weft.errors import UsageError as UsageError
    from weft.errors import WeftError as WeftError
    from weft.errors import WireError as WireError
    from weft.threads import Store as Store
    from weft.threads import Thread as Thread
    from weft.threads import Turn as Turn
    from weft.threads import open_store as open_store
    from weft.tools import Approval as Approval
    from weft.tools import Toolbox as Toolbox
    from weft.tools import tool as tool
    from weft.wire import AnthropicMessagesAdapter as AnthropicMessagesAdapter
    from weft.wire import AutoAdapter as AutoAdapter
    from weft.wire import BedrockConverseAdapter as BedrockConverseAdapter
    from weft.wire import GoogleGenAIAdapter as GoogleGenAIAdapter
    from weft.wire import OpenAIChatCompletionsAdapter as OpenAIChatCompletionsAdapter
    from weft.wire import OpenAIImagesAdapter as OpenAIImagesAdapter
    from weft.wire import OpenAIResponsesAdapter as OpenAIResponsesAdapter
    from weft.wire import OpenAIResponsesCompactAdapter as OpenAIResponsesCompactAdapter
    from weft.wire import aggregate as aggregate
    from weft.wire import decode_step as decode_step
    from weft.wire import detect as detect
    from weft.wire import dialect as dialect
    from weft.wire import encode_step as encode_step
    from weft.wire import plan_request as plan_request
    from weft.wire import prepare_request as prepare_request

_ROOMS = {
    "weft.blobs": (
        "BlobEntry",
        "BlobReference",
        "BlobStore",
        "FileBlobStore",
        "InMemoryBlobStore",
        "PruneReport",
        "put_file",
    ),
    "weft.canon": (
        "AdapterCapabilities",
        "AdapterId",
        "CapabilityLevel",
        "Context",
        "Cursor",
        "ExcludedItem",
        "Instructions",
        "Message",
        "Part",
        "Reply",
        "RequestPlan",
        "Role",
        "RunSpec",
        "ToolSpecification",
        "Usage",
        "fold",
        "replay",
    ),
    "weft.chat": ("Chat",),
    "weft.errors": (
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
    ),
    "weft.threads": (
        "Store",
        "Thread",
        "Turn",
        "open_store",
    ),
    "weft.tools": (
        "Approval",
        "Toolbox",
        "tool",
    ),
    "weft.wire": (
        "AnthropicMessagesAdapter",
        "AutoAdapter",
        "BedrockConverseAdapter",
        "GoogleGenAIAdapter",
        "OpenAIChatCompletionsAdapter",
        "OpenAIImagesAdapter",
        "OpenAIResponsesAdapter",
        "OpenAIResponsesCompactAdapter",
        "detect",
        "dialect",
        "aggregate",
        "decode_step",
        "encode_step",
        "prepare_request",
        "plan_request",
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604  # built from the table above, and tested against it


def __getattr__(name: str) -> object:
    """Load a public name from its room."""
    if name not in _HOME:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
