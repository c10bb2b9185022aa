"""Building a 50-message tool-using Context, to_dict and from_dict, beside lmctx 0.2.0."""

from __future__ import annotations

from benchmarks.harness import Case, Options, Peer, compare, report

CASES = [
    Case("build", "build a 50-message Context", goal=3),
    Case("build_and_read", "build it and read every frozen value"),
    Case("to_dict", "to_dict", goal=2),
    Case("from_dict", "from_dict", goal=3),
    Case("from_dict_and_read", "from_dict and read every frozen value"),
]


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    peer = Peer("lmctx", "0.2.0")
    return report(compare("context", CASES, peer=peer, workload="context", check="same_answer", options=options))
