"""Cooking: beside llm-path 0.3.0, beside parsing alone, how it grows, and how little cooking again costs.

Traces come from gen_trace.py (WEFT_GEN_TRACE, default ../shared/bench/gen_trace.py), the same bytes for the same seed.
Times are processor time of a process that does nothing else, so that a busy machine does not decide; sides take turns,
and ratios are medians of neighbours. llm-path takes minutes and is measured once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import HERE, Options, Peer

SEED = 1
WORKER = HERE / "workloads" / "cook.py"
LLM_PATH = Peer("llm-path", "0.3.0")
FASTER, PARSING, MEMORY_MB, TENFOLD, AGAIN = 60.0, 3.0, 300.0, 11.0, 0.05


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    repeats = max(1, min(options.repeats, 5))
    met = True
    with tempfile.TemporaryDirectory() as folder:
        small, medium, large = (_trace(Path(folder), count) for count in (300, 1_000, 3_000))
        beside = [_pair("weft", "orjson", large) for _ in range(repeats)]
        ours, parsing = (median(pair[side]["seconds"] for pair in beside) for side in (0, 1))
        ratio = median(pair[0]["seconds"] / pair[1]["seconds"] for pair in beside)
        memory = max(pair[0]["rss_mb"] for pair in beside)
        print(f"\n3,000 requests, {large.stat().st_size / 1e6:.0f} MB")
        met &= _line(
            "cook, output written", f"{ours:.2f} s, parsing alone {parsing:.2f} s", ratio, PARSING, "x parsing"
        )
        met &= _line("peak memory", "", memory, MEMORY_MB, " MB")
        grown = median(_side("weft", large)["seconds"] / _side("weft", small)["seconds"] for _ in range(repeats))
        met &= _line("300 to 3,000 requests", "", grown, TENFOLD, "x the time")
        share = median(_side("again", large)["share"] for _ in range(repeats))
        met &= _line("again after 1 % new requests", "", share, AGAIN, " of cooking all")
        print("\n1,000 requests")
        met &= _beside_llm_path(medium, Path(folder), repeats)
    return met


def _beside_llm_path(trace: Path, folder: Path, repeats: int) -> bool:
    ours = median(_side("weft", trace, folder / "ours.json")["seconds"] for _ in range(repeats))
    theirs = _side("llm_path", trace, folder / "theirs.json", python=LLM_PATH.python())
    ratio = theirs["seconds"] / ours
    shown = f"{ours:.2f} s, llm-path {theirs['seconds']:.1f} s and {theirs['rss_mb']:.0f} MB"
    mine, other = (json.loads((folder / name).read_text()) for name in ("ours.json", "theirs.json"))
    same = sum(mine[request] == parent for request, parent in other.items())
    # Where they differ, so do the messages: llm-path joins the texts of a Claude answer, and splits them in its echo.
    print(f"{'parents as llm-path has them':<36} {same} of {len(other)}")
    met = bool(ratio >= FASTER)
    print(f"{'cook, output written':<36} {shown}: {ratio:.0f}x   >= {FASTER:.0f}x{'' if met else '  MISSED'}")
    return met


def _line(what: str, times: str, value: float, most: float, unit: str) -> bool:
    met = value <= most
    shown = f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"
    print(f"{what:<36} {times + ': ' if times else ''}{shown}{unit}   <= {most:g}{unit}{'' if met else '  MISSED'}")
    return met


def _pair(one: str, other: str, trace: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return _side(one, trace), _side(other, trace)


def _side(side: str, trace: Path, parents: Path | None = None, *, python: Path | None = None) -> dict[str, Any]:
    command = [str(python or sys.executable), str(WORKER), side, str(trace), *([str(parents)] if parents else [])]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told: dict[str, Any] = json.loads(said.splitlines()[-1])  # llm-path says other things before
    return told


def _trace(folder: Path, count: int) -> Path:
    generator = Path(os.environ.get("WEFT_GEN_TRACE") or HERE.parents[1] / "shared" / "bench" / "gen_trace.py")
    if not generator.exists():
        raise RuntimeError(f"{generator} not found: set WEFT_GEN_TRACE to gen_trace.py")
    path = folder / f"{count}.jsonl"
    command = [sys.executable, str(generator), "--requests", str(count), "--seed", str(SEED), "--out", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path
