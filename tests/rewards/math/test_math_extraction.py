"""What the `math` reward takes to be the answer, and what it refuses to take."""

from __future__ import annotations

import pytest

from rewardkit.rewards.math import MathOptions, extract


@pytest.mark.parametrize(
    ("response", "answer", "method"),
    [
        ("So \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}", "boxed"),
        ("\\boxed{4}. Wait, no: \\boxed{5}", "5", "boxed"),
        ("$\\boxed 7$", "7", "boxed"),
        ("\\fbox{3}", "3", "boxed"),
        ("I will put it in \\boxed{}. Here: \\boxed{8}", "8", "boxed"),
        ("\\boxed{a{b}c}", "a{b}c", "boxed"),
        ("<think>\\boxed{3}</think> The answer is 5.", "5", "marker"),
        ("<answer> 12 </answer>", "12", "tags"),
        ("<answer>so \\boxed{12}</answer>", "12", "tags"),
        ("The final answer is $x=3$. I hope it is correct.", "$x=3$", "marker"),
        ("#### 1,234", "1,234", "marker"),
        ("所以答案是12。", "12", "marker"),
        ("**Answer:** 34", "34", "marker"),
        ("The volume is easy. Final answer: the volume of $ABC$ is 120. Done.", "120", "marker"),
        ("Therefore\n\\[\n420\n\\]", "420", "display"),
        ("We get $x=1$ and then $y = 4$.", "y = 4", "inline"),
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
        "I cannot solve this. It is not 72, though.",
        "It is either 4 or 5",
        "no idea at all",
    ],
)
def test_no_answer_is_found_where_none_was_given(response: str) -> None:
    assert extract(response).answer is None


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{4} and \\boxed{5}",
        "\\boxed{4}, \\boxed{5}",
        "\\boxed{4}\n\\boxed{5}",
        "\\boxed{4} for a and \\boxed{5}",
    ],
)
def test_of_boxes_side_by_side_the_last_counts_and_all_are_kept_for_a_list(response: str) -> None:
    found = extract(response)
    assert found.answer == "5"
    assert found.parts == ("4", "5")


def test_a_box_can_be_demanded_and_the_first_one_chosen() -> None:
    boxed_only = MathOptions(methods=("boxed",))
    assert extract("The answer is 5.", boxed_only).answer is None
    assert extract("\\boxed{4} no, \\boxed{5}", MathOptions(box="first")).answer == "4"
    assert extract("\\boxed{4}. No, \\boxed{5}", MathOptions(box="only")).answer == "4, 5"
    assert extract("\\boxed{5", MathOptions(unclosed_box=True)).answer == "5"


def test_ten_megabytes_are_searched_without_reading_them_twice() -> None:
    for filler in ("x" * 10_000_000, "word " * 2_000_000, "\\boxed{" * 1_400_000, "$" * 10_000_000):
        assert extract(filler + " \\boxed{7}").answer == "7"
