"""Run every benchmark, or those named: `python -m benchmarks [NAME ...] [--repeats N] [--check]`."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import Options


def main() -> int:
    """Run the benchmarks; with --check a missed goal is a failure."""
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(known)} (all)")
    parser.add_argument("--repeats", type=int, default=15, help="interleaved measurements of each side (15)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    options = Options(repeats=arguments.repeats)
    met = [import_module(f"benchmarks.bench_{name}").run(options) for name in arguments.names or known]
    return 0 if all(met) or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
