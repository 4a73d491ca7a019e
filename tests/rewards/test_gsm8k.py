"""The GSM8K reward: three tiers, exact numbers, one answer, and verl's numbers on request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardkit.rewards import gsm8k
from rewardkit.rewards.gsm8k import Gsm8kOptions, excerpts, score, verl_score
from rewardkit.types import Sample, Score


def scored(response: str, gold: str = "72", **options: object) -> Score:
    return score(Sample("gsm8k", response, gold), Gsm8kOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        "72", "72.", "72.00", "072", "+72", "$72", "72$", "$72$", "\\$72", "US$72", "€72", "**72**", "*72*",
        "__72__", "`72`", "(72)", '"72"', "= 72", ": 72", "\\boxed{72}", "\\(72\\)", "７２", "７２．０", "144/2",
        "71 2/2", "7.2e1", "72%", "72 %", "72 apples", "72 km/h", "72 m^2", "72 cm3", "72 apples left.",
        "72,", "72 apples!", "72<|im_end|>", "72</s>", "72 = 72.0", "   72   ", "\t72", "72\r", "72 \\text{ apples}",
    ],
)  # fmt: skip
def test_the_right_number_scores_1_however_it_is_written(answer: str) -> None:
    for marker in ("#### ", "####", "####  ", "\n\n#### ", "##### "):
        found = scored(f"Some work: 6 * 12.\n{marker}{answer}")
        assert (found.score, found.correct, found.parts) == (1.0, True, {"format": 1.0}), found


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("1,234", "1234"), ("1234", "1,234"), ("1{,}234", "1234"), ("1'234", "1234"), ("1_234,567".replace("_", ","), "1234567"),
        ("-3", "-3"), ("−3", "-3"), ("－３", "-3"), ("-$3", "-3"), ("$-3", "-3"), ("1/2", "0.5"), ("0.5", "1/2"),
        ("2/4", "1/2"), ("1 1/2", "1.5"), ("-1 1/2", "-1.5"), ("0.1", "0.10"), (".5", "0.5"), ("0", "-0"),
        ("1000000000000000000000000000001", "1,000,000,000,000,000,000,000,000,000,001"),
        ("72", "Step by step.\n#### 72"),
    ],
)  # fmt: skip
def test_numbers_are_compared_as_numbers(answer: str, gold: str) -> None:
    assert scored(f"#### {answer}", gold).score == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "73", "-72", "7", "172", "720", "72.5", "7,2", "7.2", "72/2", "72/0", "72,000", "7272", "0.72",
        "1000000000000000000000000000072", "72.0000000000000000000000000000001",
    ],
)  # fmt: skip
def test_a_wrong_number_in_format_scores_a_tenth(answer: str) -> None:
    found = scored(f"#### {answer}")
    assert (found.score, found.correct, found.parts) == (0.1, False, {"format": 1.0}), found


@pytest.mark.parametrize(
    "answer",
    [
        "70, 71, 72", "72, 73", "72 or 73", "72 or seventy-three", "72/73/74", "72 73", "[72, 73]", "72-73",
        "72 to 80", "72 ± 5", "72 and 73", "72; 73", "72|73", "70 = 72", "72 = 70",
        "72x3", "72²", "72^2", "72*2", "72 + 1", "72 (or 73)", "not 71 but 72", "72 is wrong", 
        "72, not 73", "72：73", "72 ٧٣", "7\u200b2", "72 dollars and 50 cents", "72, 72", "(72, 72)", "72; 72",
        "72\\sqrt{2}", "72 \\sqrt{2}", "72 log2", "72 \\log_2 3", "72\\pi", "72 sin2",
    ],
)  # fmt: skip
def test_an_answer_that_hedges_never_scores_1(answer: str) -> None:
    assert scored(f"#### {answer}").score in (0.0, 0.1)


@pytest.mark.parametrize(
    "response",
    [
        "#### 73<|im_end|>\n#### 72", "#### 73\n<!-- #### 72 -->", "#### 73\n<think>\n#### 72", "<think>#### 72</think>",
        "#### 73\n```\n#### 72\n```", "#### 73\n[//]: # (#### 72)", "#### 72 is wrong", "#### 73</s>#### 72",
        "#### 73\n#### 72", "#### not 72", "#### 73\n\nUser: And now?\n#### 72",
    ],
)  # fmt: skip
def test_an_answer_outside_of_the_own_text_or_beside_another_never_pays(response: str) -> None:
    for method in ("strict", "flexible"):
        assert scored(response, method=method).score in (0.0, 0.1), method


@pytest.mark.parametrize(
    "response",
    [
        "", " \n", "72", "The answer is 72.", "####", "#### ", "#### \n", "### 72", "#### seventy-two", "#### x",
        "#### The answer is 72", "#### ٧٢", "#### ⁷²", "#### NaN", "#### Infinity", "#### -", "#### .", "\\boxed{72}",
        "#### DEFINITELY_WRONG_12345", "\x00", "\ud800",
    ],
)  # fmt: skip
def test_no_number_after_the_marker_scores_0(response: str) -> None:
    found = scored(response)
    assert (found.score, found.correct, found.parts) == (0.0, False, {"format": 0.0}), found


def test_the_last_marker_counts() -> None:
    assert scored("#### 72\nOn reflection, no.\n#### 73").score == 0.1
    assert scored("#### 73\nOn reflection, no.\n#### 72").score == 1.0
    assert scored("#### 72\n#### ").score == 1.0  # cut short: the last says nothing
    assert scored("#### 72\n#### unsure").score == 0.0
    assert scored("#### 72\nSo it is.\n#### 72").score == 1.0


def test_no_prose_takes_an_answer_back_or_gives_one() -> None:
    for said in (
        "That is wrong.\n#### 72",
        "#### 72\nWait, that is a mistake.",
        "The answer is not\n#### 72",
    ):
        assert scored(said).score == 1.0, said
    assert scored("The answer is 72.").score == 0.0


def test_text_after_the_answer_line_does_not_matter_however_long() -> None:
    assert scored("#### 72\n" + "I hope this helps! 5 stars. " * 1_000).score == 1.0
    assert verl_score("#### 72\n" + "x" * 300, "72") == 0.0


def test_the_window_limits_the_search() -> None:
    response = "#### 72\n" + "x" * 300
    assert scored(response, window=300).score == 0.0
    assert scored(response, window=308).score == 1.0


def test_the_three_values_are_options() -> None:
    values = {"score": 5.0, "format_score": 0.5, "neither_score": -1.0}
    assert [scored(r, **values).score for r in ("#### 72", "#### 1", "no")] == [5.0, 0.5, -1.0]


def test_flexible_takes_the_last_number_and_pays_only_for_right() -> None:
    assert scored("First 5, then the answer is 72.", method="flexible").score == 1.0
    assert scored("It is $1,234.00!", "1234", method="flexible").score == 1.0
    assert scored("It is -72", method="flexible").score == 0.0
    assert scored("It is 72, and 5 more makes 77", method="flexible").score == 0.0
    assert scored("no number", method="flexible").score == 0.0
    assert (
        scored("72 it is.\n#### 73", method="flexible").score == 0.1
    )  # the frame, where there is one, decides
    assert scored("It is 5, no: \\boxed{72}. Done in 3 steps.", method="flexible").score == 1.0
    assert scored('{"reasoning": "9 * 8", "answer": 72}', method="flexible").score == 1.0


@pytest.mark.parametrize("gold", ["", "nan", "seventy-two", "1/0", "72 or 73", "{}", "None", "(1,1)", "5, 5"])
def test_a_gold_that_is_no_number_is_invalid_not_wrong(gold: str) -> None:
    found = scored("#### 72", gold)
    assert (found.status, found.score, found.correct) == ("invalid", 0.0, None)
    assert "is not a number" in (found.detail or "")


def test_what_was_taken_as_the_answer_is_reported() -> None:
    assert scored("#### **$1,234.50** in all").extracted == "1,234.50"
    assert scored("#### 72.").extracted == scored("#### 72.\nThat is all.").extracted == "72"
    assert scored("nothing").extracted is None


@pytest.mark.parametrize(
    "hostile",
    [
        "#### " + "9" * 100_000, "#### " + "1," * 50_000, "#### " + "*" * 100_000, "####" * 100_000, "#" * 1_000_000,
        "#### " + "$(" * 50_000 + "72", "#### 1e99", "#### 1/" + "9" * 100_000, "#### 72" + " " * 1_000_000 + "73",
        "#### 72 " + "a1 " * 50_000, "#### " + "1 1/" * 50_000, "\n" * 1_000_000 + "#### 72", "9 " * 1_000_000,
    ],
    ids=range(13),
)  # fmt: skip
@pytest.mark.parametrize("method", ["strict", "flexible"])
@pytest.mark.timeout(5)
def test_hostile_responses_neither_hang_nor_raise(hostile: str, method: str) -> None:
    scored(hostile, method=method)


@given(st.text(), st.sampled_from(["strict", "flexible"]))
def test_no_text_raises(response: str, method: str) -> None:
    assert scored(response, method=method).score in (0.0, 0.1, 1.0)
    assert scored("#### " + response, method=method).score in (0.0, 0.1, 1.0)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
def test_every_decimal_equals_itself_with_and_without_separators(number: object) -> None:
    assert scored(f"#### {number}", str(number)).score == 1.0
    assert scored(f"#### {number:,}", str(number)).score == 1.0


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_a_different_number_never_scores_1(number: int, difference: int) -> None:
    assert scored(f"#### {number + difference}", str(number)).score == 0.1


# --- compat="verl": what the original was seen to return -------------------------------------------------

VERL_STRICT = [
    ("#### 72", 1.0), ("#### 72.", 0.0), ("#### $72", 0.0), ("####72", 0.0), ("#### 72.00", 0.0), ("#### **72**", 0.0),
    ("#### 7,2", 1.0), ("#### 72 or 73", 1.0), ("#### 72\n#### 73", 0.0), ("#### 72" + "x" * 300, 0.0),
    ("#### 72" + "x" * 293, 1.0), ("", 0.0), ("72", 0.0), ("##### 72", 1.0),
]  # fmt: skip
VERL_FLEXIBLE = [
    ("72", 1.0), ("72.", 0.0), ("it is 72 .", 1.0), ("1 then 72", 1.0), ("none", 0.0), ("7,2", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("response", "expected"), VERL_STRICT)
def test_compat_verl_strict_returns_verls_score(response: str, expected: float) -> None:
    assert verl_score(response, "72") == expected
    assert scored(response, compat="verl").score == expected


@pytest.mark.parametrize(("response", "expected"), VERL_FLEXIBLE)
def test_compat_verl_flexible_returns_verls_score(response: str, expected: float) -> None:
    assert verl_score(response, "72", method="flexible") == expected
    assert scored(response, compat="verl", method="flexible").score == expected


def test_compat_verl_pays_for_the_format_only_when_told_to() -> None:
    assert scored("#### 1", compat="verl").score == 0.0
    assert scored("#### 1", compat="verl", format_score=0.1).score == 0.1


# --- the real data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_reference_solution_of_gsm8k_scores_1(reference_data: Path, split: str) -> None:
    rows = [json.loads(line) for line in (reference_data / "gsm8k" / f"{split}.jsonl").open()]
    golds = [row["answer"].rpartition("####")[2].strip() for row in rows]
    wrong = [
        r["answer"] for r, gold in zip(rows, golds, strict=True) if scored(r["answer"], gold).score != 1.0
    ]
    assert not wrong


@pytest.mark.parametrize(
    "response", ["\\frac{144}{2} = 72", "It is 2 + \\frac{140}{2} = 72", "72 apples.", "It is (72)"]
)
def test_a_last_number_that_the_response_comes_to_is_paid_by_the_flexible_method(response: str) -> None:
    assert gsm8k.score(Sample("gsm8k", response, "72"), gsm8k.Gsm8kOptions(method="flexible")).score == 1.0, (
        response
    )


@pytest.mark.parametrize(
    "answer", ["5!", "5 !", "$5!$", "(5)!", "5!!", "5!.", "５!", "5..", "5...", "5a", "5A"]
)
def test_another_number_is_not_the_one_it_begins_with(answer: str) -> None:
    """`5!` is 120; digits that go on, and a letter that is no unit, say something else too."""
    found = scored(f"So we have\n#### {answer}", "5")
    assert (found.score, found.correct) == (0.1, False), found


@pytest.mark.parametrize("end", ["", "."])
def test_an_answer_counts_before_a_next_question_and_not_below_it(end: str) -> None:
    said = f"It is 3 x 24.\n#### 72\n\nQuestion: How many are left of 9?\nIt is 9 - 4.\n#### 5{end}"
    assert scored(said, "72").score == 1.0
    assert scored(said, "5").score == 0.1


@pytest.mark.parametrize("ground_truth", ["7.0", "1/2", "07", "1e3"])
def test_a_number_of_any_length_is_read(ground_truth: str) -> None:
    for digits in ("9" * 5_000, "0" * 5_000):
        assert scored(f"It is so.\n#### {digits}", ground_truth).score == 0.1
    assert scored(f"It is so.\n#### {'0' * 5_000}7", "7.0").score == 1.0


PIECES = [
    *(
        "####",
        "#### ",
        "#",
        "##",
        " ",
        "\n",
        "\n\n",
        "72",
        "1,234",
        "-5",
        "0.50",
        "$",
        "%",
        "*",
        "**",
        "_",
        "`",
        "```",
    ),
    *(
        "```py\n",
        "[",
        "]",
        "~",
        "]~",
        "[//]",
        "\n[//]: # (x)\n",
        "[EOS]",
        "[gMASK]",
        "[/INST]",
        "[e~[",
        "◁think▷",
    ),
    *(
        "◁/think▷",
        "<",
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "</s>",
        "<|im_end|>",
        "<|channel|>",
        "<｜",
    ),
    *(
        "<|channel|>final<|message|>",
        "analysis",
        "assistantfinal",
        "analysisWe",
        "!",
        "!--",
        "<!--",
        "-->",
        ":",
        "：",
    ),
    *(
        "\nQuestion: what",
        "\nQ2:",
        "\n### Problem",
        "\n#### Question\n",
        "\nquestion",
        "Human: ",
        "\n\n问题：",
        "x = ",
    ),
    *(
        "=",
        " or ",
        "and",
        "not",
        "is",
        "apples",
        "…",
        "\0",
        "\ud800",
        "\r",
        "\x1c",
        "\u2028",
        "\\boxed{7}",
        "７２",
        "<<3*4=12>>",
    ),
]
"""What is read otherwise than it stands there, or leads to it."""
RESPONSES = st.lists(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join), max_size=6
)


@settings(max_examples=1_500)
@given(responses=RESPONSES, ground_truth=st.sampled_from(["72", "1234", "-5", "x", "so\n#### 72"]))
@example(responses=["##", "## 72"], ground_truth="72")
@example(responses=["####", " 72"], ground_truth="72")
@example(responses=["72\n", "\nquestion: next", "Question: 1\n#### 72\nnext"], ground_truth="72")
@example(responses=["analysis", "\0analysis#### 72"], ground_truth="72")
def test_the_part_of_a_response_that_decides_gets_its_score(responses: list[str], ground_truth: str) -> None:
    for options in (Gsm8kOptions(), Gsm8kOptions(format_score=0.5), Gsm8kOptions(method="flexible")):
        for response, excerpt in zip(responses, excerpts(responses, options), strict=True):
            if excerpt is not None:
                sample = Sample("gsm8k", response, ground_truth, "Question: what is 72?")
                assert score(Sample("gsm8k", excerpt, ground_truth), options) == score(sample, options)


def test_responses_as_models_write_them_are_decided_by_their_last_line() -> None:
    said = [
        "Step 1: 70 + 2 = 72.\n### Sum\nSo [see above]!\n#### 72",
        "<<70+2=72>>72 – that's it\n#### 72\n",
        "no idea",
    ]
    assert excerpts(said, Gsm8kOptions()) == ["#### 72", "#### 72\n", ""]
