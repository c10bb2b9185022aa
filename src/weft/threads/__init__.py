"""Turns and threads: adding, naming, walking, branching, and everything else one does with kept conversations.

The front door of the room. Rows and SQL are in weft.store; which turn comes next is decided here.
"""

from __future__ import annotations

from weft.threads.append import Addition
from weft.threads.convert import TurnDraft, turns_from_messages
from weft.threads.diff import ThreadDiff
from weft.threads.documents import document_from, sniff
from weft.threads.editing import draft_of, edited_blocks
from weft.threads.forget import Removal
from weft.threads.headish import check_bookmark_name
from weft.threads.leaks import Leak, scan_secrets
from weft.threads.library import Store, open_store
from weft.threads.listing import (
    LogEntry,
    ThreadEntry,
    entries_of,
    gist_of_blocks,
    log_of,
    short_length,
    threads_of,
)
from weft.threads.searching import SearchHit
from weft.threads.transcripts import (
    ImportedTranscript,
    Incoming,
    import_transcript,
    import_transcripts,
    transcript_of,
)
from weft.threads.tree import TreeNode, tree_of
from weft.threads.turn import Thread, Turn, first_words

__all__ = [
    "Addition",
    "ImportedTranscript",
    "Incoming",
    "Leak",
    "LogEntry",
    "Removal",
    "SearchHit",
    "Store",
    "Thread",
    "ThreadDiff",
    "ThreadEntry",
    "TreeNode",
    "Turn",
    "TurnDraft",
    "check_bookmark_name",
    "document_from",
    "draft_of",
    "edited_blocks",
    "entries_of",
    "first_words",
    "gist_of_blocks",
    "import_transcript",
    "import_transcripts",
    "log_of",
    "open_store",
    "scan_secrets",
    "short_length",
    "sniff",
    "threads_of",
    "transcript_of",
    "tree_of",
    "turns_from_messages",
]
