"""Ports, notes and the built page."""

from __future__ import annotations

import socket
import stat
import time
from pathlib import Path

import pytest

import weft.web
from tests.support.viewing import running_viewer
from weft.errors import StoreError, UsageError, WeftError
from weft.web import Note, find_port, read_note, written_note
from weft.web.answers import RefusedError, refusal_of
from weft.web.static import load_built


def test_a_free_port_is_taken_and_a_taken_one_stepped_over(tmp_path: Path) -> None:
    """C-54: ten more at most."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = find_port("127.0.0.1", port, wants="a", notes=tmp_path)
        assert found.socket is not None
        found.socket.close()

    assert port < found.port <= port + 10
    assert found.url == f"http://127.0.0.1:{found.port}/"


def test_when_all_ports_are_taken_it_says_so(tmp_path: Path) -> None:
    taken = [socket.socket() for _ in range(11)]
    try:
        for start in range(20_000, 60_000, 11):
            try:
                for number, each in enumerate(taken):
                    each.bind(("127.0.0.1", start + number))  # taken, and nobody answers
                break
            except OSError:
                for each in taken:
                    each.close()
                taken = [socket.socket() for _ in range(11)]
        with pytest.raises(UsageError, match=f"ports {start} to {start + 10} are taken"):
            find_port("127.0.0.1", start, wants="", notes=tmp_path)
    finally:
        for each in taken:
            each.close()


def test_the_viewer_that_shows_the_same_is_found_and_another_stepped_over(tmp_path: Path) -> None:
    with running_viewer([]) as page:
        port = page.listening.port
        unknown = find_port("127.0.0.1", port, wants="a", notes=tmp_path)
        with written_note(tmp_path, port, Note("token", "a")):
            same = find_port("127.0.0.1", port, wants="a", notes=tmp_path)
            other = find_port("127.0.0.1", port, wants="b", notes=tmp_path)
            assert other.socket is not None
            other.socket.close()

    assert (unknown.socket, same.socket, same.port) == (None, None, port)
    assert other.port != port


def test_a_note_is_for_its_owner_and_gone_with_the_server(tmp_path: Path) -> None:
    """K-05: private from creation; a planted link is not followed."""
    folder = tmp_path / "view"
    folder.mkdir(mode=0o700)
    (folder / "9.json").symlink_to(tmp_path / "elsewhere")
    with written_note(folder, 9, Note("secret", "a")):
        place = folder / "9.json"
        mode = stat.S_IMODE(place.stat().st_mode)
        note = read_note(folder, 9)

    assert (mode, note) == (0o600, Note("secret", "a"))
    assert not (tmp_path / "elsewhere").exists()
    assert not place.exists()
    assert read_note(folder, 9) is None
    (folder / "9.json").write_text("[]")
    assert read_note(folder, 9) is None


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with written_note(tmp_path / "file", 9, Note("secret", "a")):
        assert read_note(tmp_path / "file", 9) is None


def test_small_answers_are_sent_at_once() -> None:
    """A head and a body in two pieces: without TCP_NODELAY the second waits for the receipt of the first, 40 ms."""
    with running_viewer([]) as page:
        took = []
        for _ in range(40):
            began = time.monotonic()
            page.get("/api/sources")
            took.append(time.monotonic() - began)

    assert sorted(took)[10] < 0.035


def test_the_page_is_a_fixed_list_of_files(tmp_path: Path) -> None:
    """W-06: links and unknown kinds are left out; each file has the type of its name."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "export").mkdir()
    (tmp_path / "index.html").write_text("<html>")
    (tmp_path / "icon.svg").write_text("<svg>")
    (tmp_path / "assets" / "a.js").write_text("1")
    (tmp_path / "assets" / "run.sh").write_text("rm")
    (tmp_path / "assets" / "b.css").symlink_to("/etc/passwd")
    (tmp_path / "export" / "viewer.js").write_text("2")
    built = load_built(tmp_path)

    assert built.index is not None
    assert sorted(built.assets) == ["/assets/a.js", "/icon.svg"]
    assert built.assets["/assets/a.js"].media_type.startswith("text/javascript")
    assert (built.export_script, built.export_style) == ("2", None)


def test_files_of_the_page_are_kept_by_the_browser_and_the_page_is_not() -> None:
    with running_viewer([]) as page:
        script = page.client.get("/assets/a-1.js")
        again = page.client.get("/assets/a-1.js", headers={"if-none-match": script.headers["etag"]})
        deep = page.client.get("/trace/f1/r3?compare=f1:r2")
        missing = [page.refused(path) for path in ("/assets/none.js", "/robots.txt", "/api", "/_local/x", "/_info/x")]

    assert (script.content, again.status_code) == (b"1", 304)
    assert "immutable" in script.headers["cache-control"]
    assert deep.headers["content-type"].startswith("text/html")
    assert deep.headers["cache-control"] == "no-store"
    assert missing == [(404, "not_found")] * 5


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (RefusedError(409, "x", "why"), 409, "why"),
        (UsageError("wrong"), 400, "wrong"),
        (weft.TurnNotFoundError("gone"), 404, "gone"),
        (StoreError("disk"), 500, "disk"),
        (WeftError("other"), 500, "other"),
        (ZeroDivisionError("secret detail"), 500, "a fault in weft itself: ZeroDivisionError"),
    ],
)
def test_errors_say_what_a_page_may_know(error: Exception, status: int, said: str) -> None:
    refusal = refusal_of(error)

    assert (refusal.status, str(refusal)) == (status, said)


def test_a_body_that_is_too_large_or_no_json_is_refused() -> None:
    with running_viewer([]) as page:
        json_type = {"content-type": "application/json"}
        large = page.client.post("/api/export", content=b" " * (9 << 20), headers=json_type)
        words = page.client.post("/api/export", content=b"words", headers=json_type)

    assert (large.status_code, words.status_code) == (413, 400)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name="starlette")

    monkeypatch.setattr(weft.web, "import_module", missing)
    monkeypatch.delitem(vars(weft.web), "Viewer", raising=False)

    with pytest.raises(UsageError, match=r"weft\[view\]"):
        weft.web.Viewer  # noqa: B018
    with pytest.raises(AttributeError):
        weft.web.nothing  # noqa: B018
