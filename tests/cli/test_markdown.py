"""Answers as Markdown in a terminal: what a person sees in the end, and what the terminal is told on the way."""

from __future__ import annotations

import asyncio
import io
import os
import re

import pyte
import pytest

from tests.support.asking import CLAUDE
from tests.support.cli import Weft, in_terminal
from weft.cli.markdown import LiveMarkdown

pytestmark = pytest.mark.usefixtures("sim")

# What drawing may say to a terminal: colours, a number of lines up, erase to the end of the line or the screen.
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\d+A\r|\x1b\[K|\x1b\[J")
SAMPLE = """\
# Tides

They come **twice** a day, see [it](https://example.org/tides).

1. high
2. low

   and slack between

3. high again

```python
for hour in range(24):
    print(hour)
```

| hour | height |
|-----:|--------|
|    6 | 4.2 m  |

The end.
"""


def screen_of(written: str, columns: int = 60, lines: int = 24) -> list[str]:
    """Show what was written to a terminal on one, and give all its lines, those scrolled away first."""
    screen = pyte.HistoryScreen(columns, lines, history=10_000)
    pyte.Stream(screen).feed(written.replace("\n", "\r\n"))
    above = ["".join(line[x].data for x in range(columns)) for line in screen.history.top]
    shown = [line.rstrip() for line in (*above, *screen.display)]
    while shown and not shown[-1]:
        shown.pop()
    return shown


def drawn(text: str, piece: int, *, columns: int = 60, lines: int = 24) -> str:
    """Draw a text that comes in pieces; every piece is drawn, as the clock of this test runs fast."""
    stream, clock = io.StringIO(newline=""), iter(range(1_000_000))
    live = LiveMarkdown(stream, size=lambda: os.terminal_size((columns, lines)), now=lambda: float(next(clock)) * 100)
    for at in range(0, len(text), piece):
        live.feed(text[at : at + piece])
    live.commit()
    return stream.getvalue()


WHOLE = screen_of(drawn(SAMPLE, len(SAMPLE)))


@pytest.mark.parametrize("piece", [1, 3, 7, 40])
def test_however_it_comes_in_the_end_it_looks_the_same(piece: int) -> None:
    assert screen_of(drawn(SAMPLE, piece)) == WHOLE


def test_a_person_sees_what_the_markdown_means() -> None:
    shown = "\n".join(WHOLE)

    assert "**" not in shown
    assert "```" not in shown
    assert "see it (https://example.org/tides)" in shown  # where it leads is for the reader to see
    assert [line.strip() for line in WHOLE if re.match(r" [123] ", line)] == ["1 high", "2 low", "3 high again"]
    assert "    print(hour)" in shown
    assert shown.endswith("The end.")


def test_c01_only_drawing_reaches_the_terminal() -> None:
    """C-01: and no hidden links, titles or other sequences that obey the model."""
    rest = ALLOWED.sub("", drawn(SAMPLE, 5))

    assert [letter for letter in rest if letter < " " and letter != "\n"] == []


def test_a_long_answer_is_printed_once_and_only_its_last_block_again() -> None:
    """What is drawn grows with the answer and not with its square, and all of it can be scrolled back to."""
    paragraphs = [f"Paragraph {number}: " + "water rises and falls " * 6 for number in range(60)]
    short, long = "\n\n".join(paragraphs[:20]), "\n\n".join(paragraphs)

    written = drawn(long, 30)

    assert len(written) < 3.6 * len(drawn(short, 30))
    firsts = [line for line in screen_of(written) if line.startswith("Paragraph")]
    assert [int(re.findall(r"\d+", line)[0]) for line in firsts] == list(range(60))


def test_an_open_block_taller_than_the_terminal_shows_its_end_and_then_all_of_it() -> None:
    code = "```\n" + "".join(f"line {number}\n" for number in range(300))

    written = drawn(f"{code}```\n\nDone.", 50, lines=12)

    shown = [line.strip() for line in screen_of(written, lines=12) if line.strip()]
    assert shown == [*(f"line {number}" for number in range(300)), "Done."]


def test_pieces_that_come_quickly_are_drawn_together() -> None:
    stream = io.StringIO(newline="")

    async def talk() -> None:
        live = LiveMarkdown(stream, size=lambda: os.terminal_size((60, 24)))
        for word in ["rise "] * 200:
            live.feed(word)
        await asyncio.sleep(0.3)
        first = stream.getvalue().count("\x1b[J")
        assert first < 10
        live.feed("and fall")
        await asyncio.sleep(0.2)
        assert "fall" in stream.getvalue()
        live.commit()

    asyncio.run(talk())

    assert " ".join(screen_of(stream.getvalue())).count("rise") == 200


def test_an_answer_is_drawn_in_a_terminal_and_plain_in_a_pipe(weft: Weft) -> None:
    prompt = "**twice** a day"

    status, shown = in_terminal("-m", CLAUDE, prompt, env={"NO_COLOR": ""})
    _, plain = in_terminal("-m", CLAUDE, "--plain", "-q", prompt, env={"NO_COLOR": ""})
    _, dull = in_terminal("-m", CLAUDE, prompt)
    piped = weft("-m", CLAUDE, prompt)

    assert status == 0
    assert screen_of(shown)[0] == "You said: twice a day"
    assert plain == "You said: **twice** a day\n"
    assert re.fullmatch(r"You said: \*\*twice\*\* a day\n\d+ tokens in, \d+ out, \$0\.0\d+\n", dull)
    assert (piped.out, piped.err) == ("You said: **twice** a day\n", "")


def test_what_an_answer_took_is_said_to_who_asks(weft: Weft) -> None:
    """Tokens and dollars, on stderr or in the JSON; of all calls of a question together."""
    asked = weft("-m", CLAUDE, "-u", "Hm?")
    told = weft("-m", CLAUDE, "--json", "Hm?")
    unknown = weft("-m", "openai/nobody-1", "-u", "Hm?")

    assert re.fullmatch(r"\d+ tokens in, \d+ out, \$0\.0\d+\n", asked.err)
    assert asked.out == "You said: Hm?\n"
    usage = told.json["usage"]
    assert told.err == ""
    assert set(usage) == {"input_tokens", "cached_tokens", "output_tokens"}
    # Sonnet's 3 and 15 dollars a million, by genai-prices' data.
    assert told.json["cost_usd"] == pytest.approx((usage["input_tokens"] * 3 + usage["output_tokens"] * 15) / 1e6)
    assert re.fullmatch(r"\d+ tokens in, \d+ out\n", unknown.err)


def test_models_are_listed_with_their_prices(weft: Weft) -> None:
    rows = {row["id"]: row for row in weft("models", "anthropic", "--json").json}

    assert rows["claude-sonnet-4-6"]["input_usd_per_mtok"] == 3.0
    assert rows["claude-sonnet-4-6"]["output_usd_per_mtok"] == 15.0
    assert re.search(r"anthropic/claude-sonnet-4-6 .* 3\.00 +15\.00$", weft("models", "anthropic").out, re.MULTILINE)
