"""Sharing: what is shown as one HTML file that opens from disk, without a server and without a word to anyone.

The file holds the page itself (script and style, allowed by their hashes and nothing else) and the data it shows.
Secrets are masked unless that is switched off: an exported file leaves the machine.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from weft.jsontext import dumps_text
from weft.secrets import find_secrets, redact_text
from weft.version import __version__
from weft.web import contract
from weft.web.answers import RefusedError, check_id
from weft.web.blocks import IMAGES
from weft.web.compare import compare
from weft.web.graph import Node, Picture, draw
from weft.web.shaping import head_of, message_of, tools_of_both
from weft.web.source import Source
from weft.web.stats import Tally
from weft.web.texts import GIST
from weft.web.values import Body, BodyCall

if TYPE_CHECKING:
    from weft.web.viewer import Viewer

__all__ = ["export"]

_MOST_ROWS = 100_000
_MOST_BYTES = 256 << 20  # of the file: what a browser reads within seconds
_AT_ONCE = 1_000
_LARGEST_IMAGE = 8 << 20
_SHORTEST = 8  # characters of the shortest text that can hold a secret
_SCOPES = ("row", "branch", "tree", "source")
# Fields that link things together, or are words of the contract; what others wrote is in all the rest.
_PLAIN = re.compile(r"(?:.*_)?ids?|children|merges|op|role|kind|state|format|change|reason|curve|media_type|version")
_LISTS = ("bookmarks", "problems")  # of texts, where others are of ids


def export(viewer: Viewer, wanted: Mapping[str, Any]) -> tuple[bytes, str]:
    """Give the file, and a name for it."""
    script, style = viewer.built.export_script, viewer.built.export_style
    if script is None:
        raise RefusedError(503, "not_built", "the page was not built: run `make viewer` in a checkout of weft")
    redactor = None if wanted.get("redact") is False else _Redactor()
    data, source = _data(viewer, wanted, redactor)
    if redactor is not None:
        redactor.mask(data)
        data["is_redacted"], data["redactions"] = True, redactor.count
    page = _page(dumps_text(data), script, style or "", title=str(data["name"]))
    if len(page) > _MOST_BYTES:
        raise RefusedError(413, "too_large", f"the file would have {len(page) >> 20} MiB; export less of it")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", source.name).strip("-.")[:60] or "weft"
    return page, f"{name}.html"


def _data(viewer: Viewer, wanted: Mapping[str, Any], redactor: _Redactor | None) -> tuple[dict[str, Any], Source]:
    source = viewer.source(str(wanted.get("source_id")))
    scope, row_id = wanted.get("scope"), wanted.get("row_id")
    if scope not in _SCOPES:
        raise RefusedError(400, "parameter", f"scope is one of {', '.join(_SCOPES)}")
    if row_id is not None or scope != "source":
        row_id = check_id(str(row_id), "row")
        source.spot(row_id)
    ids = _rows(source, str(scope), row_id)
    if len(ids) > _MOST_ROWS:
        raise RefusedError(413, "too_large", f"{len(ids)} rows are too many for one file; up to {_MOST_ROWS} are not")
    return _gather(viewer, source, ids, row_id, wanted.get("compare"), redactor), source


def _rows(source: Source, scope: str, row_id: str | None) -> list[str]:
    if scope == "source" or row_id is None:
        return [spot.id for spot in source.picture().spots]
    if scope == "tree":
        return [spot.id for spot in source.picture(row_id).spots]
    picture, spot = source.spot(row_id)
    ids = [spot.id]
    while scope == "branch" and (above := picture.parent_row(spot)) is not None and len(ids) <= _MOST_ROWS:
        spot = picture.spots[above]
        ids.append(spot.id)
    return ids[::-1]


def _gather(
    viewer: Viewer, source: Source, ids: Sequence[str], row_id: str | None, other: Any, redactor: _Redactor | None
) -> dict[str, Any]:
    picture = _drawn(source, ids)
    rows: dict[str, contract.ExportRow] = {}
    tools: dict[str, contract.Tool] = {}
    named: dict[str, None] = {}
    for spot in picture.spots:
        with source.lock:  # one row at a time: others look at the same source
            rows[spot.id] = row = _row(source, picture, spot.id, tools)
        named.update(dict.fromkeys([*(row["before"] or ()), *row["more"], *row["answered"]]))
    compared = _compared(viewer, source, row_id, other, redactor)
    if compared is not None:
        named.update((item["message"]["id"], None) for run in compared["diff"]["runs"] for item in run["items"])
    messages = _messages(source, list(named), redactor)
    calls, _ = source.calls(1.0)
    kept = [call for call in calls if call.row_id in rows]
    tally = Tally(kept, len(kept), version=source.version)
    data: contract.ExportData = {
        "format": "weft-export-2",
        "name": source.name,
        "version": __version__,
        "created_ms": int(viewer.clock() * 1000),
        "is_redacted": False,
        "redactions": 0,
        "source": {**source.describe(), "rows": len(ids), "is_live": False, "is_loading": False, "can_run": False},
        "graph": {
            "source_id": source.id,
            "version": picture.version,
            "tree_id": None,
            "total": len(picture.spots),
            "offset": 0,
            "width": picture.width,
            "height": picture.height,
            "rows": source.rows(picture, picture.spots),
            "lines": list(picture.lines),
        },
        "rows": rows,
        "tools": tools,
        "heads": {key: head_of(body) for key, body in messages.items()},
        "messages": {key: message_of(body, 1 << 62) for key, body in messages.items()},
        "blobs": _images(source, [blob for body in messages.values() for blob in body.blobs]),
        "stats": tally.stats(),
        "compare": compared,
        "selected_id": row_id,
    }
    return dict(data)


def _row(source: Source, picture: Picture, row_id: str, tools: dict[str, contract.Tool]) -> contract.ExportRow:
    """Give a row as what it adds to the one before it; its tools are put with all others."""
    context = source.context(row_id)
    is_alone = context.against_id is not None and context.against_id not in picture.rows
    own = source.tools_of(row_id)
    old = source.tools_of(context.against_id) if is_alone and context.against_id is not None else ()
    for tool in tools_of_both((*own, *old), own):
        tools.setdefault(tool["id"], tool)
    kept = _shared(context.before, context.sent)
    return {
        "header": source.header(row_id),
        "against_id": context.against_id,
        "before": list(context.before) if is_alone else None,
        "kept": kept,
        "more": list(context.sent[kept:]),
        "answered": list(context.answered),
        "runs": [(op, len(run)) for op, run in source.script(context)],
        "children": list(picture.children.get(row_id, ())),
        "tools": [tool.id for tool in own],
        "tools_before": [tool.id for tool in old] if is_alone else None,
    }


def _shared(before: Sequence[str], sent: Sequence[str]) -> int:
    """Count the messages that both begin with."""
    if list(sent[: len(before)]) == list(before):
        return len(before)
    return next((at for at, (old, new) in enumerate(zip(before, sent, strict=False)) if old != new), len(sent))


def _messages(source: Source, wanted: Sequence[str], redactor: _Redactor | None) -> dict[str, Body]:
    """Read messages, as many as a file may hold."""
    messages: dict[str, Body] = {}
    size = 0
    for start in range(0, len(wanted), _AT_ONCE):
        with source.lock:
            bodies = source.bodies(wanted[start : start + _AT_ONCE])
        for body in bodies:
            messages[body.id] = clean = body if redactor is None else redactor.body(body)
            size += len(clean.content) + sum(len(call.arguments) for call in clean.calls)
        if size > _MOST_BYTES:
            raise RefusedError(413, "too_large", "the messages of these rows are too long for a file; export a branch")
    return messages


def _drawn(source: Source, ids: Sequence[str]) -> Picture:
    there = set(ids)
    nodes = [
        Node(node.id, node.parent_id if node.parent_id in there else None, node.timestamp)
        for node in source.nodes(None)[1]
        if node.id in there
    ]
    return draw(nodes, version=source.version)


def _compared(
    viewer: Viewer, source: Source, row_id: str | None, other: Any, redactor: _Redactor | None
) -> contract.Compare | None:
    if other is None or row_id is None:
        return None
    beside, other_id = viewer.compare_sides(str(other), "compare")
    if beside is not source:
        raise RefusedError(400, "parameter", "only rows of one source are exported side by side")
    with source.lock:
        before = source.clean
        source.clean = before if redactor is None else redactor.body
        try:
            return compare(source, row_id, beside, other_id, whole=True)
        finally:
            source.clean = before


def _images(source: Source, attached: Sequence[contract.Attachment]) -> dict[str, str]:
    """Give pictures as data: URLs; one whose bytes cannot be had is left out, as the page leaves it out."""
    images: dict[str, str] = {}
    left = _MOST_BYTES // 2
    for about in {one["id"]: one for one in attached}.values():
        if not about["is_image"] or (about["size_bytes"] or 0) > _LARGEST_IMAGE:
            continue
        try:
            data, known = source.blob(about["id"])
        except RefusedError:
            continue
        kind = known["media_type"].partition(";")[0].strip().lower()
        size = len(data) * 4 // 3
        if kind in IMAGES and len(data) <= _LARGEST_IMAGE and size < left:
            left -= size
            images[about["id"]] = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return images


class _Redactor:
    """Masks the secrets in every text that others wrote, and counts them. Messages first: a cut one hides its shape."""

    def __init__(self) -> None:
        self.count = 0
        self._masked: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Give a text without its secrets."""
        if text not in self._masked:
            found = len(find_secrets(text)) if len(text) >= _SHORTEST else 0
            self._masked[text] = redact_text(text) if found else text
            self.count += found
        return self._masked[text]

    def body(self, body: Body) -> Body:
        """Give a message without its secrets."""
        calls = tuple(BodyCall(call.name, call.id, self.text(call.arguments)) for call in body.calls)
        blobs = tuple(self._attachment(blob) for blob in body.blobs)
        return replace(body, content=self.text(body.content), calls=calls, blobs=blobs)

    def _attachment(self, blob: contract.Attachment) -> contract.Attachment:
        return blob if blob["name"] is None else {**blob, "name": self.text(blob["name"])}

    def mask(self, root: dict[str, Any]) -> None:
        """Mask all other texts, in place."""
        todo: list[Any] = [root]
        while todo:
            value = todo.pop()
            if isinstance(value, dict):
                for key, item in value.items():
                    if key in _LISTS and isinstance(item, list):
                        value[key] = [self.text(each) if isinstance(each, str) else each for each in item]
                    elif isinstance(item, (dict, list)) and key not in ("blobs", "messages"):
                        todo.append(item)
                    elif isinstance(item, str) and not _PLAIN.fullmatch(key):
                        value[key] = self.text(_whole_words(item) if key in ("gist", "title") else item)
            else:
                todo += [item for item in value if isinstance(item, (dict, list))]


def _whole_words(gist: str) -> str:
    """Leave off the last word of a line that was cut: half a secret is not recognised, and is half a secret."""
    if len(gist) < GIST - 1:
        return gist
    return f"{gist.rstrip('…').rpartition(' ')[0]}…"


def _page(data: str, script: str, style: str, *, title: str) -> bytes:
    # Inside <script> only these two could end or confuse it; both spellings mean the same to JavaScript.
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    style = style.replace("</style", "<\\/style")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="content-security-policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)} - weft</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            '<div id="app"></div>',
            f'<script type="application/json" id="weft-export">{data}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    ).encode("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
