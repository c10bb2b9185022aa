"""SQLite's tables.

Kept small on purpose: an append touches the row, two indexes and, for a bookmarked thread, two more. What can be built
again from the log (search, ends of threads, children) lives in a file of its own, see weft.store.sqlite_index.

`frames.data` holds the payload of the first frame with that content; later ones point at it with `owner`. `size` is the
payload's; `bytes` and `depth` sum up the turn and all before it. `frames.parent` is the first parent, `edges` has the
others; `refs` has entries of `continues` that are names or lead nowhere. For a frame that is no turn, `root` is the
newest turn at the time.
"""

from __future__ import annotations

__all__ = ["STEPS"]

_1 = (
    """
    CREATE TABLE bookmarks (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        seq INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE model_sets (
        number INTEGER PRIMARY KEY,
        names TEXT NOT NULL UNIQUE
    ) STRICT
    """,
    """
    CREATE TABLE frames (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        topic TEXT NOT NULL,
        parent INTEGER,
        flags INTEGER NOT NULL,
        role TEXT,
        head INTEGER REFERENCES bookmarks (number),
        root INTEGER,
        depth INTEGER,
        size INTEGER,
        bytes INTEGER,
        models INTEGER NOT NULL DEFAULT 0,
        options TEXT,
        extra TEXT,
        hash BLOB,
        owner INTEGER,
        data BLOB
    ) STRICT
    """,
    "CREATE INDEX frames_by_hash ON frames (substr(hash, 1, 8)) WHERE hash IS NOT NULL",
    "CREATE INDEX frames_by_head ON frames (head, seq) WHERE head IS NOT NULL",
    "CREATE INDEX frames_by_topic ON frames (topic, seq) WHERE topic <> 'gpt.turn'",
    "CREATE INDEX frames_by_owner ON frames (owner) WHERE owner IS NOT NULL",
    """
    CREATE TABLE facts (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE edges (
        child INTEGER NOT NULL REFERENCES frames (seq) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        PRIMARY KEY (child, position)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE refs (
        child INTEGER NOT NULL REFERENCES frames (seq) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        ref TEXT NOT NULL,
        PRIMARY KEY (child, position)
    ) STRICT, WITHOUT ROWID
    """,
)

# Recorded exchanges: see weft.store.exchanges. A body is a list of chunks, each kept once; `key` is the beginning of a
# chunk's hash as a number. `token` makes an exchange the same one when it comes twice; `name` is the id in its record.
# `captures` says which turn an exchange became.
_2 = (
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, meta TEXT NOT NULL) STRICT",
    """
    CREATE TABLE exchanges (
        number INTEGER PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        meta TEXT NOT NULL,
        base INTEGER,
        depth INTEGER NOT NULL,
        request BLOB NOT NULL,
        response BLOB,
        rest BLOB
    ) STRICT
    """,
    "CREATE INDEX exchanges_by_name ON exchanges (name)",
    "CREATE INDEX exchanges_by_session ON exchanges (session, number)",
    """
    CREATE TABLE chunks (
        number INTEGER PRIMARY KEY,
        key INTEGER NOT NULL,
        hash BLOB NOT NULL,
        size INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        data BLOB
    ) STRICT
    """,
    "CREATE INDEX chunks_by_key ON chunks (key)",
    """
    CREATE TABLE captures (
        name TEXT NOT NULL, digest BLOB NOT NULL, turn TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (name, digest)
    ) STRICT, WITHOUT ROWID
    """,
)

STEPS: tuple[tuple[str, ...], ...] = (_1, _2)
