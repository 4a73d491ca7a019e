"""The page in a real headless Chromium, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsing import expect, heard, open_tab, overprinted, too_wide
from tests.server.serving import serve

pytestmark = pytest.mark.slow


COMPOSITION = """
data_sources: [drawn]
gate: {reward: gsm8k, then: [{reward: think_format, weight: 0.1}], else: [repetition]}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = tmp_path_factory.mktemp("page") / "drawn.yaml"
    made.write_text(COMPOSITION)
    with serve("--rewards", str(made)) as server:
        yield server.url


@pytest.fixture(scope="module")
def tab() -> Iterator[Any]:
    with open_tab() as opened:
        yield opened


@pytest.fixture
def page(tab: Any, url: str) -> Iterator[Any]:
    faults: list[str] = []
    with heard(tab, "pageerror", lambda error: faults.append(str(error))):
        tab.goto(url)
        tab.wait_for_selector("#example option:nth-child(2)", state="attached")
        yield tab
        tab.goto("about:blank")
    assert not faults


def score(page: Any, example: str) -> None:
    page.select_option("#example", label=example)
    page.click("#go")
    page.wait_for_selector(".verdict")


def fill(page: Any, source: str, response: str, truth: str, *, prompt: str = "", extra: str = "") -> None:
    """Fill in the form and send it."""
    page.evaluate("document.getElementById('more').open = true")
    values = {"source": source, "response": response, "truth": truth, "prompt": prompt, "extra": extra}
    for name, value in values.items():
        page.fill(f"#{name}", value)
    page.click("#go")


def test_an_example_is_scored_and_the_answer_is_marked_in_the_response(page: Any) -> None:
    score(page, "GSM8K: right, in format")
    assert page.inner_text(".score") == "1"
    assert page.inner_text(".badge") == "correct"
    assert page.inner_text("#highlighted mark") == "72"


def test_a_failing_test_of_a_program_shows_what_differs(page: Any) -> None:
    score(page, "Code: one test fails")
    assert page.inner_text(".score") == "0"
    tests = page.locator("details.test")
    assert [tests.nth(i).locator(".badge").inner_text() for i in range(3)] == ["passed", "wrong", "not run"]
    failing = tests.nth(1)
    assert failing.get_attribute("open") is not None
    assert failing.locator("ins").all_inner_texts() == ["3"]
    assert failing.locator("del").all_inner_texts() == ["3"]
    assert page.inner_text("#tests") == "Tests: 1 of 3 passed, 1 not run"


def test_what_the_tests_of_a_program_show_is_said_once(page: Any) -> None:
    score(page, "Code: one test fails")
    shown = page.inner_text("#result")
    assert shown.count("passed, 1 not run") == 1
    assert shown.count("print(sum(numbers))") == 1


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_no_figure_of_the_traffic_is_off_the_screen(page: Any, url: str, width: int) -> None:
    score(page, "GSM8K: right, in format")
    page.goto(f"{url}/#traffic")
    page.wait_for_selector("#latest tbody tr")
    screen = page.viewport_size
    page.set_viewport_size({"width": width, "height": 800})
    cells = page.evaluate(
        """() => [...document.querySelectorAll("#rates td, #latest td")].map((cell) =>
        [cell.dataset.name, cell.getBoundingClientRect().right, innerWidth])"""
    )
    page.set_viewport_size(screen)
    assert {name for name, _, _ in cells} >= {"Samples", "Mean score", "Correct", "Failed", "Why", "Response"}
    assert not [cell for cell in cells if cell[1] > cell[2]]


def test_the_routes_of_one_trainer_can_be_asked_for(page: Any, url: str) -> None:
    page.goto(f"{url}/docs")
    page.wait_for_selector(".operation")
    page.select_option("#trainer", label="OpenRLHF")
    groups = page.locator(".group:visible h2")
    expect(groups).to_have_text(["OpenRLHF"])
    page.evaluate("location.hash = '#POST/score'")
    expect(page.locator(".operation[open] code").first).to_have_text("/score")


def test_prompt_and_extra_info_are_sent(page: Any) -> None:
    with page.expect_request("**/score") as asked:
        fill(
            page,
            "choice",
            "The answer is Lyon.",
            "B",
            prompt="Which city?",
            extra='{"choices": ["Paris", "Lyon"]}',
        )
    sent = asked.value.post_data_json
    assert sent["prompt"] == "Which city?" and sent["extra_info"] == {"choices": ["Paris", "Lyon"]}
    page.wait_for_selector(".verdict")
    assert page.inner_text(".badge") == "correct"


def test_messages_are_sent_as_such_and_other_text_in_brackets_as_text(page: Any) -> None:
    for prompt, sent in (
        ('[{"role": "user", "content": "6 * 12?"}]', [{"role": "user", "content": "6 * 12?"}]),
        ("[1, 2] is a list", "[1, 2] is a list"),
        ("[1, 2]", "[1, 2]"),
    ):
        with page.expect_request("**/score") as asked:
            fill(page, "gsm8k", "#### 72", "72", prompt=prompt)
        assert asked.value.post_data_json["prompt"] == sent


@pytest.mark.parametrize(("extra", "said"), [('{"a": 1', "is not JSON"), ("[1]", "must be a JSON object")])
def test_extra_info_that_cannot_be_read_is_said_beside_it(page: Any, extra: str, said: str) -> None:
    fill(page, "gsm8k", "#### 72", "72", extra=extra)
    assert said in page.inner_text("#extra-problem")
    assert not page.locator("#result").is_visible()
    fill(page, "gsm8k", "#### 72", "72", extra="{}")
    page.wait_for_selector(".verdict")
    assert page.inner_text("#extra-problem") == ""


def test_maths_is_set_and_what_cannot_be_set_stays_as_it_is(page: Any) -> None:
    response = (
        r"From $x^2=4$ and \[y=\frac{1}{2}\] but \(\unknownthing\) and $5 or $6, so \boxed{\frac{1}{2}}"
    )
    fill(page, "math", response, r"\frac{1}{2}", prompt="Solve $x$.")
    page.wait_for_selector(".set")
    prompt, answer = page.locator(".set").all()
    assert prompt.locator("math").count() == 1
    # the fraction set off, and the one in the box, which is maths without any sign around it
    assert answer.locator("math").count() >= 3 and answer.locator("mfrac").count() == 2
    assert "$5 or $6" in answer.inner_text()
    assert page.locator("dl mfrac").count() == 2  # the answer taken and the ground truth


def test_maths_of_a_hostile_response_does_nothing(page: Any) -> None:
    hostile = (
        r"$\href{javascript:document.title='taken over'}{click}$ $\includegraphics{https://example.org/x.png}$ "
        r"$\class{x\" onmouseover=alert(1)}{a}$ $\text{<img src=x onerror=\"document.title='taken over'\">}$ "
        + r"\(" * 20_000
        + "$" * 20_000
    )
    asked: list[str] = []
    with heard(page, "request", lambda request: asked.append(request.url)):
        fill(page, "gsm8k", hostile, "72")
        page.wait_for_selector(".set")
    assert page.locator("#result a, #result img, #result script, #result [onmouseover]").count() == 0
    assert page.title() == "rewardkit"
    assert not [url for url in asked if "example.org" in url]


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


def test_traffic_shows_what_came_and_what_could_not_be_scored(page: Any) -> None:
    fill(page, "no/such<b>source</b>", "", "")
    page.wait_for_selector(".verdict")
    assert "not scored: invalid" in page.inner_text(".badge")
    page.click("#tab-traffic")
    page.select_option("#of-verdict", "failed")
    row = page.locator("#latest tbody tr", has_text="no/such<b>source</b>").first
    row.wait_for()
    assert "no reward is registered" in row.inner_text()


def test_any_scored_response_is_found_in_the_traffic_and_opened_in_the_form(page: Any) -> None:
    fill(
        page,
        "choice",
        "By the river: the answer is Lyon.",
        "B",
        prompt="Which?",
        extra='{"choices": ["Paris", "Lyon"]}',
    )
    page.wait_for_selector(".verdict")
    page.click("#tab-traffic")
    page.fill("#of-text", "by the RIVER")
    rows = page.locator("#latest tbody tr")
    expect(rows).to_have_count(1)
    assert rows.first.locator(".badge").inner_text() == "correct"
    page.select_option("#of-verdict", "wrong")
    expect(page.locator("#none")).to_have_text("No matching responses.")
    page.select_option("#of-verdict", "right")
    rows.first.locator("a").click()
    expect(page.locator("#response")).to_have_value("By the river: the answer is Lyon.")
    page.wait_for_selector(".verdict")
    assert (page.input_value("#source"), page.input_value("#truth")) == ("choice", "B")
    assert page.input_value("#prompt") == "Which?" and "Lyon" in page.input_value("#extra")


def test_a_response_that_is_no_longer_kept_is_said_to_be_so(page: Any, url: str) -> None:
    page.goto(f"{url}/#response=0-999999")
    page.wait_for_selector("#result .error")
    assert "latest" in page.inner_text("#result .error")


def test_data_sources_stand_under_their_reward_and_distributions_have_axes(page: Any) -> None:
    for source, response in (
        ("rewardkit/arithmetic", "#### 72"),
        ("arithmetic", "no"),
        ("repetition", "a a a a a a a"),
    ):
        with page.expect_response("**/score"):
            fill(page, source, response, "72")
    page.click("#tab-traffic")
    row = page.locator("#rates tbody tr", has_text="data sources").first
    row.wait_for()
    assert page.locator("#rates td:first-child", has_text="arithmetic").count() == 0
    row.locator("button").click()
    page.locator("tr.below", has_text="rewardkit/arithmetic").wait_for()
    labels = row.locator(".histogram text").all_text_contents()
    assert labels[1:] == ["0", "0", "0.5", "1"] and labels[0].isdecimal()
    assert row.locator(".histogram line").count() == 2
    lowest = page.locator("#rates tbody tr", has_text="repetition").locator(".histogram text").nth(2)
    assert float(lowest.text_content()) < 0


def test_no_label_of_a_distribution_touches_another(page: Any, url: str) -> None:
    counted = {"per_second": [0, 1], "total": 9, "mean": -1.5, "correct": None, "failed": 0}
    rewards = {
        f"reward{i}": {**counted, "scores": [[low, 123_456], [high, 1]]}
        for i, (low, high) in enumerate([(-12_345.6789, 0.3333), (-0.0001234, 0.5), (-1e9, 123_456_789.125)])
    }
    sources = {name: {**one, "reward": name} for name, one in rewards.items()}
    page.route("**/traffic", lambda route: route.fulfill(json={"rewards": rewards, "sources": sources}))
    page.goto(f"{url}/#traffic")
    page.click("#tab-traffic")
    expect(page.locator(".histogram")).to_have_count(3)
    assert not overprinted(page)
    page.unroute("**/traffic")


@pytest.mark.parametrize("path", ["/", "/#traffic", "/docs"])
def test_the_page_is_never_wider_than_the_screen(page: Any, url: str, path: str) -> None:
    score(page, "Code: one test fails" if path == "/" else "Hostile: HTML in the response")
    if path != "/":
        page.goto(f"{url}{path}")
    page.wait_for_selector({"/": "#example", "/docs": ".operation"}.get(path, "#latest tbody tr"))
    if path == "/docs":
        page.locator(".operation summary").first.click()
    assert not too_wide(page)


def test_what_cannot_be_reached_is_said_rather_than_hidden(page: Any) -> None:
    page.fill("#source", "gsm8k")
    page.context.set_offline(True)
    try:
        page.click("#go")
        page.wait_for_selector("#result .error")
    finally:
        page.context.set_offline(False)


def test_a_wrong_token_is_said_to_be_wrong_and_a_right_one_clears_that(
    tab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARDKIT_TOKEN", "secret-token")
    page = tab
    with serve("--no-sandbox") as server:
        page.goto(server.url)
        page.wait_for_selector("#token-form:not([hidden])")
        assert page.inner_text("#token-problem") == "This server requires a token."
        page.fill("#token", "secret-tokem")
        page.keyboard.press("Enter")
        expect(page.locator("#token-problem")).to_have_text("This token is not valid.")
        assert page.locator("#token-form").is_visible()
        page.fill("#token", "secret-token")
        page.keyboard.press("Enter")
        page.wait_for_selector("#example option:nth-child(2)", state="attached")
        assert page.locator(".error:visible").count() == 0
        score(page, "GSM8K: wrong, but in format")
        assert page.inner_text(".score") == "0.1"
        page.goto(f"{server.url}/docs")  # the token is known there as well
        page.wait_for_selector(".operation")
        assert page.locator(".error:visible").count() == 0


def test_an_example_of_the_routes_is_sent_and_answered(page: Any, url: str) -> None:
    page.goto(f"{url}/docs#POST/openrlhf")
    page.click(".operation[open] button[type=submit]")
    page.wait_for_selector(".answer pre")
    assert page.inner_text(".answer .badge") == "200"
    assert '"rewards"' in page.inner_text(".answer pre")
    assert "/openrlhf/gsm8k" in (page.text_content(".curl") or "")
    page.fill("#find", "slime")
    groups = page.locator(".group:visible h2").all_inner_texts()
    assert groups == ["slime"]


def test_rewards_can_be_browsed_and_chosen_until_a_result_takes_their_place(page: Any) -> None:
    assert page.locator("#browse-list li").count() > 20
    page.fill("#browse-text", "gsm8k")
    assert page.locator("#browse-list li").count() < 10
    page.locator("#browse-list button", has_text="openai/gsm8k").or_(
        page.locator("#browse-list button")
    ).first.click()
    assert "gsm8k" in page.input_value("#source")
    assert page.inner_text("#summary")
    page.fill("#browse-text", "no such reward")
    assert page.is_visible("#browse-none")
    score(page, "GSM8K: right, in format")
    assert not page.is_visible("#browse")


def test_a_link_to_a_sample_fills_in_the_form_and_scores_nothing_by_itself(page: Any, url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    fill(page, "gsm8k", "Ünïcode ≥ 72\n#### 72", "72", extra='{"a": 1}')
    page.click(".share")
    expect(page.locator(".share")).to_have_text("Link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    asked: list[str] = []
    with heard(page, "request", lambda request: asked.append(f"{request.method} {request.url}")):
        page.goto("about:blank")
        page.goto(link)
        expect(page.locator("#response")).to_have_value("Ünïcode ≥ 72\n#### 72")
    assert page.input_value("#truth") == "72"
    assert '"a": 1' in page.input_value("#extra")
    assert not [one for one in asked if one.startswith("POST")]
    page.goto("about:blank")
    page.goto(f"{url}#sample=bm90IGpzb24")
    expect(page.locator("#result .error")).to_have_text("This link does not contain a sample.")


def test_a_server_that_is_gone_is_said_in_words(page: Any) -> None:
    page.route("**/score", lambda route: route.abort())
    page.route("**/explain", lambda route: route.abort())
    fill(page, "gsm8k", "#### 72", "72")
    expect(page.locator("#result .error")).to_contain_text("Cannot reach the server")
    page.unroute_all()


def test_a_composition_is_drawn_as_a_tree_with_what_each_member_said(page: Any) -> None:
    fill(page, "drawn", "<think>6 * 12</think>#### 72", "72")
    page.wait_for_selector("#tree")
    assert page.inner_text(".score") == "1.1"
    items = [" ".join(text.split()) for text in page.locator("#tree > li > ul > li").all_inner_texts()]
    kept, then, otherwise = items
    assert kept.startswith("gsm8k@") and kept.endswith("1")
    assert then.startswith("then think_format@") and "x 0.1" in then and then.endswith("1")
    assert otherwise.startswith("else repetition@") and otherwise.endswith("not evaluated")
