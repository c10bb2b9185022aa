"""One call out: sending, listening, trying again, giving up. Async begins here.

The front door of the room, with what a caller needs of `providers` to name whom to call.
"""

from __future__ import annotations

from weft.client.call import Call, call_to
from weft.client.network import Network
from weft.client.retry import RetryPolicy
from weft.client.send import Client, Stream, Timeouts
from weft.providers import Provider, Registry, Secret, Target

__all__ = [
    "Call",
    "Client",
    "Network",
    "Provider",
    "Registry",
    "RetryPolicy",
    "Secret",
    "Stream",
    "Target",
    "Timeouts",
    "call_to",
]
