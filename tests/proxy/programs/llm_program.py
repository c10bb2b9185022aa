"""The command line of `llm`, run in one process: its own models and one of a settings file, with a tool."""

from __future__ import annotations

import os
from pathlib import Path

import llm.cli

DEPTH = 'How deep is it? [[tool depth {"pier": 4}]] [[then]] [[say {results}]]'
TOOL = (
    'def depth(pier: int) -> str:\n    "Measure how deep the water is at a pier."\n    return f"6.2 m at pier {pier}"'
)


def run(*args: str) -> None:
    """Run `llm` with these arguments."""
    llm.cli.cli(list(args), standalone_mode=False)


def main() -> None:
    """Ask over both APIs: once whole, once streamed, and once more in the conversation that was streamed."""
    entry = f"- model_id: harbour\n  model_name: gpt-5.2\n  api_base: {os.environ['OPENAI_BASE_URL']}\n"
    settings = Path(os.environ["LLM_USER_PATH"]) / "extra-openai-models.yaml"
    settings.write_text(f"{entry}  api_key_name: harbour\n  supports_tools: true\n", encoding="utf-8")
    run("keys", "set", "harbour", "--value", os.environ["OPENAI_API_KEY"])
    for model in ("harbour", "gpt-5-mini"):
        run("-m", model, "-s", "You are a sailor.", "--functions", TOOL, "--no-stream", f"Whole. {DEPTH}")
        run("-m", model, "-s", "You are a sailor.", "--functions", TOOL, f"Streamed. {DEPTH}")
        run("-c", "And there?")


if __name__ == "__main__":
    main()
