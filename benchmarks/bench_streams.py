"""Reading a stream of 2,000 events, bytes to finished message, beside the SDKs, llm-path's parser and bare JSON."""

from __future__ import annotations

from benchmarks.harness import Case, Options, Peer, Result, compare, report

OPENAI = "read an OpenAI chat stream"
ANTHROPIC = "read an Anthropic stream"


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""

    def beside(peer: Peer, *cases: Case) -> list[Result]:
        return compare("streams", cases, peer=peer, workload="streams", check=None, options=options)

    return all(
        [
            report(beside(Peer("openai", "3.49.0"), Case("openai", OPENAI, goal=20))),
            report(beside(Peer("anthropic", "2.8.0"), Case("anthropic", ANTHROPIC, goal=20))),
            report(
                beside(Peer("llm-path", "0.3.0"), Case("openai", OPENAI, goal=1), Case("anthropic", ANTHROPIC, goal=1))
            ),
            # The limit: what is left is framing, telling every event and assembling the message.
            report(beside(Peer("orjson", "3.13.0"), Case("openai", OPENAI), Case("anthropic", ANTHROPIC))),
        ]
    )
