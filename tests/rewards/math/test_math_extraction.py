"""What the `math` reward takes to be the answer, and what it refuses to take."""

from __future__ import annotations

import pytest

from rewardkit.rewards.math import MathOptions, extract, score
from rewardkit.types import Sample


@pytest.mark.parametrize(
    ("response", "answer", "method"),
    [
        ("So \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}", "boxed"),
        ("\\boxed{4}. Wait, no: \\boxed{5}", "5", "boxed"),
        ("I will put it in \\boxed{}. Here: \\boxed{8}", "8", "boxed"),
        ("\\boxed{a{b}c}", "a{b}c", "boxed"),
        ("<think>\\boxed{3}</think> The answer is 5.", "5", "marker"),
        ("<answer>so \\boxed{12}</answer>", "12", "boxed"),
        ("The final answer is $x=3$. I hope it is correct.", "$x=3$", "marker"),
        ("#### 1,234", "1,234", "marker"),
        ("所以答案是12。", "12", "marker"),
        ("The volume is easy. Final answer: the volume of $ABC$ is 120. Done.", "120", "marker"),
        ("Therefore\n\\[\n420\n\\]", "420", "display"),
        ("We get $x=1$ and then $y = 4$.", "y = 4", "inline"),
        ("The solutions are $-2$ and $2$.", "-2, 2", "inline"),
        ("Since $x = 3$ and $y=4$, $x+y = 7$.", "7", "inline"),
        ("Then $x^2 = 49$, $x = 7$.", "x = 7", "inline"),
        ("\\boxed{5} is positive, so our answer is correct.", "5", "boxed"),
        ("We get $2 + 3 = 5$ or $2 - 3 = -1$.", "5, -1", "inline"),
        ("Thus $x = -2$, $x=1$ or \\(x = 2\\).", "x = -2, x=1, x = 2", "inline"),
        ("We get 4 + 1 = 5", "5", "number"),
        ("A: 3", "3", "number"),
        ("x^2+1", "x^2+1", "whole"),
        ("The total is **25%**", "25%", "number"),
        ("\\boxed{2}<|im_end|>\n\\boxed{3}", "2", "boxed"),
        ("\\boxed{2} <!-- \\boxed{3} -->", "2", "boxed"),
        ("\\boxed{2}\n```\n\\boxed{3}\n```", "2", "boxed"),
        (
            "\\boxed{255} So in all that is more. Final Answer: The final answer is $10,455$.",
            "$10,455$",
            "marker",
        ),
    ],
)
def test_the_last_committed_answer_is_taken(response: str, answer: str, method: str) -> None:
    found = extract(response)
    assert (found.answer, found.method) == (answer, method)


@pytest.mark.parametrize(
    "response",
    [
        "",
        "   \n ",
        "<think>still thinking, it is 5",
        "<think>5</think>",
        "\\boxed{}",
        "\\boxed{5",
        "no idea at all",
    ],
)
def test_no_answer_is_found_where_none_was_given(response: str) -> None:
    assert extract(response).answer is None


@pytest.mark.parametrize(
    "response", ["\\boxed{4} and \\boxed{5}", "\\boxed{4}, \\boxed{5}", "\\boxed{4}\n\\boxed{5}", "$x = \\boxed{4}$ or $x = \\boxed{5}$"]
)  # fmt: skip
def test_boxes_side_by_side_are_a_list_unless_they_are_the_same(response: str) -> None:
    found = extract(response)
    assert (found.answer, found.parts) == ("4, 5", ("4", "5"))
    assert score(Sample("math", response, "4, 5")).correct
    assert score(Sample("math", response, "5")).correct is False
    assert score(Sample("math", "\\boxed{\\frac{1}{2}} = \\boxed{0.5}", "1/2")).correct


def test_a_box_can_be_demanded_and_under_strict_all_of_them_count() -> None:
    boxed_only = MathOptions(methods=("boxed",))
    assert extract("The answer is 5.", boxed_only).answer is None
    assert extract("\\boxed{4}. No, \\boxed{5}", boxed_only).answer == "5"
    assert extract("\\boxed{4}. No, \\boxed{5}", MathOptions(preset="strict")).answer == "4, 5"
    assert extract("\\boxed{5", boxed_only).answer is None


def test_ten_megabytes_are_searched_without_reading_them_twice() -> None:
    for filler in ("x" * 10_000_000, "word " * 2_000_000, "\\boxed{" * 1_400_000, "$" * 10_000_000):
        assert extract(filler + " \\boxed{7}").answer == "7"


@pytest.mark.parametrize(
    "response", ["So we know that x > 5", "the total is x <= 5", "hence we have n ≠ 5", "The odds are 3:5", "He tried 2 and 5"]
)  # fmt: skip
def test_a_bound_a_ratio_and_one_of_a_list_are_no_last_number(response: str) -> None:
    assert extract(response).answer != "5"


def test_a_formula_of_the_prompt_is_no_answer_to_it() -> None:
    asked = "Compute the value of $2+3$."
    assert extract("To find $2+3$ we", prompt=asked).method != "inline"
    assert extract("We get $5$.", prompt=asked).answer == "5"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Step 3: 5", "5"),
        ("So it is <b>5</b>", "5"),
        ("The sum is <<2+3=5>>5", "5"),
        ("We get -> 5", "5"),
        ("5 ist die Antwort", "5"),
        ("On day 1: 5 apples", "5"),
        ("In 3 hours 60 cars pass.", "60"),
        ("The roots are 2 and 5.", "2, 5"),
        ("They meet at x = 2 and y = 5.", "x = 2, y = 5"),
        ("five", "five"),
    ],
)
def test_lists_numbers_in_words_and_steps_of_a_last_line(response: str, answer: str) -> None:
    assert extract(response).answer == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ('{"answer": 18}', "18"),
        ('{"answer": "x^{2}", "sure": true}', "x^{2}"),
        ('Here it is:\n```json\n{"reasoning": "20", "final_answer": 1.50}\n```', "1.50"),
        ('{"reasoning": "The answer is 20.", "answer": "18"}', "18"),
        ('{"answer": ""}', None),
        ("[" * 5_000 + '"answer" {' * 50 + "}", None),
    ],
)
def test_the_answer_of_a_json_object_at_the_end_counts(response: str, answer: str | None) -> None:
    assert extract(response).answer == answer


@pytest.mark.parametrize(("response", "answer"), [("-> 18", "18"), ("⇒ x = 18", "x = 18")])
def test_a_leading_arrow_is_no_part_of_a_line_of_maths(response: str, answer: str) -> None:
    assert extract(response).answer == answer
