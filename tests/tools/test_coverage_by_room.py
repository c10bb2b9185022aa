from __future__ import annotations

from tools.coverage_by_room import PACKAGE, Room, by_room


def test_files_are_summed_by_room() -> None:
    rooms = by_room(
        [
            (PACKAGE / "canon" / "part.py", 10, 9),
            (PACKAGE / "canon" / "deep" / "more.py", 10, 10),
            (PACKAGE / "ids.py", 4, 2),
            (PACKAGE / "empty" / "__init__.py", 0, 0),
            (PACKAGE / "__init__.py", 8, 8),
        ]
    )

    assert rooms == [Room("canon", 2, 20, 19), Room("empty", 1, 0, 0), Room("ids", 1, 4, 2), Room("weft", 1, 8, 8)]
    assert [room.percent for room in rooms] == [95.0, 100.0, 50.0, 100.0]
    assert [room.enough for room in rooms] == [True, True, False, True]
