"""The page of a training run in a real headless Chromium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.evaluation.html.run_page import write_run_page
from tests.browsing import expect, heard, open_tab, too_wide

RUN = Path(__file__).parents[1] / "data" / "run"
HOSTILE = (
    "<img src=x onerror=\"document.title='taken over'\">$\\href{javascript:alert(1)}{x}$ and $\\frac{1}{2}$"
)


@pytest.fixture(scope="module")
def tab() -> Iterator[Any]:
    with open_tab() as opened:
        yield opened


@pytest.fixture
def page(tab: Any) -> Iterator[Any]:
    faults: list[str] = []
    with heard(tab, "pageerror", lambda error: faults.append(str(error))):
        yield tab
        tab.goto("about:blank")
    assert not faults


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(RUN, tmp_path / "run"))
    row = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "6 * 12?"}], "ground_truth": "72"}
    right = {
        **row,
        "response": "It is 72.\n#### 72",
        "score": 1.0,
        "status": "ok",
        "scorer": "gsm8k@1",
        "correct": True,
        "extracted": "72",
    }
    failed = {
        **row,
        "response": HOSTILE,
        "score": 0.0,
        "status": "timeout",
        "correct": None,
        "detail": "too slow",
    }
    with (made / "samples.jsonl").open("a") as file:
        file.write(json.dumps({"step": 4, "rows": [failed, right]}) + "\n")
    return made


def load(page: Any, path: Path) -> None:
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")


def test_responses_are_shown_step_by_step(page: Any, run: Path) -> None:
    load(page, write_run_page(run))
    failed, right = page.locator(".response").all()
    assert "not scored: timeout" in failed.inner_text() and "too slow" in failed.inner_text()
    assert right.locator("mark").inner_text() == "72"
    page.click("#back")
    expect(page.locator("#step option:checked")).to_have_text("3")
    assert page.locator(".response").count() == 4
    page.reload()  # the step that is looked at stays
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#step option:checked")).to_have_text("3")


def test_a_hostile_response_is_text(page: Any, run: Path) -> None:
    load(page, write_run_page(run))
    assert "<img src=x" in page.locator(".response").first.inner_text()
    assert page.locator(".response img, .response a").count() == 0
    assert page.locator(".response mfrac").count() == 1
    assert page.title() != "taken over"


def test_the_value_under_the_pointer_is_told(page: Any, run: Path) -> None:
    load(page, write_run_page(run))
    chart = page.locator(".chart", has_text="Entropy").locator("svg")
    box = chart.bounding_box()
    chart.hover(position={"x": box["width"] * 0.97, "y": box["height"] / 2})
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    expect(page.locator("#tip b")).to_have_text("step 6")
    assert float(page.inner_text("#tip div").removeprefix("mean: ")) == pytest.approx(
        last["actor/entropy"], rel=1e-3
    )


@pytest.mark.slow
def test_the_page_follows_a_run_until_it_ends(page: Any, run: Path) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:5]))
    load(page, write_run_page(run, running=True, total_steps=6))
    assert "4 of 6" in page.inner_text(".cards")
    (run / "metrics.jsonl").write_text("".join(lines))
    write_run_page(run, total_steps=6)
    expect(page.locator(".cards")).to_contain_text("6 of 6")
    expect(page.locator("#news")).to_contain_text("not active")
    assert not page.locator("#follow").is_visible()


def test_the_page_is_never_wider_than_the_screen(page: Any, run: Path) -> None:
    load(page, write_run_page(run))
    page.click("#further summary")
    assert not too_wide(page)


@pytest.mark.slow
def test_a_long_response_is_a_box_at_its_answer_until_it_is_shown_whole(page: Any, run: Path) -> None:
    long = "Step by step. " * 400 + "\n#### 72"
    row = {"data_source": "gsm8k", "prompt": [], "ground_truth": "72", "response": long, "extracted": "72"}
    with (run / "samples.jsonl").open("a") as file:
        file.write(
            json.dumps({"step": 4, "rows": [{**row, "score": 1.0, "status": "ok", "scorer": "gsm8k@1"}]})
            + "\n"
        )
    load(page, write_run_page(run))
    box = page.locator("#shown pre", has_text="Step by step.")
    assert box.evaluate("box => box.clientHeight < box.scrollHeight")
    place, around = box.locator("mark").bounding_box(), box.bounding_box()
    assert around["y"] <= place["y"] <= around["y"] + around["height"] - place["height"]
    page.locator("#shown button", has_text="show all").click()
    assert box.evaluate("box => box.clientHeight >= box.scrollHeight")
    expect(page.locator("#shown button")).to_have_count(0)
