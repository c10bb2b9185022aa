"""Who may ask, and what every answer says [W-01 to W-10]."""

from __future__ import annotations

import http.client
import json
import logging
from typing import Any

import pytest

from tests.support.viewing import Page
from tests.web.conftest import Harbour
from weft.web.app import NAME
from weft.web.safety import Keys, host_names, is_loopback

DATA = [
    "/api/sources",
    "/api/sources/t1",
    "/api/sources/t1/graph",
    "/api/sources/t1/threads",
    "/api/sources/t1/search?q=deep",
    "/api/sources/t1/stats",
    "/api/sources/t1/stats/day",
    "/api/sources/t1/misses",
    "/api/sources/t1/messages?ids=a",
    "/api/compare?left=t1:a&right=t1:b",
    "/api/events",
    "/api/runs",
    "/api/run-choices",
    "/_local?source=t1",
    "/api/nothing",
]


def ask(
    page: Page, path: str, *, method: str = "GET", host: str | None = "", body: str | None = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """Send a request as it is, headers and all; underscores in names stand for dashes."""
    connection = http.client.HTTPConnection("127.0.0.1", page.listening.port, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    if host is not None:
        connection.putheader("host", host or f"127.0.0.1:{page.listening.port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("content-length", str(len(body.encode())))
    connection.endheaders(body.encode() if body is not None else None)
    answer = connection.getresponse()
    found = {name.lower(): value for name, value in answer.getheaders()}
    data = b"" if "event-stream" in found.get("content-type", "") else answer.read()
    connection.close()
    read = json.loads(data) if data and "json" in found.get("content-type", "") else data
    return answer.status, read, found


def bearer(page: Page) -> dict[str, str]:
    return {"authorization": f"Bearer {page.viewer.keys.token}"}


@pytest.mark.parametrize("path", DATA)
def test_no_route_gives_data_without_the_token(harbour: Harbour, path: str) -> None:
    """W-01: 403 for every route that carries data."""
    for headers in (
        {},
        {"authorization": "Bearer nonsense"},
        {"cookie": "weft=x; a=b"},
        {"authorization": "Basic eA=="},
    ):
        status, body, _ = ask(harbour.page, path, **headers)

        assert (status, body["error"]["code"]) == (403, "token")


def test_the_token_is_long_and_never_in_a_log(harbour: Harbour, caplog: pytest.LogCaptureFixture) -> None:
    """W-01: at least 128 bits, not in logs, not in any answer."""
    page = harbour.page
    with caplog.at_level(logging.DEBUG):
        answer = page.client.get("/api/sources")
        page.client.get("/")

    assert len(page.viewer.keys.token) >= 43  # 256 bits in base64
    assert page.viewer.keys.token not in caplog.text + answer.text + repr(page.viewer.keys)
    assert "referer" not in answer.request.headers
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_token_in_the_query_is_no_token(harbour: Harbour) -> None:
    """W-01: an address is kept in histories and logs, so it opens nothing."""
    status, _, _ = ask(harbour.page, f"/api/sources?token={harbour.page.viewer.keys.token}")

    assert status == 403


def test_a_page_exchanges_the_token_for_a_cookie_that_scripts_cannot_read(harbour: Harbour) -> None:
    """W-01: SameSite=Strict, HttpOnly, and not the token itself."""
    page = harbour.page
    body = json.dumps({"token": page.viewer.keys.token})
    mine = {"origin": page.origin, "content_type": "application/json"}

    status, _, headers = ask(page, "/api/session", method="POST", body=body, **mine)
    cookie = headers["set-cookie"]
    name_and_value = cookie.partition(";")[0]

    assert status == 204
    assert name_and_value.startswith(f"weft-{page.listening.port}=")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert page.viewer.keys.token not in cookie
    assert ask(page, "/api/sources", cookie=f"theme=dark; {name_and_value}")[0] == 200
    assert ask(page, "/api/session", method="POST", body='{"token": "x"}', **mine)[0] == 403
    assert ask(page, "/api/session", method="POST", body='{"token": 1}', **mine)[0] == 403
    assert ask(page, "/api/session", method="POST", body="[]", **mine)[0] == 400


def test_a_ticket_opens_one_browser_once() -> None:
    """W-01: a browser's address can be read by others on the machine; what is in it is worth nothing afterwards."""
    now = [0.0]
    keys = Keys(lambda: now[0])
    ticket, late = keys.ticket(), keys.ticket()

    assert keys.exchange(ticket) is not None
    assert keys.exchange(ticket) is None
    now[0] = 1000.0
    assert keys.exchange(late) is None
    assert keys.exchange(keys.token) is not None
    assert keys.ticket() != ticket


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "localhost.attacker.example",
        "127.0.0.1.nip.io",
        "attacker.example:{port}",
        "LOCALHOST:{port}",
        "127.0.0.1.:{port}",
        "localhost.:{port}",
        "127.0.0.1:1",
        "127.0.0.1",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "user@127.0.0.1:{port}",
    ],
)
def test_another_host_is_not_served_even_with_the_token(harbour: Harbour, host: str) -> None:
    """W-02."""
    page = harbour.page
    for path in ("/api/sources", "/", "/_info"):
        status, body, _ = ask(page, path, host=host.format(port=page.listening.port), **bearer(page))

        assert (status, body["error"]["code"]) == (403, "host")


def test_a_request_without_a_host_is_a_bad_one(harbour: Harbour) -> None:
    """W-02: 400 if missing."""
    assert ask(harbour.page, "/api/sources", host=None, **bearer(harbour.page))[0] == 400


def test_both_names_of_this_machine_are_served(harbour: Harbour) -> None:
    page = harbour.page
    for host in ("127.0.0.1", "localhost"):
        assert ask(page, "/api/sources", host=f"{host}:{page.listening.port}", **bearer(page))[0] == 200


@pytest.mark.parametrize(
    "origin", ["null", "http://attacker.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_pages_of_other_origins_may_not_ask(harbour: Harbour, origin: str) -> None:
    """W-03: 403 on data and on change, and no CORS header ever."""
    page = harbour.page
    given = origin.format(port=page.listening.port)
    for method, path in (
        ("GET", "/api/sources"),
        ("POST", "/api/runs"),
        ("POST", "/api/session"),
        ("OPTIONS", "/api/runs"),
    ):
        status, _, headers = ask(
            page, path, method=method, body="{}", origin=given, content_type="application/json", **bearer(page)
        )

        assert status == 403
        assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_a_browser_says_are_of_another_site_are_refused(harbour: Harbour, site: str) -> None:
    """W-03: another port of this machine is the same site, and still not this page."""
    page = harbour.page

    assert ask(page, "/api/sources", sec_fetch_site=site, **bearer(page))[0] == 403
    assert ask(page, "/_local?source=t1", sec_fetch_site=site, **bearer(page))[0] == 403
    assert ask(page, "/", sec_fetch_site=site)[0] == 200  # a link from elsewhere opens the page, and the page asks


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_itself_and_an_address_typed_by_hand_may_ask(harbour: Harbour, site: str) -> None:
    assert ask(harbour.page, "/api/sources", sec_fetch_site=site, **bearer(harbour.page))[0] == 200


def test_forms_and_images_change_nothing(harbour: Harbour) -> None:
    """W-04: a form, JSON as text, a GET: none of them begins a run or opens a session."""
    page = harbour.page
    body = json.dumps({"source_id": "t1", "row_id": harbour.question, "model": ""})
    mine = {"origin": page.origin, **bearer(page)}
    before = page.get("/api/sources/t1")

    assert ask(page, "/api/runs", method="POST", body=body, content_type="text/plain", **mine)[0] == 415
    assert (
        ask(page, "/api/runs", method="POST", body="a=b", content_type="application/x-www-form-urlencoded", **mine)[0]
        == 415
    )
    assert ask(page, "/api/runs", method="POST", body=body, **mine)[0] == 415
    assert ask(page, "/api/session", method="POST", body=body, content_type="application/json")[0] == 403  # no origin
    assert ask(page, "/", method="POST", body=body, content_type="application/json", **mine)[0] == 405
    for path in ("/api/session", "/api/export", "/api/runs/run1/stop"):
        assert ask(page, path, **bearer(page))[0] in (404, 405)
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "CONNECT"):
        assert ask(page, "/api/runs", method=method, **mine)[0] in (400, 405)
    assert page.get("/api/sources/t1") == before


def test_a_header_said_twice_is_not_trusted(harbour: Harbour) -> None:
    page = harbour.page
    connection = http.client.HTTPConnection("127.0.0.1", page.listening.port)
    connection.putrequest("GET", "/api/sources")
    for value in (page.origin, "http://attacker.example"):
        connection.putheader("origin", value)
    connection.putheader("authorization", f"Bearer {page.viewer.keys.token}")
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()

    assert status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/_local?path=/etc/passwd",
        "/_local?source=/etc/passwd",
        "/_local?source=../../etc/passwd",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/assets/..%2f..%2fpyproject.toml",
        "/api/sources/..%2f..",
        "/api/sources/%2fdev%2fzero/graph",
        "/api/sources/t1/blobs/..%2f..%2fetc%2fpasswd",
        "/api/sources/t1/rows/%00",
        "/static/index.html",
    ],
)
def test_no_route_takes_a_path(harbour: Harbour, path: str) -> None:
    """W-06."""
    status, body, _ = ask(harbour.page, path, **bearer(harbour.page))

    assert status in (400, 404)
    assert b"root:" not in (body if isinstance(body, bytes) else json.dumps(body).encode())


def test_every_answer_has_the_headers(harbour: Harbour) -> None:
    """W-10."""
    page = harbour.page
    for path in ("/", "/assets/a-1.js", "/_info", "/api/sources", "/api/nothing", "/anything/else?q=1"):
        _, _, headers = ask(page, path, **bearer(page))
        policy = headers["content-security-policy"]

        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert ("no-store" in headers["cache-control"]) == (path != "/assets/a-1.js")
        assert "server" not in headers


def test_what_models_wrote_never_comes_as_markup(harbour: Harbour) -> None:
    """W-09: stored HTML is a download in a sandbox; an image is an image; and neither is sniffed."""
    page = harbour.page

    _, data, headers = ask(page, f"/api/sources/t1/blobs/d{harbour.document}", **bearer(page))

    assert data == b"<script>alert(1)</script>"
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"] == "attachment; filename=\"evil.html\"; filename*=UTF-8''evil.html"
    assert headers["content-security-policy"].endswith("sandbox")
    assert headers["x-content-type-options"] == "nosniff"


def test_who_listens_is_said_to_anyone_on_this_machine_and_nothing_more(harbour: Harbour) -> None:
    """C-54."""
    status, body, _ = ask(harbour.page, "/_info")

    assert (status, body) == (200, {"name": NAME, "version": body["version"]})


def test_a_page_that_was_not_built_says_so() -> None:
    from tests.support.viewing import running_viewer
    from weft.web.static import Built, load_built

    empty = Built(None, load_built().assets, None, None)
    with running_viewer([], built=empty) as page:
        assert page.refused("/") == (503, "not_built")
        assert page.client.post("/api/export", json={}).status_code == 503


def test_only_loopback_addresses_are_this_machine() -> None:
    """W-05."""
    assert [host for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost") if not is_loopback(host)] == []
    assert [host for host in ("0.0.0.0", "::", "10.0.0.1", "127.evil.example", "") if is_loopback(host)] == []  # noqa: S104


def test_the_names_of_an_address_are_spelled_as_browsers_do() -> None:
    assert host_names("127.0.0.1", 8765) == {"127.0.0.1:8765", "localhost:8765"}
    assert host_names("::1", 80) == {"[::1]:80", "localhost:80", "[::1]", "localhost"}
    assert host_names("10.0.0.7", 9) == {"10.0.0.7:9"}


def test_on_every_address_only_the_address_itself_is_answered_to(small_store: Any) -> None:
    """W-02, W-05: no name can be made to lead to a viewer that listens everywhere."""
    from tests.support.viewing import running_viewer
    from weft.web import ThreadsSource

    with running_viewer([ThreadsSource("t1", "threads", small_store)], host="0.0.0.0") as page:  # noqa: S104
        assert ask(page, "/api/sources", **bearer(page))[0] == 200
        assert ask(page, "/api/sources", host=f"attacker.example:{page.listening.port}", **bearer(page))[0] == 403
        assert ask(page, "/api/sources")[0] == 403
