"""Both pages on a telephone, a tablet and a desk: no label of a chart touches another, nothing is cut off."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.evaluation.html.report import write_report
from rewardkit.evaluation.html.run_page import write_run_page
from tests.browsing import open_tab, overprinted

LONG = (
    "openai/a-very-long-data-source-name/with-a-subset-that-nobody-types",
    "算数と代数の問題集" * 5,
    "x" * 90,
)
WIDTHS = (390, 768, 1200)

TOO_WIDE = """() => {
  const scrolls = (one) => one && (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
  return [...document.body.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(one.parentElement))
    .map((one) => one.outerHTML.slice(0, 200));
}"""
"""Elements that stand out of the screen, but for those in a box that scrolls."""


@pytest.fixture(scope="module")
def tab() -> Iterator[Any]:
    with open_tab() as opened:
        yield opened


def rows(sources: tuple[str, ...], prompts: int, n: int, low: float = 0.0, high: float = 1.0) -> list[Any]:
    drawn = random.Random(0)
    made = []
    for i in range(prompts * n):
        score = drawn.choice([low, high, drawn.uniform(low, high)])
        row = {"row": i, "file_row": i, "data_source": sources[i // n % len(sources)], "prompt": f"p{i // n}"}
        row |= {"ground_truth": "7", "response": "word " * drawn.randint(1, 400) + "$\\frac{1}{2}$"}
        made.append(
            row
            | {"score": score, "status": "ok", "scorer": "gsm8k@1", "correct": score > 0.5, "extracted": "7"}
        )
    return made


@pytest.mark.parametrize(
    "scored",
    [
        rows(LONG, 9, 8),
        rows(("gsm8k",), 3, 1025),
        rows(("gsm8k",), 40, 1, 1.0, 1.0),
        rows(LONG, 30, 2, -12_345.678, -1e-9),
        rows(("gsm8k",), 1, 1),
    ],
    ids=["8 responses of long names", "1025", "equal", "negative", "one"],
)
def test_a_report_fits_every_screen(tab: Any, tmp_path: Path, scored: list[Any]) -> None:
    write_report(scored, tmp_path / "report.html", LONG[2])
    tab.goto((tmp_path / "report.html").as_uri())
    tab.wait_for_selector("body[data-ready]")
    tab.locator("#list .line").first.click()
    tab.wait_for_selector("#detail:not([hidden])")
    assert not badly_set(tab)


def test_a_run_page_fits_every_screen(tab: Any, tmp_path: Path) -> None:
    drawn = random.Random(0)
    metrics = [
        {"training/global_step": step * 1000, "actor/entropy": 1_234_567 + drawn.random(), "actor/lr": 2e-6}
        | {f"val-core/{name}/acc/mean@16": drawn.random() for name in LONG}
        | {f"reward/part/{name}": -drawn.random() for name in LONG}
        | {f"timing_s/{name}": drawn.random() for name in ("gen", "reward", "update_actor")}
        | {f"critic/score/{kind}": drawn.gauss(0, 1e-7) for kind in ("mean", "min", "max")}
        | {f"{LONG[2]}/mean": 1e15 * drawn.random(), "perf/total_num_tokens": 123_456_789 + step}
        for step in range(1, 1500)
    ]
    response = "So $$" + "+".join(f"x_{{{i}}}" for i in range(60)) + "$$ " + "y" * 200
    kept = {
        "data_source": LONG[2],
        "response": response,
        "score": -1.0,
        "status": "ok",
        "scorer": "gsm8k@1",
        "detail": LONG[2],
    }
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in metrics))
    (tmp_path / "samples.jsonl").write_text(json.dumps({"step": 1, "rows": [kept]}) + "\n")
    tab.goto(write_run_page(tmp_path).as_uri())
    tab.wait_for_selector("body[data-ready]")
    tab.click("#further summary")
    assert not badly_set(tab)


def badly_set(tab: Any) -> dict[int, list[str]]:
    """Labels that touch and elements that stand out, by the width of the screen."""
    found = {}
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        wrong = overprinted(tab) + tab.evaluate(TOO_WIDE)
        if wrong or tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[width] = wrong
    return found
