"""The page in a real headless Chromium, against a real server."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import open_browser
from tests.server.serving import serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve() as server:
        yield server.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(url)
    page.wait_for_selector("#example option:nth-child(2)", state="attached")
    yield page
    page.close()
    assert not faults


def score(page: Any, example: str) -> None:
    page.select_option("#example", label=example)
    page.click("#go")
    page.wait_for_selector(".verdict")


def test_an_example_is_scored_and_the_answer_is_marked_in_the_response(page: Any) -> None:
    score(page, "GSM8K: right, in format")
    assert page.inner_text(".score") == "1"
    assert page.inner_text(".badge") == "correct"
    assert page.inner_text("#highlighted mark") == "72"


def test_a_math_score_is_explained(page: Any) -> None:
    score(page, "MATH: another notation of the same")
    assert page.inner_text(".score") == "1"
    assert "verdict" in page.inner_text("#explanation")


def test_a_failing_test_of_a_program_shows_what_differs(page: Any) -> None:
    score(page, "Code: one test fails")
    assert page.inner_text(".score") == "0"
    tests = page.locator("details.test")
    assert [tests.nth(i).locator(".badge").inner_text() for i in range(3)] == ["passed", "wrong", "passed"]
    failing = tests.nth(1)
    assert failing.get_attribute("open") is not None
    assert failing.locator("ins").all_inner_texts() == ["3"]
    assert failing.locator("del").all_inner_texts() == ["3"]


def test_html_in_a_response_is_shown_as_text(page: Any) -> None:
    score(page, "Hostile: HTML in the response")
    assert "<script>" in page.inner_text("#highlighted")
    assert page.locator("#result img, #result script").count() == 0
    page.click("#tab-traffic")
    page.wait_for_selector("#rates tbody tr")
    assert page.title() == "rewardkit"


def test_it_can_be_used_with_the_keyboard_alone(page: Any) -> None:
    page.fill("#source", "gsm8k")
    page.fill("#response", "#### 72")
    page.fill("#truth", "72")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".verdict")
    page.focus("#tab-try")
    page.keyboard.press("ArrowRight")
    assert page.locator("#traffic").is_visible() and not page.locator("#try").is_visible()


def test_traffic_shows_what_came_and_what_could_not_be_scored(page: Any, url: str) -> None:
    page.fill("#source", "no/such<b>source</b>")
    page.click("#go")
    page.wait_for_selector(".verdict")
    assert "not scored: invalid" in page.inner_text(".badge")
    page.click("#tab-traffic")
    row = page.locator("#failures tbody tr", has_text="no/such<b>source</b>").first
    row.wait_for()
    assert "no reward is registered" in row.inner_text()


def test_what_cannot_be_reached_is_said_rather_than_hidden(browser: Any) -> None:
    page = browser.new_page()
    with serve() as server:
        page.goto(server.url)
        page.wait_for_selector("#example option:nth-child(2)", state="attached")
    page.fill("#source", "gsm8k")
    page.click("#go")
    page.wait_for_selector("#result .error")
    page.close()


def test_a_server_with_tokens_serves_the_page_and_asks_for_one(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARDKIT_TOKEN", "secret-token")
    page = browser.new_page()
    with serve() as server:
        page.goto(server.url)
        page.wait_for_selector("#token-form:not([hidden])")
        page.fill("#token", "secret-token")
        page.keyboard.press("Enter")
        page.wait_for_selector("#example option:nth-child(2)", state="attached")
        score(page, "GSM8K: wrong, but in format")
        assert page.inner_text(".score") == "0.1"
        page.close()


def test_no_script_from_elsewhere_may_run(url: str) -> None:
    with urllib.request.urlopen(url) as answer:
        policy = answer.headers["Content-Security-Policy"]
        text = answer.read().decode()
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "http://" not in text and "https://" not in text


def test_a_composition_is_drawn_as_a_tree_with_what_each_member_said(browser: Any, tmp_path: Path) -> None:
    made = tmp_path / "drawn.yaml"
    made.write_text(
        "data_sources: [drawn]\n"
        "gate: {reward: gsm8k, then: [{reward: think_format, weight: 0.1}], else: [repetition]}\n"
    )
    page = browser.new_page()
    with serve("--rewards", str(made)) as server:
        page.goto(server.url)
        page.wait_for_selector("#example option:nth-child(2)", state="attached")
        for name, text in (
            ("source", "drawn"),
            ("response", "<think>6 * 12</think>#### 72"),
            ("truth", "72"),
        ):
            page.fill(f"#{name}", text)
        page.click("#go")
        page.wait_for_selector("#tree")
        assert page.inner_text(".score") == "1.1"
        items = [" ".join(text.split()) for text in page.locator("#tree > li > ul > li").all_inner_texts()]
        page.close()
    kept, then, otherwise = items
    assert kept.startswith("gsm8k@") and kept.endswith("1")
    assert then.startswith("then think_format@") and "x 0.1" in then and then.endswith("1")
    assert otherwise.startswith("else repetition@") and otherwise.endswith("not asked")
