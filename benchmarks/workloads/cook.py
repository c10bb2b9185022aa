"""One side of the cook benchmark, in a process of its own: `cook.py SIDE TRACE [PARENTS]`, answers one JSON line.

SIDE is weft, llm_path, orjson (parsing every line and nothing else) or again (weft: all but the last percent, then that
percent on its own, against all at once). With PARENTS, the parents are written there, to be compared.
"""

from __future__ import annotations

import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

BUFFER = 1 << 20
STARTED = {
    "weft": ("weft.trace.cooker", "weft.trace.records"),
    "again": ("weft.trace.cooker",),
    "llm_path": ("llm_path.cook",),
    "orjson": ("orjson",),
}


def weft(trace: str) -> dict[str, Any]:
    """Cook a trace and write the cooked file."""
    room = import_module("weft.trace")
    cooker = room.Cooker()
    for place, line in room.read_records(trace):
        cooker.add(line, place)
    written = cooker.cooked().to_json()
    Path(f"{trace}.cooked").write_bytes(written)
    return {"bytes": len(written)}


def again(trace: str) -> dict[str, Any]:
    """Cook all but the last percent, then the rest, with a snapshot after each."""
    with open(trace, "rb", buffering=BUFFER) as file:
        count = sum(1 for _ in file)
    new = max(count // 100, 1)
    cooker = import_module("weft.trace").Cooker()
    with open(trace, "rb", buffering=BUFFER) as file:
        begun = process_time()
        for _ in range(count - new):
            cooker.add(file.readline())
        cooker.cooked()
        all_seconds = process_time() - begun
        begun = process_time()
        for line in file:
            cooker.add(line)
        cooker.cooked()
        new_seconds = process_time() - begun
    return {"all": all_seconds, "new": new_seconds, "share": new_seconds / all_seconds}


def llm_path(trace: str) -> dict[str, Any]:
    """Cook a trace and write the cooked file."""
    import_module("llm_path.cook").cook_traces(trace, f"{trace}.cooked")
    return {}


def orjson(trace: str) -> dict[str, Any]:
    """Parse every line."""
    loads = import_module("orjson").loads
    with open(trace, "rb", buffering=BUFFER) as file:
        for line in file:
            loads(line)
    return {}


def main() -> None:
    """Measure one side once."""
    side, trace = sys.argv[1:3]
    run = {"weft": weft, "llm_path": llm_path, "orjson": orjson, "again": again}[side]
    for name in STARTED[side]:  # starting is measured elsewhere
        import_module(name)
    wall, cpu = perf_counter(), process_time()
    told = run(trace)
    told |= {"seconds": process_time() - cpu, "wall": perf_counter() - wall}
    told["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if len(sys.argv) > 3:
        cooked = json.loads(Path(f"{trace}.cooked").read_bytes())
        parents = {request["id"]: request["parent_id"] for request in cooked["requests"]}
        Path(sys.argv[3]).write_text(json.dumps(parents))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
