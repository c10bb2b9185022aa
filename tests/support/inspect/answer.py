"""inspect-ai, asked line by line: runs evaluations, reads logs, compares them. Run with its own environment's Python.

A line is a JSON object: `do`, and what that needs. The answer is one line: what was found, or `{"error": ...}`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# It lives in an environment of its own, so nothing is known of its types here.
from inspect_ai import Task, eval  # type: ignore[import-not-found] # noqa: A004
from inspect_ai.dataset import Sample  # type: ignore[import-not-found]
from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]
from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked  # type: ignore[import-not-found]
from inspect_ai.model import (  # type: ignore[import-not-found]
    ChatMessageUser,
    ContentDocument,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score, mean, scorer  # type: ignore[import-not-found]
from inspect_ai.solver import generate, system_message, use_tools  # type: ignore[import-not-found]
from inspect_ai.tool import ToolCall, ToolError, tool  # type: ignore[import-not-found]

PICTURE = "data:image/png;base64,iVBORw=="
PAPER = "data:application/pdf;base64,JVBERi0xLjQ="


@tool  # type: ignore[untyped-decorator]
def depth() -> Any:
    async def execute(pier: int) -> str:
        """Sound the depth.

        Args:
            pier: Which pier.
        """
        if pier == 5:
            raise ToolError("no such pier")
        return f"{pier + 2} m"

    return execute


@scorer(metrics=[mean()])  # type: ignore[untyped-decorator]
def whim() -> Any:
    async def score(state: Any, target: Any) -> Any:
        return Score(value=float("nan") if state.epoch == 2 else 1, explanation=target.text)

    return score


def answers() -> list[Any]:
    """Two answers a sample: one that thinks aloud and calls a tool twice, one that ends."""
    calls = [ToolCall(id=f"c{pier}", function="depth", arguments={"pier": pier}) for pier in (4, 5)]
    asking = ModelOutput.from_content("mockllm/model", "", stop_reason="tool_calls")
    asking.choices[0].message.tool_calls = calls
    asking.choices[0].message.content = [
        ContentReasoning(reasoning="SEALED", summary="hm", redacted=True),
        ContentReasoning(reasoning="aloud", signature="SIG"),
        ContentText(text="One moment."),
    ]
    asking.usage = ModelUsage(input_tokens=3, output_tokens=4, total_tokens=7, reasoning_tokens=2)
    last = ModelOutput.from_content("mockllm/model", "Six. " + "It is deep there. " * 10)
    last.usage = ModelUsage(input_tokens=30, output_tokens=4, total_tokens=34, input_tokens_cache_read=3)
    return [asking, last]


def evaluate(folder: str) -> dict[str, str]:
    """Run one evaluation of two samples and two epochs for each kind of file, without any network."""
    seen = [ContentText(text="See."), ContentImage(image=PICTURE, detail="low"), ContentDocument(document=PAPER)]
    samples = [
        Sample(id="a/b", input="Depth?", target="Six", metadata={"tide": {"low": True}}),
        Sample(id=2, input=[ChatMessageUser(content=seen)], target=["Six", "6"]),
    ]
    solver = [system_message("Be brief."), use_tools(depth()), generate()]
    made = {}
    for kind in ("eval", "json"):
        outputs = [answer for _ in range(4) for answer in answers()]
        task = Task(name="harbour", dataset=samples, solver=solver, scorer=whim(), epochs=2)
        model = get_model("mockllm/model", custom_outputs=outputs)
        (log,) = eval(task, model=model, log_dir=folder, log_format=kind, display="none", max_samples=1)
        made[kind] = log.location
    folder = f"{folder}/chunked"
    convert_eval_logs_to_chunked(made["eval"], folder, chunk_size=2, attachments_chunk_bytes=50)
    return made | {"chunked": f"{folder}/{Path(made['eval']).name}"}


def read(path: str) -> Any:
    """Give what inspect-ai reads from a log, its references resolved; a header alone is read in another way."""
    read_eval_log(path, header_only=True)
    return json.loads(read_eval_log(path, resolve_attachments=True).model_dump_json(exclude_none=True))


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            said = evaluate(asked["folder"]) if asked["do"] == "evaluate" else read(asked["path"])
        except Exception as problem:  # noqa: BLE001 - whatever it is, who asked is told
            said = {"error": f"{type(problem).__name__}: {problem}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
