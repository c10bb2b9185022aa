"""PostgreSQL's tables: those of SQLite, with the search index and the ends of threads beside them in the same database.

JSON is kept as text that was written by weft.jsontext, never as jsonb, which refuses NUL and lone surrogates [D-20].
"""

from __future__ import annotations

__all__ = ["STEPS"]

_1 = (
    """
    CREATE TABLE bookmarks (
        number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, seq bigint
    )
    """,
    "CREATE TABLE model_sets (number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, names text NOT NULL UNIQUE)",
    """
    CREATE TABLE frames (
        seq bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        topic text NOT NULL,
        parent bigint,
        flags integer NOT NULL,
        role text,
        head integer REFERENCES bookmarks (number),
        root bigint,
        depth bigint,
        size bigint,
        bytes bigint,
        models integer NOT NULL DEFAULT 0,
        options text,
        extra text,
        hash bytea,
        owner bigint,
        data bytea
    )
    """,
    "CREATE INDEX frames_by_hash ON frames (substr(hash, 1, 8)) WHERE hash IS NOT NULL",
    "CREATE INDEX frames_by_head ON frames (head, seq) WHERE head IS NOT NULL",
    "CREATE INDEX frames_by_topic ON frames (topic, seq) WHERE topic <> 'gpt.turn'",
    "CREATE INDEX frames_by_owner ON frames (owner) WHERE owner IS NOT NULL",
    "CREATE INDEX frames_by_parent ON frames (parent) WHERE parent IS NOT NULL",
    "CREATE TABLE facts (name text PRIMARY KEY, value text NOT NULL)",
    """
    CREATE TABLE edges (
        child bigint NOT NULL REFERENCES frames (seq) ON DELETE CASCADE,
        position integer NOT NULL,
        parent bigint NOT NULL,
        PRIMARY KEY (child, position)
    )
    """,
    "CREATE INDEX edges_by_parent ON edges (parent)",
    """
    CREATE TABLE refs (
        child bigint NOT NULL REFERENCES frames (seq) ON DELETE CASCADE,
        position integer NOT NULL,
        ref text NOT NULL,
        PRIMARY KEY (child, position)
    )
    """,
    "CREATE TABLE tips (seq bigint PRIMARY KEY REFERENCES frames (seq) ON DELETE CASCADE)",
    # A tsvector holds 1 MB at most, so a long text is several rows.
    """
    CREATE TABLE words (
        seq bigint NOT NULL REFERENCES frames (seq) ON DELETE CASCADE,
        part integer NOT NULL,
        doc tsvector NOT NULL,
        PRIMARY KEY (seq, part)
    )
    """,
    "CREATE INDEX words_by_word ON words USING gin (doc)",
)

_2 = (
    "CREATE TABLE sessions (number bigint PRIMARY KEY, id text NOT NULL UNIQUE, meta text NOT NULL)",
    """
    CREATE TABLE exchanges (
        number bigint PRIMARY KEY,
        token text NOT NULL UNIQUE,
        session bigint NOT NULL,
        name text NOT NULL,
        meta text NOT NULL,
        base bigint,
        depth integer NOT NULL,
        request bytea NOT NULL,
        response bytea,
        rest bytea
    )
    """,
    "CREATE INDEX exchanges_by_name ON exchanges (name)",
    "CREATE INDEX exchanges_by_session ON exchanges (session, number)",
    """
    CREATE TABLE chunks (
        number bigint PRIMARY KEY,
        key bigint NOT NULL,
        hash bytea NOT NULL,
        size bigint NOT NULL,
        flags integer NOT NULL,
        data bytea
    )
    """,
    "CREATE INDEX chunks_by_key ON chunks (key)",
    """
    CREATE TABLE captures (
        name text NOT NULL, digest bytea NOT NULL, turn text NOT NULL, at bigint NOT NULL, PRIMARY KEY (name, digest)
    )
    """,
)

# Words are written after their turns, see weft.store.postgres_index: up to `indexed` they are. Whether the end of a
# thread is there is known when it is written.
_3 = (
    "INSERT INTO facts (name, value) SELECT 'indexed', coalesce(max(seq), 0)::text FROM frames",
    "ALTER TABLE tips DROP CONSTRAINT IF EXISTS tips_seq_fkey",
)

STEPS: tuple[tuple[str, ...], ...] = (_1, _2, _3)
