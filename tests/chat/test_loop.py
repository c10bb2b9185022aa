"""The loop: tools asked about, run, and answered (threads.md, section 11)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.support.chatting import CLAUDE, GEMINI, GPT, HARBOUR, RESPONSES, Talk
from weft.chat import NOT_RUN
from weft.errors import ProviderError, UsageError
from weft.tools import Approval, Choice, Decision, Question

TWO = '[[tool depth {"pier": 1}]][[tool depth {"pier": 2}]] How deep?'


def depth(pier: int) -> str:
    """Measure the depth at a pier."""
    return f"{pier}.2 m"


def answers(*choices: Any) -> Any:
    """A person who gives these answers, one after another."""
    waiting = list(choices)

    def answer(_question: Question) -> Any:
        return waiting.pop(0)

    return Approval(answer)


def results(block_list: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(block["content"][0]["text"], block.get("is_error", False)) for block in block_list]


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT, RESPONSES, "cohere/command-a", "bedrock/amazon.nova-pro"])
def test_t63_all_results_go_into_one_turn_in_call_order(talk: Talk, model: str) -> None:
    """T-63, T-64, M-14: one user turn, continuing the answer, its bookmark carried on."""
    outcome = talk.ask(TWO, model, bookmark="tides", functions=[depth])

    question, answer, given, last = talk.store.thread(outcome.turn.id).turns
    assert [turn.role for turn in (question, answer, given, last)] == ["user", "assistant", "user", "assistant"]
    assert results(given.content) == [("1.2 m", False), ("2.2 m", False)]
    assert [block["tool_use_id"] for block in given.content] == [
        block["id"] for block in answer.content if block["type"] == "tool_use"
    ]
    assert given.meta["continues"] == [answer.id]
    assert {turn.bookmark for turn in (question, answer, given, last)} == {"tides"}
    assert "1.2 m" in last.text
    assert len(talk.frames("gpt.call")) == 2


def test_a_real_mcp_server_is_listed_and_called(talk: Talk) -> None:
    """Section 10, step 3: names as <server>___<tool>."""
    text = '[[tool harbour___depth {"pier": 4}]][[tool harbour___depth {"pier": 9}]] How deep?'
    question = talk.store.add_turn(text, provider_ptr=CLAUDE, servers=["harbour"])

    outcome = talk.process(question.id, servers=[HARBOUR])

    given = talk.store.thread(outcome.turn.id)[2]
    assert [tool["name"] for tool in talk.sent(0)["tools"]] == ["harbour___depth"]
    assert results(given.content)[0] == ("6.2 m at pier 4", False)
    assert results(given.content)[1][1] is True
    assert "6.2 m at pier 4" in outcome.turn.text


def test_approved_calls_run_at_the_same_time(talk: Talk) -> None:
    """M-14: five calls of half a second are settled in less than two."""

    async def slow(pier: int) -> str:
        """Measure slowly."""
        await asyncio.sleep(0.4)
        return str(pier)

    started = time.monotonic()
    outcome = talk.ask("".join(f'[[tool slow {{"pier": {n}}}]]' for n in range(5)) + " Hm?", functions=[slow])

    assert results(talk.store.thread(outcome.turn.id)[2].content) == [(str(n), False) for n in range(5)]
    assert time.monotonic() - started < 1.9


def test_one_no_stops_and_appends_nothing(talk: Talk) -> None:
    """T-63, acceptance case 10: `yes` then `no` leaves the thread at the assistant turn; nothing ran."""
    ran = []

    def pier(number: int) -> str:
        """Look."""
        ran.append(number)
        return "x"

    outcome = talk.ask(
        '[[tool pier {"number": 1}]][[tool pier {"number": 2}]] Hm?',
        functions=[pier],
        approval=answers(Choice.YES, Choice.NO),
    )

    assert (outcome.stopped, outcome.turn.role, ran) == ("no", "assistant", [])
    assert [turn.role for turn in talk.store.log()] == ["assistant", "user"]

    again = talk.process(outcome.turn.id, functions=[pier])
    assert (again.stopped, ran) == ("", [1, 2])


def test_something_different_goes_back_as_the_tools_failure(talk: Talk) -> None:
    """Section 11: the text is the one text block of an error result; the tool is not run."""
    outcome = talk.ask(
        TWO, functions=[depth], approval=answers(Decision(Choice.DIFFERENT, "ask the pilot"), Choice.YES)
    )

    assert results(talk.store.thread(outcome.turn.id)[2].content) == [("ask the pilot", True), ("2.2 m", False)]


def test_t62_yolo_lasts_for_the_process(talk: Talk) -> None:
    """T-62: the calls after it run unasked."""
    asked = answers(Choice.YOLO)

    first = talk.ask(TWO, functions=[depth], approval=asked)
    second = talk.ask(TWO, functions=[depth], approval=asked)

    assert (first.stopped, second.stopped) == ("", "")


def test_t65_without_a_policy_nothing_runs_and_that_is_recorded(talk: Talk) -> None:
    """T-65, M-13: the default is `none`: refused, in the thread, and the loop ends."""
    outcome = talk.ask(TWO, functions=[depth], approval=None)

    assert (outcome.stopped, outcome.turn.role) == ("refused", "user")
    assert [failed for _, failed in results(outcome.turn.content)] == [True, True]
    assert outcome.turn.meta["stopped"] == {"reason": "not approved", "tools": ["depth", "depth"]}
    assert len(talk.frames("gpt.call")) == 1


def test_m15_the_loop_ends_at_its_limit_and_says_so(talk: Talk) -> None:
    """M-15: recorded as such; the thread can be gone on with."""
    endless = "[[then]]".join(['[[tool depth {"pier": 1}]]'] * 6) + " Hm?"

    outcome = talk.ask(endless, functions=[depth], limit=3)

    assert (outcome.stopped, outcome.turn.meta["stopped"]) == ("limit", {"reason": "tool limit", "limit": 3})
    assert len(talk.frames("gpt.call")) == 4
    assert results(outcome.turn.content) == [("not run: 3 rounds of tools are the limit for one question", True)]

    assert talk.process(outcome.turn.id, functions=[depth]).stopped == ""


def test_the_default_limit_is_ten(talk: Talk) -> None:
    endless = "[[then]]".join(['[[tool depth {"pier": 1}]]'] * 15) + " Hm?"

    assert talk.ask(endless, functions=[depth]).stopped == "limit"
    assert len(talk.frames("gpt.call")) == 11


def test_a_tool_nobody_has_is_an_error_result_not_a_crash(talk: Talk) -> None:
    """T-73: out of stored history, say."""
    turn = talk.store.add_turn("Hm?", provider_ptr=CLAUDE)
    call = {"type": "tool_use", "id": "toolu_1", "name": "gone___tool", "input": {}}
    answer = talk.store.add_turn([call], json=True, role="assistant", continues=turn.id)

    outcome = talk.process(answer.id)

    given = talk.store.thread(outcome.turn.id)[2]
    assert results(given.content) == [("there is no tool called gone___tool", True)]


def test_a_server_nobody_knows_is_the_callers_mistake(talk: Talk) -> None:
    question = talk.store.add_turn("Hm?", provider_ptr=CLAUDE, servers=["nosuch"])

    with pytest.raises(UsageError, match="nosuch"):
        talk.process(question.id)

    assert len(talk.frames("gpt.error")) == 1


def test_a_call_that_fails_in_the_loop_raises_what_went_wrong(talk: Talk) -> None:
    question = talk.store.add_turn('[[tool depth {"pier": 1}]][[then]][[error 500]] Hm?', provider_ptr=CLAUDE)

    with pytest.raises(ProviderError):
        talk.process(question.id, functions=[depth])

    assert [turn.role for turn in talk.store.log()] == ["user", "assistant", "user"]


def test_an_answer_without_calls_is_nothing_to_process(talk: Talk) -> None:
    outcome = talk.ask("Hm?")

    with pytest.raises(UsageError, match="is an answer"):
        talk.process(outcome.turn.id)


def test_a_question_after_calls_that_were_not_run_goes_through(talk: Talk) -> None:
    """Providers refuse calls without results: they are told the calls were not run."""
    stopped = talk.ask(TWO, functions=[depth], approval=answers(Choice.NO))

    for model in (CLAUDE, GEMINI, GPT, RESPONSES):
        outcome = talk.ask("Never mind.", model, continues=stopped.turn.id)
        assert outcome.stopped == ""
        assert NOT_RUN in str(talk.sent())
    assert talk.said[0] == "calls that nobody answered are said not to have run: depth, depth"


@pytest.mark.parametrize("model", [GEMINI, GPT, RESPONSES, "cohere/command-a", "bedrock/amazon.nova-pro"])
def test_the_provider_may_change_between_a_call_and_its_answer(talk: Talk, model: str) -> None:
    """Gemini 3 wants its own calls signed; those of others are marked as such."""
    asked = talk.ask(TWO, CLAUDE, functions=[depth])
    given = talk.store.thread(asked.turn.id)[2]

    called = talk.call(given.id, how={"model": model}, functions=[depth])

    assert called.turn is not None, called.error
    assert "1.2 m" in called.turn.text
