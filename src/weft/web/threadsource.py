"""The threads of a store as a source: every turn a row, its blocks messages.

A message's id is made of what it says (the turn's role, the digest of its content, the number of the block), so that
two branches that say the same have the same messages, and what is under an id never changes.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.errors import BlobIntegrityError, BlobNotFoundError, InvalidContentError, UsageError
from weft.ids import is_turn_id
from weft.jsontext import dumps_text, loads
from weft.store import Flag, TurnRow
from weft.threads import Store, Turn, gist_of_blocks, threads_of, tree_of
from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.blocks import bodies_of, bytes_in, role_of_blocks
from weft.web.copying import Request, as_json, as_request
from weft.web.diffing import Script, grown, script_of
from weft.web.graph import Node, Picture
from weft.web.source import Source
from weft.web.stats import Call
from weft.web.texts import read_terms, snippet_of
from weft.web.threadsums import Answers, Pricing
from weft.web.turns import document_of, duration_of, extra_of, message_in, moment_of, text_in, time_of, trees_of
from weft.web.values import Body, Context, Facts, Filters, Tool

__all__ = ["ThreadsSource"]

Json = dict[str, Any]
_LETTERS = {"user": "u", "assistant": "a", "system": "s"}
_ROLES: dict[str, contract.Role] = {"u": "user", "a": "assistant", "s": "system"}
_CHAINS = 6
_PAYLOADS = 512
_LARGEST_KEPT = 1 << 20  # bytes of a payload that is kept read
_FEW = 50  # turns that are added one by one


@dataclass(slots=True)
class _Chain:
    """A walked thread: the messages up to each of its turns. Of a plain chain, every beginning is a thread too."""

    turns: dict[str, int] = field(default_factory=dict)  # id: how many messages up to and with it
    messages: list[str] = field(default_factory=list)
    last: str = ""
    is_plain: bool = True

    def add(self, turn_id: str, messages: Iterable[str]) -> None:
        self.messages += messages
        self.turns[turn_id] = len(self.messages)
        self.last = turn_id


class ThreadsSource(Source):
    """Every turn of a store."""

    kind: ClassVar[contract.SourceKind] = "threads"

    def __init__(
        self,
        source_id: str,
        name: str,
        store: Store,
        *,
        price: Pricing | None = None,
        plan: Callable[[Mapping[str, Any]], Request] | None = None,
    ) -> None:
        """Look at a store. `price` knows what a call cost, `plan` which request a thread would be."""
        super().__init__(source_id, name)
        self.store = store
        self.is_live = True
        self._plan = plan
        self._latest: str | None = None
        self._version = 0
        self._nodes: list[Node] = []
        self._parents: dict[str, tuple[str, ...]] = {}
        self._trees: dict[str, str] = {}
        self._chains: list[_Chain] = []
        self._payloads: OrderedDict[str, list[Body]] = OrderedDict()
        self._answers = Answers(store, price)
        self.poll()

    # -- rows --------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        return self._version

    def poll(self) -> bool:
        """Look for new turns; other processes write to the same store."""
        latest = self.store.frames.latest_turn_id()
        with self.lock:
            if latest == self._latest and self._version:
                return False
            if not (self._latest and latest and latest > self._latest and self._take_in(self._latest)):
                self._read_all()
            self._latest = latest
            self._version += 1
            return True

    def _read_all(self) -> None:
        tree = sorted(tree_of(self.store, whole_store=True), key=lambda node: node.id)
        self._nodes = [Node(node.id, node.parents[0] if node.parents else None, time_of(node.id)) for node in tree]
        self._parents = {node.id: node.parents for node in tree}
        self._trees = trees_of(self._parents)

    def _take_in(self, known: str) -> bool:
        """Add the turns after one; False if there are so many that reading all is quicker."""
        new = [turn.id for turn in self.store.log(_FEW) if turn.id > known]
        if len(new) >= _FEW:
            return False
        for turn_id in reversed(new):
            parents = tuple(self.store.parent_ids(turn_id))
            if any(parent not in self._parents for parent in parents):
                return False
            trees = sorted({self._trees[parent] for parent in parents})
            if len(trees) > 1:
                return False  # it joins trees: all of their turns have another name now
            self._nodes.append(Node(turn_id, parents[0] if parents else None, time_of(turn_id)))
            self._parents[turn_id] = parents
            self._trees[turn_id] = trees[0] if trees else turn_id
        return True

    def first_change(self, before: Picture | None) -> int:  # noqa: ARG002
        """A new turn takes names along from rows anywhere."""
        return 0

    def counts(self) -> tuple[int, int | None]:
        """How many turns there are."""
        return len(self._nodes), None

    def nodes(self, tree: str | None) -> tuple[str | None, Sequence[Node]]:
        """All turns, or those of one tree."""
        if tree is None:
            return None, self._nodes
        root = self._trees.get(self._known(tree))
        return root, [node for node in self._nodes if self._trees[node.id] == root]

    def _known(self, turn_id: str) -> str:
        if turn_id not in self._parents:
            self.poll()
        if turn_id not in self._parents:
            raise RefusedError(404, "not_found", "no such turn")
        return turn_id

    def facts(self, row_ids: Sequence[str]) -> list[Facts]:
        """What some turns show."""
        names: dict[str, list[str]] = {}
        for bookmark in self.store.bookmarks():
            names.setdefault(bookmark.id, []).append(bookmark.name)
        found = {row.id: row for row in self.store.frames.rows(list(row_ids))}
        return [self._facts(row_id, found.get(row_id), names.get(row_id, ())) for row_id in row_ids]

    def _facts(self, turn_id: str, row: TurnRow | None, names: Sequence[str]) -> Facts:
        if row is None:
            return Facts("user", "[removed]", "", "", time_of(turn_id), 0, "incomplete", turn_id)
        blocks, extra = self.blocks(row), extra_of(row)
        said = message_in(extra)
        if row.flags & Flag.DOCUMENT:
            gist = f"[document {extra.get('document_name')}, {extra.get('content_type')}]"
        elif not blocks:
            gist = "[joins threads]" if row.flags & Flag.MANY else "-"
        else:
            gist = gist_of_blocks(blocks)
        return Facts(
            role_of_blocks(_ROLES.get(_LETTERS.get(row.role, "u"), "user"), blocks),
            gist,
            text_in(said.get("model")),
            text_in(said.get("provider")),
            time_of(turn_id),
            duration_of(turn_id, extra),
            "incomplete" if extra.get("unfinished") is True else "complete",
            turn_id,
            names,
            self._parents.get(turn_id, ())[1:],
        )

    def blocks(self, row: TurnRow) -> list[Json]:
        """Give the blocks of a turn; none of a document."""
        if row.flags & Flag.DOCUMENT:
            return []
        try:
            return Turn(self.store, row.id, None, {}, row).content
        except InvalidContentError:
            return [{"type": "text", "text": "[damaged content]"}]

    # -- messages ----------------------------------------------------------------------------------------------

    def context(self, row_id: str) -> Context:
        """The thread up to a turn, and up to the one before it."""
        parents = self._parents[self._known(row_id)]
        before = self._thread(parents[0]) if parents else []
        return Context(self._thread(row_id), [], parents[0] if parents else None, before)

    def script(self, context: Context) -> Script:
        """Compare a turn with its parent; nearly always it only adds."""
        before, sent = context.before, context.sent
        if len(before) <= len(sent) and sent[: len(before)] == before:
            return grown(before, sent[len(before) :])
        return script_of(before, sent)

    def _thread(self, turn_id: str) -> list[str]:
        for chain in self._chains:
            if turn_id == chain.last or (chain.is_plain and turn_id in chain.turns):
                return chain.messages[: chain.turns[turn_id]]
        parents = self._parents[self._known(turn_id)]
        for chain in self._chains:
            if chain.is_plain and list(parents) == [chain.last]:
                for row in self.store.frames.rows([turn_id]):
                    chain.add(turn_id, self.message_ids(row))
                return list(chain.messages)
        chain = _Chain()
        walk = self.store.thread(turn_id, on_gap="mark").walk
        previous: tuple[int, ...] = ()
        for row in walk.turns:
            chain.is_plain &= tuple(walk.parents_of(row)) == previous
            previous = (row.seq,)
            chain.add(row.id, self.message_ids(row))
        self._chains = [chain, *self._chains][:_CHAINS]
        return list(chain.messages)

    def message_ids(self, row: TurnRow) -> list[str]:
        """Give the ids of a turn's messages."""
        if row.hash is None or not row.data:
            return []
        if row.flags & Flag.DOCUMENT:
            return [f"d{row.id}"]
        digest = base64.urlsafe_b64encode(row.hash).decode().rstrip("=")
        stem = f"{_LETTERS.get(row.role, 'u')}{digest}"
        return [f"{stem}.{number}" for number in range(len(self.blocks(row)))]

    def key_of(self, message_id: str) -> str:
        """Documents are the same if their bytes are."""
        if not message_id.startswith("d"):
            return message_id
        rows = self.store.frames.rows([message_id[1:]])
        return f"d{rows[0].hash.hex()}" if rows and rows[0].hash is not None else message_id

    def bodies(self, message_ids: Sequence[str]) -> list[Body]:
        """Messages by id."""
        found = []
        for message_id in message_ids:
            stem, _, digits = message_id.partition(".")
            if stem.startswith("d") and is_turn_id(stem[1:]):
                found += self._document(stem[1:])
            elif digits.isascii() and digits.isdigit() and len(digits) < 7:
                bodies = self._payload(stem)
                found += bodies[int(digits) : int(digits) + 1]
        return found

    def _payload(self, stem: str) -> list[Body]:
        if stem in self._payloads:
            self._payloads.move_to_end(stem)
            return self._payloads[stem]
        role = _ROLES.get(stem[:1])
        try:
            digest = base64.urlsafe_b64decode(stem[1:] + "=")
        except (binascii.Error, ValueError):
            return []
        if role is None or len(digest) != 32:
            return []
        address = "sha256-" + base64.b64encode(digest).decode()
        try:
            data = self.store.frames.payload(address)
            blocks = loads(data)
        except BlobNotFoundError:
            return []
        except (BlobIntegrityError, ValueError) as error:
            return [Body(f"{stem}.0", role, f"[damaged content: {error}]")]
        bodies = bodies_of(blocks if isinstance(blocks, list) else [blocks], role, stem)
        if len(data) <= _LARGEST_KEPT:
            self._payloads[stem] = bodies
            while len(self._payloads) > _PAYLOADS:
                self._payloads.popitem(last=False)
        return bodies

    def _document(self, turn_id: str) -> list[Body]:
        rows = self.store.frames.rows([turn_id])
        if not rows or not rows[0].flags & Flag.DOCUMENT:
            return []
        attached = document_of(rows[0])
        text = ""
        if attached["media_type"].startswith("text/") and len(rows[0].data or b"") <= 16 << 20:
            text = (rows[0].data or b"").decode("utf-8", "replace")
        role = _ROLES.get(_LETTERS.get(rows[0].role, "u"), "user")
        return [Body(f"d{turn_id}", role, text, blobs=(attached,))]

    def blob(self, blob_id: str) -> tuple[bytes, contract.Attachment]:
        """Give a document, or the bytes of a block."""
        if blob_id.startswith("d") and is_turn_id(blob_id[1:]):
            rows = self.store.frames.rows([blob_id[1:]])
            if rows and rows[0].flags & Flag.DOCUMENT:
                return rows[0].data or b"", document_of(rows[0])
        stem, _, digits = blob_id.partition(".")
        bodies = self.bodies([".".join(blob_id.split(".")[:2])])
        about = next((one for body in bodies for one in body.blobs if one["id"] == blob_id), None)
        if about is not None:
            digest = base64.urlsafe_b64decode(stem[1:] + "=")
            blocks = loads(self.store.frames.payload("sha256-" + base64.b64encode(digest).decode()))
            return bytes_in(blocks, digits), about
        raise RefusedError(404, "not_found", "no such blob")

    # -- one turn ----------------------------------------------------------------------------------------------

    def header(self, row_id: str) -> contract.RowHeader:
        """What else is known of a turn: the thread's merged options, and what its answer said."""
        rows = self.store.frames.rows([row_id])
        extra = extra_of(rows[0]) if rows else {}
        said = message_in(extra)
        used = self._answers.used(row_id, extra)
        return {
            "endpoint": "",
            "status": None,
            "stop_reason": text_in(said.get("stop_reason")) or None,
            "error": text_in(extra.get("error")) or None,
            "usage": used.shown() if used is not None else None,
            "cache_miss": self.miss_of(row_id),
            "options": dumps_text(self.store.thread(row_id, on_gap="mark").options),
            "turn_id": row_id,
        }

    def tools_of(self, row_id: str) -> Sequence[Tool]:  # noqa: ARG002 - servers list their tools when they are called
        """Turns name servers, in their options; no tool is written down."""
        return ()

    def threads(self, after: str | None, limit: int) -> contract.ThreadPage:
        """Ends of threads, newest first."""
        found = threads_of(self.store, limit, after)
        entries: list[contract.ThreadEntry] = [
            {
                "id": each.id,
                "title": each.title,
                "rows": each.turns,
                "size_bytes": each.size_bytes,
                "models": list(each.models),
                "bookmarks": list(each.bookmarks),
                "timestamp_ms": time_of(each.id),
            }
            for each in found
        ]
        return {"threads": entries, "next": found[-1].id if len(found) == limit else None}

    def copy_of(self, row_id: str, how: str) -> str:
        """A thread as JSON, or as the request it would be."""
        resolved = self.store.thread(self._known(row_id), on_gap="mark").resolve()
        if how == "json":
            return as_json(resolved)
        if self._plan is None:
            raise RefusedError(409, "no_runs", "this server was not told who can be called")
        return as_request(self._plan(resolved), how)

    def base_of(self, row_id: str, *, wants_answer: bool, edited: bool) -> str:  # noqa: ARG002
        """A turn is what a run continues from."""
        return self._known(row_id)

    # -- finding and adding up -----------------------------------------------------------------------------------

    def search(self, filters: Filters, after: str | None, limit: int) -> contract.SearchPage:
        """Find turns with the store's own index; what it has no filter for is looked at afterwards."""
        picture = self.picture()
        hits: list[contract.SearchHit] = []
        role = filters.role if filters.role in ("user", "assistant", "system") else None
        terms = read_terms(filters.query)
        before = after
        looked = 0
        last = ""
        try:
            while len(hits) < limit and looked < 2_000:
                found = self.store.search(
                    filters.query if terms else "",
                    role=role or (None if terms or filters.model else "assistant"),
                    model=filters.model,
                    since=moment_of(filters.since_ms),
                    until=moment_of(filters.until_ms),
                    before=before,
                    limit=limit,
                )
                for hit in found:
                    looked, last = looked + 1, hit.id
                    body = self._matching(hit.id, filters, terms.words)
                    if body is not None and hit.id in picture.rows:
                        hits.append(self._hit(hit.id, picture.rows[hit.id], body, terms.words))
                        if len(hits) >= limit:
                            break
                before = found[-1].id if len(found) == limit else None
                if before is None:
                    break
        except UsageError as error:
            raise RefusedError(400, "query", str(error)) from None
        more = before is not None or (len(hits) >= limit and bool(last))
        rows = len(self._nodes)
        return {"hits": hits, "next": last if more else None, "scanned": rows if not more else looked, "total": rows}

    def _matching(self, turn_id: str, filters: Filters, words: Sequence[str]) -> Body | None:
        rows = self.store.frames.rows([turn_id])
        bodies = self.bodies(self.message_ids(rows[0])) if rows else []
        if filters.tool is not None:
            bodies = [body for body in bodies if any(call.name == filters.tool for call in body.calls)]
        if filters.error:
            bodies = [body for body in bodies if body.is_error]
        if filters.role in ("tool_use", "tool_result", "thinking"):
            bodies = [body for body in bodies if body.role == filters.role]
        with_word = [body for body in bodies if any(word in body.text().casefold() for word in words)]
        return next(iter(with_word or bodies), None)

    def _hit(self, turn_id: str, row: int, body: Body, words: Sequence[str]) -> contract.SearchHit:
        snippet, marks = snippet_of(body.text(), words)
        facts = self.facts([turn_id])[0]
        return {
            "row_id": turn_id,
            "row": row,
            "message_id": body.id,
            "role": body.role,
            "model": facts.model,
            "timestamp_ms": facts.timestamp_ms,
            "snippet": snippet,
            "marks": marks,
        }

    def calls(self, budget_s: float) -> tuple[Sequence[Call], int]:
        """Read what answers say they used, a part at a time."""
        return self._answers.calls(budget_s, self._latest or "", self._parents, self._trees)

    def call_of(self, row_id: str) -> Call | None:
        """What an answer used."""
        return self._answers.call_of(row_id, self._parents, self._trees)
