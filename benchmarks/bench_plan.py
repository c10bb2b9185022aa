"""plan() of a 50-message, 135 KB tool-using conversation, beside orjson's round trip of the body and beside lmctx."""

from __future__ import annotations

from benchmarks.harness import Case, Options, Peer, compare, report

PROVIDERS = {"openai": "OpenAI chat", "anthropic": "Anthropic", "gemini": "Gemini"}


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    beside_json = [Case(name, f"plan for {title} / loads + dumps", goal=2) for name, title in PROVIDERS.items()]
    beside_lmctx = [Case(name, f"plan for {title}", goal=3) for name, title in PROVIDERS.items()]
    orjson, lmctx = Peer("orjson", "3.13.0"), Peer("lmctx", "0.2.0")
    met = report(compare("plan", beside_json, peer=orjson, workload="plan", check=None, options=options))
    return (
        report(compare("plan", beside_lmctx, peer=lmctx, workload="plan", check="same_answer", options=options)) and met
    )
