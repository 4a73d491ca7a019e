"""exact, contains, regex and number."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.rewards.structure import plain
from rewardkit.types import Sample, Score


def exact(response: str, truth: str, **options: Any) -> Score:
    return plain.exact(Sample("exact", response, truth), plain.ExactOptions(**options))


def contains(response: str, truth: str, **options: Any) -> Score:
    return plain.contains(Sample("contains", response, truth), plain.ContainsOptions(**options))


def regex(response: str, truth: str, **options: Any) -> Score:
    return plain.regex(Sample("regex", response, truth), plain.RegexOptions(**options))


def number(response: str, truth: str, **options: Any) -> Score:
    return plain.number(Sample("number", response, truth), plain.NumberOptions(**options))


def test_exact_is_the_text_and_nothing_else() -> None:
    assert exact(" Paris\n", "Paris").correct
    assert exact("<think>Rome?</think>Paris<|im_end|>", "Paris").correct
    assert exact("paris", "Paris").correct is False
    assert exact("paris", "Paris", ignore_case=True).correct
    assert exact("a  b\nc", "a b c", ignore_blanks=True).correct
    assert exact("B", '["A", "B"]').correct
    assert exact("Paris.", "Paris").correct is False
    assert [exact("x", truth).status for truth in ("", " ", "[]")] == ["invalid"] * 3


def test_contains_asks_for_words_all_or_any() -> None:
    assert contains("A cat sat.", "cat").correct
    assert contains("concatenate", "cat").correct is False
    assert contains("concatenate", "cat", words=False).correct
    assert contains("I like C++.", "c++").correct
    assert contains("cat", '["cat", "dog"]').correct is False
    assert contains("cat", '["cat", "dog"]', need="any").correct
    assert contains("cat " * 100, "cat", max_chars=50).correct is False
    assert contains("<think>cat</think>dog", "cat").correct is False


def test_regex_matches_the_whole_response_within_its_cpu_time() -> None:
    assert regex("abc-123", r"[a-z]+-\d+").correct
    assert regex("x abc-123", r"[a-z]+-\d+").correct is False
    assert regex("x abc-123", r"[a-z]+-\d+", match="search").correct
    slow = regex("a" * 5_000 + "!", r"(a+)+(b|c)\1$", cpu_s=0.05)
    assert (slow.status, slow.correct) == ("ok", False)
    for truth in ("", "(", "[a", "(?P<x"):
        assert regex("x", truth).status == "invalid", truth
    assert regex("", ".*").correct is False


@pytest.mark.parametrize(
    ("response", "truth", "right"),
    [
        ("The answer is 3.14.", "3.14", True), ("\\boxed{1,000}", "1000", True), ("<answer>$5</answer>", "5", True), ("1e3", "1000", True),
        ("5 kg", "5", True), ("-5", "5", False), ("<answer>3 or 4</answer>", "3", False), ("\\boxed{3, 4}", "3", False), ("between 1 and 9", "5", False),
        ("\\boxed{5 \\pm 5}", "5", False), ("NaN", "5", False), ("3-5", "5", False), ("Infinity", "5", False), ("not 5", "5", False), ("2^5", "5", False),
        ("<answer>5</answer>\n<answer>6</answer>", "6", False), ("5 = 6", "6", False), ("10/2", "5", True),
    ],
)  # fmt: skip
def test_number_wants_the_one_number(response: str, truth: str, right: bool) -> None:
    assert number(response, truth).correct is right


def test_number_has_tolerances() -> None:
    assert number("3.1", "3.14", abs_tol=0.05).correct
    assert number("3.1", "3.14", abs_tol=0.03).correct is False
    assert number("102", "100", rel_tol=0.02).correct
    assert number("103", "100", rel_tol=0.02).correct is False
    assert number("5", "five").status == "invalid"


def test_words_are_found_where_nothing_stands_between_words() -> None:
    for response, truth in (
        ("我住在东京市中心", "东京"),
        ("使用GPT模型", "GPT"),
        ("東京タワー", "東京"),
        ("ฉันรักกรุงเทพมาก", "กรุงเทพ"),
    ):
        assert contains(response, truth).correct, response
    assert contains("GPTs", "GPT").correct is False


def test_marks_that_a_page_would_not_show_count_where_they_are_asked_for() -> None:
    for text in (
        "<title>Hi</title>",
        "<details>x</details>",
        "[x]: http://a.b",
        "~~no~~ yes",
        "a\\phantom{b}",
    ):
        assert exact(f"<think>{text}!</think>{text}", text).correct, text
        assert contains(f"So: {text}", text).correct, text
    assert regex("<title>Hi</title>", r"<title>\w+</title>").correct
    assert exact("Paris <!-- Rome -->", "Rome").correct is False
    assert contains("<!-- cat -->", "cat").correct is False
    assert regex("abc<|im_end|>def", "abcdef").correct is False


@pytest.mark.parametrize("truth", ["\u200b", "\u3164", '["\u200b"]', "\ufeff \u2800"])
def test_a_ground_truth_in_which_nothing_is_seen_is_invalid(truth: str) -> None:
    for score in (exact, contains, number):
        assert score(truth, truth).status == "invalid"


def test_a_zero_shows_the_response_and_the_option_that_would_accept_it() -> None:
    zeros = [
        (exact("paris", "Paris"), ("paris", "Paris", "ignore_case=true")),
        (exact("a  B", "a b"), ("a B", "a b", "ignore_case=true and ignore_blanks=true")),
        (exact("Rome", '["Paris", "Oslo"]'), ("Rome", "Paris", "2 accepted texts")),
        (contains("concatenate", "cat"), ("concatenate", "cat", "words=false")),
        (
            contains("A Cat", '["A", "cat"]', ignore_case=False),
            ("A Cat", "cat", "ignore_case=true", "1 of 2"),
        ),
        (regex("It is 12.", r"\d+"), ("It is 12.", r"\d+", "match=search")),
        (regex("", "a+", match="search"), ("a+", "empty")),
    ]
    for score, parts in zeros:
        assert score.score == 0.0
        assert [part for part in parts if part not in (score.detail or "")] == []
    assert "would" not in (exact("Rome", "Paris").detail or "") + (contains("dog", "cat").detail or "")
