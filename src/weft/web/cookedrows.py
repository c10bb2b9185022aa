"""Cooked requests as rows: what a trace that is read and a file that was cooked before have in common.

Rows are called by the number of their record (`r12`), whatever the record calls itself: ids in records are anybody's
text, and may be there twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from weft.jsontext import dumps_text
from weft.trace import Cooked, CookedMessage, CookedRequest
from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.copying import Request, as_json, as_request
from weft.web.graph import Node
from weft.web.source import Source
from weft.web.stats import Call, Used
from weft.web.texts import gist_of, read_terms, result_text, snippet_of
from weft.web.values import Body, BodyCall, Captured, Context, Facts, Filters, Tool

__all__ = ["CookedRows", "Told", "row_number"]

_SEARCH_S = 0.1  # one page of a search takes no longer; it says how far it came
_ROLES: frozenset[str] = frozenset({"system", "user", "assistant", "tool_use", "tool_result", "thinking"})


class Told(NamedTuple):
    """What a record says beside its messages."""

    provider: str = ""
    state: contract.RowState = "complete"
    status: int | None = None
    endpoint: str = ""
    error: str | None = None
    turn_id: str | None = None


def row_number(row_id: str) -> int:
    """Read the number in a row's id; -1 if it is none."""
    digits = row_id[1:]
    is_one = row_id.startswith("r") and digits.isascii() and digits.isdigit() and len(digits) < 12
    return int(digits) if is_one else -1


class CookedRows(Source):
    """Requests with the ids of their messages and tools."""

    def __init__(self, source_id: str, name: str) -> None:
        """Begin with nothing cooked."""
        super().__init__(source_id, name)
        self.cooked_by_now = Cooked()
        self._numbers: list[int] = []  # of requests in the order of time
        self._requests: dict[str, CookedRequest] = {}
        self._nodes: list[Node] = []
        self._parents: dict[str, str | None] = {}
        self._roots: dict[str, str] = {}
        self._callers: dict[str, str] = {}  # the tool of each call, by the call's id
        self._called_to = 0
        self._calls: tuple[list[Node], list[Call]] = ([], [])

    # -- what each kind knows ----------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Bring `cooked_by_now` up to date."""

    def first_row_of(self, number: int) -> str | None:
        """Give the first row that has a message, by the message's number."""
        raise LookupError(number)

    def told_of(self, row_id: str) -> Told:  # noqa: ARG002
        """Give what the record of a row says."""
        return Told()

    def record_of(self, row_id: str) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Read the record of a row again; None if there is none."""
        return None

    def used_of(self, row_id: str) -> Used | None:  # noqa: ARG002
        """Give what a row used."""
        return None

    def stop_reason_of(self, record: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        """Give why an answer ended."""
        return None

    # -- rows --------------------------------------------------------------------------------------------------

    def take(self, cooked: Cooked, number_of: Callable[[int, CookedRequest], int]) -> None:
        """Name every row by its number, and its parent by that one's: of several with one id, the latest before it."""
        self.cooked_by_now = cooked
        self._requests, self._nodes, self._parents, self._roots = {}, [], {}, {}
        latest: dict[str, str] = {}
        for place, request in enumerate(cooked.requests):
            row_id = f"r{number_of(place, request)}"
            parent = latest.get(request.parent_id) if request.parent_id is not None else None
            self._requests[row_id] = request
            self._nodes.append(Node(row_id, parent, request.timestamp))
            self._parents[row_id] = parent
            self._roots[row_id] = self._roots[parent] if parent is not None else row_id
            latest[request.id] = row_id

    def counts(self) -> tuple[int, int | None]:
        """How many requests and messages there are."""
        return len(self._requests), len(self.cooked_by_now.messages)

    def nodes(self, tree: str | None) -> tuple[str | None, Sequence[Node]]:
        """All requests, or those of one tree."""
        self.refresh()
        if tree is None:
            return None, self._nodes
        root = self._roots.get(tree)
        if root is None:
            raise RefusedError(404, "not_found", "no such request")
        return root, [node for node in self._nodes if self._roots[node.id] == root]

    def request_of(self, row_id: str) -> CookedRequest:
        """Give a request by its row."""
        request = self._requests.get(row_id)
        if request is None:
            with self.lock:
                self.refresh()
            request = self._requests.get(row_id)
        if request is None:
            raise RefusedError(404, "not_found", "no such request")
        return request

    def facts(self, row_ids: Sequence[str]) -> list[Facts]:
        """What some requests show: the last thing that was sent [section 11]."""
        return [self._facts(row_id) for row_id in row_ids]

    def _facts(self, row_id: str) -> Facts:
        request, told = self.request_of(row_id), self.told_of(row_id)
        sent = self.bodies(request.request_messages[-1:])
        gist = "-"
        if sent:
            said = result_text(sent[0].content) if sent[0].role == "tool_result" else sent[0].content
            gist = gist_of(said or ", ".join(f"{call.name}({call.arguments[:99]})" for call in sent[0].calls))
        return Facts(
            sent[0].role if sent else "user",
            gist,
            request.model,
            told.provider,
            request.timestamp,
            request.duration_ms,
            told.state,
            request.id,
        )

    # -- messages ----------------------------------------------------------------------------------------------

    def context(self, row_id: str) -> Context:
        """What was sent and came back, and both of the parent [C-51]."""
        request = self.request_of(row_id)
        parent = self._parents.get(row_id)
        before: list[str] = []
        if parent is not None:
            above = self.request_of(parent)
            before = [*above.request_messages, *above.response_messages]
        return Context(request.request_messages, request.response_messages, parent, before)

    def bodies(self, message_ids: Sequence[str]) -> list[Body]:
        """Messages by id."""
        messages = self.cooked_by_now.messages
        found = []
        for message_id in message_ids:
            digits = message_id[1:]
            if message_id[:1] == "m" and digits.isascii() and digits.isdigit() and len(digits) < 12:
                number = int(digits)
                if number < len(messages):
                    found.append(_body(messages[number], message_id))
        return found

    def tools_of(self, row_id: str) -> Sequence[Tool]:
        """The tools a request offers."""
        tools = self.cooked_by_now.tools
        found = []
        for tool_id in self.request_of(row_id).tools:
            digits = tool_id[1:]
            if digits.isdigit() and int(digits) < len(tools):
                tool = tools[int(digits)]
                parameters = dumps_text(tool.parameters)
                found.append(Tool(tool_id, tool.name, tool.description, parameters, tool.is_server_side))
        return found

    # -- one request -------------------------------------------------------------------------------------------

    def header(self, row_id: str) -> contract.RowHeader:
        """What else is known of a request."""
        told, used, record = self.told_of(row_id), self.used_of(row_id), self.record_of(row_id)
        return {
            "endpoint": told.endpoint,
            "status": told.status,
            "stop_reason": self.stop_reason_of(record) if record is not None else None,
            "error": told.error,
            "usage": used.shown() if used is not None else None,
            "cache_miss": self.miss_of(row_id),
            "options": dumps_text(_settings(record)),
            "turn_id": told.turn_id,
        }

    def copy_of(self, row_id: str, how: str) -> str:
        """A request as it was sent, to be sent again."""
        record = self.record_of(row_id)
        if record is None:
            cooked = self.request_of(row_id).to_dict()
            said = [_as_data(body) for body in self.bodies(cooked["request_messages"])]
            if how != "json":
                raise RefusedError(409, "no_record", "a cooked file has no request as it was sent; JSON can be copied")
            return as_json({**cooked, "request_messages": said})
        if how == "json":
            return as_json(record.get("request"))
        return as_request(self.address_of(row_id, record), how)

    def address_of(self, row_id: str, record: Mapping[str, Any]) -> Request:
        """Say where a request goes."""
        raise RefusedError(409, "no_record", f"nothing is known of where {row_id} went: {sorted(record)}")

    def base_of(self, row_id: str, *, wants_answer: bool, edited: bool) -> Captured | Sequence[Body]:
        """A captured request is imported as it is; what was only cooked is made of its messages."""
        request, record = self.request_of(row_id), self.record_of(row_id)
        if record is not None and not edited:
            return Captured(record)
        answered = request.response_messages if wants_answer and not request.synthetic else []
        bodies = self.bodies([*request.request_messages, *answered])
        return bodies if record is None else Captured(record, bodies)

    def threads(self, after: str | None, limit: int) -> contract.ThreadPage:
        """Trees of requests, the one with the newest request first."""
        self.refresh()
        trees: dict[str, list[str]] = {}
        for node in reversed(self._nodes):
            trees.setdefault(self._roots[node.id], []).append(node.id)
        roots = list(trees)
        start = roots.index(after) + 1 if after in trees else 0
        entries = [self._thread(root, trees[root]) for root in roots[start : start + limit]]
        more = start + limit < len(roots)
        return {"threads": entries, "next": roots[start + limit - 1] if more else None}

    def titles_of(self, tree_ids: Sequence[str]) -> list[str]:
        """Give the first thing that a user said in each tree."""
        return [self._title(tree_id) for tree_id in tree_ids]

    def _title(self, tree_id: str) -> str:
        bodies = self.bodies(self.request_of(tree_id).request_messages[:50])
        said = next((body for body in bodies if body.role == "user" and body.content.strip()), None)
        return gist_of(said.content, 80) if said is not None else self._facts(tree_id).gist[:80]

    def _thread(self, root: str, rows: Sequence[str]) -> contract.ThreadEntry:
        models = dict.fromkeys(self.request_of(row).model for row in reversed(rows[:500]))
        return {
            "id": rows[0],
            "title": self._title(root),
            "rows": len(rows),
            "size_bytes": None,
            "models": [model for model in models if model][:8],
            "bookmarks": [],
            "timestamp_ms": self.request_of(rows[0]).timestamp,
        }

    # -- finding and adding up -----------------------------------------------------------------------------------

    def search(self, filters: Filters, after: str | None, limit: int) -> contract.SearchPage:
        """Look at every message, newest first, for as long as a page may take."""
        with self.lock:
            self.refresh()
            messages = self.cooked_by_now.messages
        terms = read_terms(filters.query)
        if not terms and filters == Filters(filters.query):
            raise RefusedError(400, "query", "there is nothing to search for: give a word, or a filter")
        at = min(row_number(f"r{after}"), len(messages)) if after else len(messages)
        picture = self.picture()
        hits: list[contract.SearchHit] = []
        until = time.monotonic() + _SEARCH_S
        while at > 0 and len(hits) < limit:
            at -= 1
            message = messages[at]
            if filters.role is not None and message.role != filters.role:
                continue
            if terms and not terms.within(_text(message)):
                if at % 256 == 0 and time.monotonic() > until:
                    break
                continue
            with self.lock:
                hit = self._hit(at, message, filters, terms.words, picture.rows)
            if hit is not None:
                hits.append(hit)
            if time.monotonic() > until:
                break
        total = len(messages)
        return {"hits": hits, "next": str(at) if at > 0 else None, "scanned": total - at, "total": total}

    def _hit(
        self, number: int, message: CookedMessage, filters: Filters, words: Sequence[str], rows: Mapping[str, int]
    ) -> contract.SearchHit | None:
        row_id = self.first_row_of(number)
        if row_id is None or row_id not in rows or not self._fits(message, row_id, filters):
            return None
        request = self.request_of(row_id)
        body = _body(message, f"m{number}")
        snippet, marks = snippet_of(body.text(), words)
        return {
            "row_id": row_id,
            "row": rows[row_id],
            "message_id": body.id,
            "role": body.role,
            "model": request.model,
            "timestamp_ms": request.timestamp,
            "snippet": snippet,
            "marks": marks,
        }

    def _fits(self, message: CookedMessage, row_id: str, filters: Filters) -> bool:
        request = self.request_of(row_id)
        if filters.model is not None and filters.model not in request.model:
            return False
        if filters.since_ms is not None and request.timestamp < filters.since_ms:
            return False
        if filters.until_ms is not None and request.timestamp > filters.until_ms:
            return False
        if filters.tool is not None and filters.tool not in self._tools_named(message):
            return False
        if filters.error and not message.is_error:
            return message.id in request.response_messages and self.told_of(row_id).state == "failed"
        return True

    def _tools_named(self, message: CookedMessage) -> list[str]:
        """Name the tools a message calls, or answers for."""
        messages = self.cooked_by_now.messages
        for said in messages[self._called_to :]:
            for call in said.tool_calls or ():
                if isinstance(call_id := call.get("id"), str):
                    self._callers[call_id] = str(call.get("name", ""))
        self._called_to = len(messages)
        named = [str(call.get("name", "")) for call in message.tool_calls or ()]
        answers = message.tool_use_id
        return named if answers is None else [*named, self._callers.get(answers, answers)]

    def calls(self, budget_s: float) -> tuple[Sequence[Call], int]:
        """What every request used, as far as it was added up by now."""
        self.refresh()
        if self._calls[0] is not self._nodes:
            self._calls = (self._nodes, [])
        nodes, calls = self._calls  # of the rows as they are; each look goes on where the last one ended
        until = time.monotonic() + budget_s
        for node in nodes[len(calls) :]:
            if len(calls) % 64 == 0 and time.monotonic() > until and not self.is_counted(node.id):
                break
            calls.append(self._call(node.id))
        return calls, len(nodes)

    def is_counted(self, row_id: str) -> bool:  # noqa: ARG002
        """Tell whether what a row used is known without further work."""
        return True

    def call_of(self, row_id: str) -> Call | None:
        """What one request used."""
        return self._call(row_id)

    def _call(self, row_id: str) -> Call:
        request = self.request_of(row_id)
        return Call(
            row_id,
            self._parents.get(row_id),
            self._roots[row_id],
            request.model,
            request.timestamp,
            request.duration_ms,
            self.told_of(row_id).state == "failed",
            self.used_of(row_id),
        )


def _as_data(body: Body) -> dict[str, Any]:
    """Give a message as plain data."""
    return {"role": body.role, "content": body.content, "tool_calls": [call._asdict() for call in body.calls]}


def _text(message: CookedMessage) -> str:
    if not message.tool_calls:
        return message.content
    return message.content + "\n" + dumps_text(message.tool_calls)


def _body(message: CookedMessage, message_id: str) -> Body:
    calls = []
    for call in message.tool_calls or ():
        call_id = call.get("id")
        arguments = dumps_text(call.get("arguments", {}))
        calls.append(BodyCall(str(call.get("name", "")), call_id if isinstance(call_id, str) else None, arguments))
    role: Any = message.role if message.role in _ROLES else "user"
    return Body(message_id, role, str(message.content), tuple(calls), message.tool_use_id, message.is_error)


_MESSAGES = frozenset(
    {"messages", "contents", "input", "tools", "system", "systemInstruction", "system_instruction", "instructions"}
    | {"prompt", "model"}
)


def _settings(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give what a request says besides its messages and tools."""
    request = record.get("request") if record is not None else None
    if not isinstance(request, Mapping):
        return {}
    return {key: value for key, value in request.items() if key not in _MESSAGES}
