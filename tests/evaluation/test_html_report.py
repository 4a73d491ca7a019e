"""The one-file page in a real headless Chromium: figures, table and texts, and no response that becomes markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from tests.browsing import expect, heard, open_tab, too_wide
from tests.living import until

HOSTILE = "</script><script>document.title = 'gone'</script><img src=x onerror=\"document.title='gone'\"> \\frac{1}{2}"


def rows(n: int) -> list[dict[str, Any]]:
    made = []
    for i in range(n):
        right = i % 3 == 0
        made.append(
            {"data_source": "gsm8k" if i // 4 % 2 else "math", "ground_truth": str(i // 4)}
            | {"prompt": [{"role": "user", "content": f"Question {i // 4}?"}]}
            | {"response": f"It costs $5 and $6; so $x = \\frac{{{i}}}{{2}}$\n#### {i}", "extracted": str(i)}
            | {
                "score": float(right),
                "status": "ok",
                "scorer": "gsm8k@1",
                "correct": right,
                "parts": {"format": 1.0},
            }
        )
    made[5] |= {"response": HOSTILE, "extracted": None, "data_source": "<b>bold</b>"}
    made[2] |= {
        "response": "Asked an agent: #### 2",
        "turns": [
            {
                "role": "assistant",
                "text": "Let me see.",
                "calls": ['{"name": "search", "arguments": {"q": "x"}}'],
                "reward": 0.5,
            },
            {"role": "tool", "text": HOSTILE, "statuses": ["ok"]},
            {"role": "assistant", "text": "Asked an agent: #### 2", "calls": []},
        ],
    }
    made[7] |= {"status": "timeout", "score": 0.0, "correct": None, "detail": "killed after 10 s"}
    return made


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    file = folder / "scored.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(2_500)))
    assert run(["view", str(file), "--html", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def tab() -> Iterator[Any]:
    with open_tab() as opened:
        yield opened


@pytest.fixture
def page(tab: Any, html: Path) -> Iterator[Any]:
    faults: list[str] = []
    asked: list[str] = []
    with (
        heard(tab, "pageerror", lambda error: faults.append(str(error))),
        heard(tab, "request", lambda request: asked.append(request.url)),
    ):
        tab.goto(html.as_uri())
        tab.wait_for_selector("body[data-ready]")
        yield tab
    assert not faults
    assert asked == [html.as_uri()], "the page asks for nothing else"


def until_shown(page: Any, n: int) -> None:
    """Wait until so many rows fit the filters."""
    page.get_by_text(f"{n} of 2,500", exact=True).wait_for()


def test_the_headline_has_figures_with_intervals(page: Any) -> None:
    assert "95 %" in page.inner_text(".cards")
    assert page.inner_text("#count") == "2,500 of 2,500"
    assert page.locator("figure svg").count() >= 3


def test_the_values_of_a_bar_are_told_under_the_pointer(page: Any) -> None:
    chart = page.locator(".chart", has_text="Scores").locator("svg")
    chart.hover(position={"x": chart.bounding_box()["width"] - 15, "y": 20})
    right = sum(row["score"] == 1 and row["status"] == "ok" for row in rows(2_500))
    expect(page.locator("#tip b")).to_have_text("0.95 to 1")
    expect(page.locator("#tip div")).to_have_text(f"responses: {right}")


def test_rows_are_filtered_by_source_status_and_text(page: Any) -> None:
    page.select_option("#status", label="timeout")
    until_shown(page, 1)
    page.select_option("#status", "")
    page.fill("#text", "#### 1234")
    page.locator("#list .line", has_text="#### 1234").wait_for()
    until_shown(page, 1)


def test_an_opened_row_shows_its_prompt_the_answer_and_its_maths(page: Any) -> None:
    page.click("#list .line >> nth=3")
    page.wait_for_selector("#detail:not([hidden])")
    shown = page.inner_text("#detail")
    assert "Question 0?" in shown and "ground truth" in shown
    assert page.inner_text("#detail mark") == "3"
    assert page.locator("#detail math").count() == 1, "the price is no formula"
    assert page.locator(".siblings button").count() == 4


def test_rows_are_sorted_by_disagreement(page: Any) -> None:
    page.select_option("#order", "disagreement")

    def both_come_first() -> bool:
        first = page.locator("#list .line").all_inner_texts()[:4]
        return any("right" in line for line in first) and any("wrong" in line for line in first)

    until(both_come_first)


def test_a_hostile_response_is_text(page: Any) -> None:
    page.fill("#text", "onerror")
    until_shown(page, 1)
    page.click("#list .line >> nth=0")
    page.wait_for_selector("#detail:not([hidden])")
    assert HOSTILE in page.inner_text("#detail")
    assert page.title() == "scored.jsonl"
    assert page.locator("#detail img, #detail b b").count() == 0


def test_an_episode_is_a_chat_whose_tools_are_folded(page: Any) -> None:
    page.fill("#text", "Asked an agent")
    until_shown(page, 1)
    page.click("#list .line >> nth=0")
    page.wait_for_selector("#detail details")
    assert '[assistant] calls search({"q": "x"}) (reward 0.5)' in page.inner_text("#detail")
    assert not page.locator("#detail details pre").is_visible()
    page.click("#detail summary")
    assert page.locator("#detail details pre").inner_text() == HOSTILE
    assert page.locator("#detail img").count() == 0


def test_the_list_scrolls_through_every_row_with_few_elements(page: Any) -> None:
    page.evaluate("document.querySelector('#list').scrollTop = 1e9")
    page.get_by_text("2499", exact=True).first.wait_for()
    assert page.locator("#list .line").count() < 60


def test_a_narrow_screen_scrolls_inside_the_table_alone(page: Any) -> None:
    assert not too_wide(page)


def test_nothing_to_show_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scored.jsonl"
    file.write_text(json.dumps(rows(8)[0]) + "\n")
    assert run(["view", str(file), "--status", "error", "--html", str(tmp_path / "r.html")]) == 2
    assert "no row matches" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
