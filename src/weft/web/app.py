"""The routes: from an address to what a source answers. docs/reference/viewer-api.md lists them.

Handlers are plain functions, run in threads by Starlette, so that a slow disk or a long list holds up nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from weft.errors import WeftError
from weft.version import __version__
from weft.web import contract
from weft.web.answers import JsonResponse, RefusedError, check_id, error_response, json_body, number, refusal_of, text
from weft.web.blocks import IMAGES
from weft.web.compare import compare, compare_items
from weft.web.export import export
from weft.web.safety import Guard
from weft.web.source import Source
from weft.web.values import Filters

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from weft.web.viewer import Viewer

__all__ = ["NAME", "create_app"]

NAME = "weft"
_ROW_LIMIT, _DIFF_LIMIT, _IDS_LIMIT, _LIST_LIMIT = 1_000, 1_000, 100, 200
_TEXT_LIMIT, _RANGE_LIMIT = 200_000, 1 << 20
_BLOB_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_STATS: Collection[str] = ("request", "thread", "day", "model")

Handler = Callable[[Request], Any]


def create_app(viewer: Viewer, *, hosts: Collection[str] | None, cookie: str = "weft") -> ASGIApp:
    """Give the ASGI app of a viewer; `hosts` are the values of `Host` it answers to."""
    api = _Api(viewer, cookie)
    a_source, a_row = "/api/sources/{source}", "/api/sources/{source}/rows/{row}"
    routes = [
        Route("/_info", _json(api.info)),
        Route("/_local", api.local),
        Route("/api/session", api.session, methods=["POST"]),
        Route("/api/ticket", api.ticket, methods=["POST"]),
        Route("/api/sources", _json(api.sources)),
        Route(a_source, _json(api.source)),
        Route(f"{a_source}/graph", _json(api.graph)),
        Route(f"{a_source}/threads", _json(api.threads)),
        Route(f"{a_source}/messages", _json(api.messages)),
        Route(f"{a_source}/messages/{{message}}/content", _json(api.content)),
        Route(f"{a_source}/blobs/{{blob}}", api.blob),
        Route(f"{a_source}/search", _json(api.search)),
        Route(f"{a_source}/stats", _json(api.stats)),
        Route(f"{a_source}/stats/{{by}}", _json(api.stat_groups)),
        Route(f"{a_source}/misses", _json(api.misses)),
        Route(a_row, _json(api.row)),
        Route(f"{a_row}/place", _json(api.place)),
        Route(f"{a_row}/diff", _json(api.diff)),
        Route(f"{a_row}/tools", _json(api.tools)),
        Route(f"{a_row}/copy", _json(api.copy)),
        Route("/api/compare", _json(api.compare)),
        Route("/api/compare/diff", _json(api.compare_diff)),
        Route("/api/events", api.events),
        Route("/api/run-choices", _json(api.run_choices)),
        Route("/api/runs", api.runs, methods=["GET", "POST"]),
        Route("/api/runs/{run}", _json(api.run)),
        Route("/api/runs/{run}/stop", api.stop, methods=["POST"]),
        Route("/api/runs/{run}/approvals/{question}", api.approve, methods=["POST"]),
        Route("/api/export", api.export, methods=["POST"]),
        Route("/{path:path}", api.page),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(viewer.watch())
        try:
            yield
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            await viewer.close()

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={WeftError: _failed, HTTPException: _not_routed, Exception: _failed},
    )
    return Guard(app, keys=viewer.keys, hosts=hosts, cookie=cookie)


def _json(handler: Handler) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        return JsonResponse(handler(request))

    return answer


def _failed(_request: Request, error: Exception) -> Response:
    return error_response(refusal_of(error))


def _not_routed(_request: Request, error: Exception) -> Response:
    status = cast("HTTPException", error).status_code
    return error_response(RefusedError(status, "method" if status == 405 else "not_found", "there is nothing here"))


class _Api:
    """One method a route."""

    def __init__(self, viewer: Viewer, cookie: str) -> None:
        self._viewer, self._cookie = viewer, cookie

    def _source(self, request: Request) -> Source:
        return self._viewer.source(request.path_params["source"])

    def _source_row(self, request: Request) -> tuple[Source, str]:
        return self._source(request), check_id(request.path_params["row"], "row")

    # -- the service -------------------------------------------------------------------------------------------

    def info(self, _request: Request) -> contract.Info:
        return {"name": NAME, "version": __version__}

    def local(self, request: Request) -> Response:
        source_id = text(request, "source")
        if source_id is None:
            raise RefusedError(400, "parameter", "say which source: no file is named by its path here")
        data = self._viewer.source(source_id).cooked()
        return Response(data, media_type="application/json", headers=_download("cooked.json"))

    async def session(self, request: Request) -> Response:
        given = (await json_body(request)).get("token")
        cookie = self._viewer.keys.exchange(given) if isinstance(given, str) else None
        if cookie is None:
            raise RefusedError(403, "token", "this is not the token of this server: open the address it printed")
        response = Response(status_code=204)
        response.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
        return response

    def ticket(self, _request: Request) -> Response:
        ticket: contract.SessionRequest = {"token": self._viewer.keys.ticket()}
        return JsonResponse(ticket)

    def page(self, request: Request) -> Response:
        path = request.scope["path"]
        if path.startswith(("/api", "/_local", "/_info")):
            raise RefusedError(404, "not_found", "there is nothing here")
        built = self._viewer.built
        if (asset := built.assets.get(path)) is not None:
            caching = "public, max-age=31536000, immutable" if path.startswith("/assets/") else "no-cache"
            headers = {"etag": asset.etag, "cache-control": caching}
            if request.headers.get("if-none-match") == asset.etag:
                return Response(status_code=304, headers=headers)
            return Response(asset.data, headers={**headers, "content-type": asset.media_type})
        if path.startswith("/assets/") or re.search(r"\.[a-z0-9]{1,5}$", path):
            raise RefusedError(404, "not_found", "there is no such file")
        if built.index is None:
            raise RefusedError(503, "not_built", "the page was not built: run `make viewer` in a checkout of weft")
        return Response(built.index.data, headers={"content-type": built.index.media_type})

    # -- sources -----------------------------------------------------------------------------------------------

    def sources(self, _request: Request) -> contract.SourceList:
        return self._viewer.sources()

    def source(self, request: Request) -> contract.Source:
        return self._source(request).describe()

    def graph(self, request: Request) -> contract.Graph:
        limit = number(request, "limit", 200, most=_ROW_LIMIT)
        return self._source(request).graph(number(request, "offset", 0), limit, _tree(request))

    def threads(self, request: Request) -> contract.ThreadPage:
        limit = number(request, "limit", 50, least=1, most=_LIST_LIMIT)
        after = text(request, "after")
        return self._source(request).threads(check_id(after, "thread") if after else None, limit)

    def row(self, request: Request) -> contract.RowView:
        source, row_id = self._source_row(request)
        return source.view(row_id, _tree(request))

    def place(self, request: Request) -> contract.Place:
        source, row_id = self._source_row(request)
        return source.place(row_id, _tree(request))

    def diff(self, request: Request) -> contract.DiffItems:
        source, row_id = self._source_row(request)
        count = number(request, "count", 100, most=_DIFF_LIMIT)
        return source.diff_items(row_id, number(request, "start", 0), count)

    def tools(self, request: Request) -> contract.ToolList:
        source, row_id = self._source_row(request)
        return source.tools(row_id)

    def copy(self, request: Request) -> contract.CopyText:
        source, row_id = self._source_row(request)
        how = text(request, "as") or "json"
        if how not in ("curl", "python", "json"):
            raise RefusedError(400, "parameter", "as is curl, python or json")
        source.spot(row_id)
        return {"text": source.copy_of(row_id, how)}

    # -- messages ----------------------------------------------------------------------------------------------

    def messages(self, request: Request) -> contract.MessageList:
        ids = [each for each in (text(request, "ids") or "").split(",") if each]
        if len(ids) > _IDS_LIMIT:
            raise RefusedError(400, "parameter", f"ask for {_IDS_LIMIT} messages at a time")
        most = number(request, "max", 20_000, most=_TEXT_LIMIT)
        return self._source(request).messages([check_id(each, "message") for each in ids], most)

    def content(self, request: Request) -> contract.ContentRange:
        message_id = check_id(request.path_params["message"], "message")
        count = number(request, "count", 65_536, least=1, most=_RANGE_LIMIT)
        start = number(request, "start", 0)
        return self._source(request).content(message_id, text(request, "part") or "content", start, count)

    def blob(self, request: Request) -> Response:
        data, about = self._source(request).blob(check_id(request.path_params["blob"], "blob"))
        kind = about["media_type"].partition(";")[0].strip().lower()
        headers = {"content-security-policy": _BLOB_POLICY}
        if kind in IMAGES:
            return Response(data, headers={**headers, "content-type": kind, "content-disposition": "inline"})
        # Whatever it says it is, a browser only ever saves it [W-09].
        headers |= {"content-type": "application/octet-stream", **_download(about["name"] or "document")}
        return Response(data, headers=headers)

    # -- finding and understanding -----------------------------------------------------------------------------

    def search(self, request: Request) -> contract.SearchPage:
        filters = Filters(
            text(request, "q") or "",
            text(request, "role"),
            text(request, "model"),
            text(request, "tool"),
            text(request, "error") in ("1", "true"),
            _moment(request, "since"),
            _moment(request, "until", end=True),
        )
        after = text(request, "after")
        limit = number(request, "limit", 50, least=1, most=_LIST_LIMIT)
        return self._source(request).search(filters, check_id(after, "page") if after else None, limit)

    def stats(self, request: Request) -> contract.Stats:
        return self._source(request).tally().stats()

    def stat_groups(self, request: Request) -> contract.StatPage:
        by = request.path_params["by"]
        if by not in _STATS:
            raise RefusedError(404, "not_found", f"there are {', '.join(_STATS)}")
        limit = number(request, "limit", 200, least=1, most=_ROW_LIMIT)
        return self._source(request).stat_groups(by, number(request, "offset", 0), limit)

    def misses(self, request: Request) -> contract.CacheMissPage:
        limit = number(request, "limit", 100, least=1, most=_ROW_LIMIT)
        return self._source(request).misses(number(request, "offset", 0), limit)

    def compare(self, request: Request) -> contract.Compare:
        return compare(*self._sides(request))

    def compare_diff(self, request: Request) -> contract.DiffItems:
        count = number(request, "count", 100, most=_DIFF_LIMIT)
        return compare_items(*self._sides(request), number(request, "start", 0), count)

    def _sides(self, request: Request) -> tuple[Source, str, Source, str]:
        left = self._viewer.compare_sides(text(request, "left"), "left")
        return (*left, *self._viewer.compare_sides(text(request, "right"), "right"))

    # -- live, runs, sharing -----------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        stream = self._viewer.hub.follow(request.headers.get("last-event-id"), self._viewer.hello)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    def _runs(self) -> Any:
        if self._viewer.runs is None:
            raise RefusedError(409, "no_runs", "this server was started without a store to keep answers in")
        return self._viewer.runs

    def run_choices(self, _request: Request) -> contract.RunChoices:
        return cast("contract.RunChoices", self._runs().choices())

    async def runs(self, request: Request) -> Response:
        if request.method != "POST":
            listed: contract.RunList = {"runs": self._viewer.runs.listed() if self._viewer.runs is not None else []}
            return JsonResponse(listed)
        body = await json_body(request)
        source = self._viewer.source(str(body.get("source_id")))
        run = await self._runs().begin(source, body, on_turn=self._viewer.nudge)
        return JsonResponse(run, status_code=201)

    def run(self, request: Request) -> contract.Run:
        return cast("contract.Run", self._runs().shown(check_id(request.path_params["run"], "run")))

    async def stop(self, request: Request) -> Response:
        return JsonResponse(await self._runs().stop(check_id(request.path_params["run"], "run")))

    async def approve(self, request: Request) -> Response:
        run_id = check_id(request.path_params["run"], "run")
        question_id = check_id(request.path_params["question"], "question")
        return JsonResponse(self._runs().answer(run_id, question_id, await json_body(request)))

    async def export(self, request: Request) -> Response:
        body = await json_body(request)
        page, name = await asyncio.to_thread(export, self._viewer, body)
        headers = {"content-security-policy": "default-src 'none'; sandbox", **_download(name)}
        return Response(page, media_type="text/html", headers=headers)


def _tree(request: Request) -> str | None:
    tree = text(request, "tree")
    return check_id(tree, "row") if tree else None


def _moment(request: Request, name: str, *, end: bool = False) -> int | None:
    """Read a date or a time as milliseconds; a date alone is the day's beginning, or its end."""
    given = text(request, name)
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given)
        if moment.tzinfo is None:
            moment = moment.astimezone()
        milliseconds = int(moment.astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise RefusedError(400, "parameter", f"{name} is a date or a time, as in 2026-09-30T12:00") from None
    return milliseconds + 86_399_999 if end and len(given) == 10 else milliseconds


def _download(name: str) -> dict[str, str]:
    """Have a browser save it, under a name that is nothing but a name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[-100:] or "file"
    return {"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(plain)}"}
