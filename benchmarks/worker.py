"""One side of a comparison: loads a workload with a library, then answers questions on stdin with JSON lines.

Runs in the peer's environment too, so it uses the standard library only and imports nothing of weft by itself.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import sys
from time import perf_counter


def main(path: str, library: str) -> None:
    """Answer questions until stdin ends."""
    spec = importlib.util.spec_from_file_location("workload", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no workload at {path}")
    workload = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(workload)
    functions = workload.functions(importlib.import_module(library))
    for line in sys.stdin:
        question = json.loads(line)
        function = functions[question["function"]]
        if question["do"] == "answer":
            answer = function()
        else:
            loops = range(question["loops"])
            gc.collect()
            start = perf_counter()
            for _ in loops:
                function()
            answer = (perf_counter() - start) / len(loops)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
