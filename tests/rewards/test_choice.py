"""The choice reward: one option in one frame and no other, however it is written."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.rewards.choice import ChoiceOptions, score
from rewardkit.types import Sample, Score

CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}


def scored(response: str, truth: str = "B", info: dict[str, Any] | None = None, **options: Any) -> Score:
    return score(Sample("choice", response, truth, None, info or {}), ChoiceOptions(**options))


ONE_OPTION = (
    "B",
    "(B)",
    "b",
    "**B**",
    "B.",
    "Option B",
    "B. Lyon",
    "(B) Lyon",
    "B: Lyon",
    "Lyon",
    "lyon.",
    "Lyon (B)",
    "$B$",
    "\\text{B}",
)
FRAMES = (
    "<answer>%s</answer>", "\\boxed{%s}", "#### %s", "Answer: %s", "**Answer:** %s", "## Final Answer\n\n%s", "So the answer is %s",
    "The correct answer (one of A to D) is: %s", "【答案】%s", "答案：%s", '{"reasoning": "not A", "answer": "%s"}', "%s",
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "frame"),
    [(said, FRAMES[(at + turn) % len(FRAMES)]) for at, said in enumerate(ONE_OPTION) for turn in (0, 7)],
)
def test_one_option_in_a_frame_is_the_answer_however_it_is_written(said: str, frame: str) -> None:
    if said == "b" and frame.endswith("is %s"):
        said = "(b)"
    response = frame.replace("%s", said.replace("\\", "\\\\") if frame.startswith("{") else said)
    assert scored(response, "B", CAPITALS).correct, response
    assert scored(response, "C", CAPITALS).correct is False, response


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("said", ["A or B", "ABCD", "B. Paris", "Paris, Lyon", "K", "not B", "none of them"])
def test_two_options_another_options_text_and_no_option_are_no_answer(said: str, frame: str) -> None:
    response = frame.replace("%s", said)
    for truth in "AB":
        assert scored(response, truth, CAPITALS).correct is False, response


@pytest.mark.parametrize(
    ("response", "truth", "right"),
    [
        ("Answer: Because it is so", "B", False),
        ("The answer is Democracy", "D", False),
        ("The answer is A. No wait. The answer is B.", "B", True),
        ("I think B. In conclusion I am sure.", "I", False),
        ("The answer is a matter of taste.", "A", False),
        ("It is far from the sea.\n\nB", "B", True),
        ("A) Paris", "A", True),
        ("The answer is A. The answer is B.", "B", False),
        ("The answer is (B). The others are wrong, since C lies on the coast.", "B", True),
        ("The answer is B because it lies inland.", "B", True),
        ("The answer is not (B).", "B", False),
        ("Answer: It can't be (B)", "B", False),
        ("Answer: definitely not (B)", "B", False),
        ("Answer: anything but (B)", "B", False),
        ("Answer: B is wrong", "B", False),
        ("<answer>B (wrong)</answer>", "B", False),
        ("Answer: B, not A", "B", False),
        ("The answer is B (not A)", "B", False),
        ("The answer is B or C depending on the reading.", "B", False),
        ("Answer: B\n\n#### Explanation\nIt lies inland.", "B", True),
        ("<answer>B</answer>\n\nThe other answers are wrong: (A) lies on the Seine.", "B", True),
        ("The answer is ... B.", "B", True),
        ("Answer: B\n\nThis answer is correct.", "B", True),
        ("Answer: B\n\nQuestion: What is next?\nAnswer: C", "B", True),
        ("答案是B，因为里昂在内陆。", "B", True),
        ("【答案】题目可能有误", "B", False),
        ("所以选B。", "B", True),
    ],
)
def test_a_letter_counts_where_a_frame_names_it(response: str, truth: str, right: bool) -> None:
    """The failures of simple-evals, MMLU-Pro and lm-eval, which take the first letter they meet, among them."""
    assert scored(response, truth, CAPITALS if truth in "ABCD" else None).correct is right


@pytest.mark.parametrize(
    "piece",
    ["B, not ", "The answer is B. ", "(B) ", "A B C D ", "Answer: "],
)
def test_long_repetition_is_read_as_any_response(piece: str) -> None:
    for said in (piece * 20_000, "The answer is " + piece * 20_000 + "or"):
        assert scored(said, "B", CAPITALS).status == "ok"


def test_an_options_text_counts_as_its_letter() -> None:
    assert scored("The answer is Lyon.", "B", CAPITALS).correct
    assert scored("Partly yes", "D", {"choices": ["x", "y", "z", "Par"]}).correct is False
    assert scored("The answer is B. Paris", "B", CAPITALS).correct is False
    assert scored("The answer is B. Lyon", "B", CAPITALS).correct


def test_the_truth_may_be_a_letter_an_index_a_text_or_several() -> None:
    for truth in ("B", "b", "(B)", "1", "Lyon", '["B"]', "[1]"):
        assert scored("B", truth, CAPITALS).correct, truth
    assert scored("A, B", '["A", "B"]').correct
    assert scored("AB", '["A", "B"]').correct
    assert scored("A", '["A", "B"]').correct is False
    assert scored("A", '["A", "B"]', several="any").correct
    assert scored("A, B", '["A", "B"]', several="any").correct
    assert scored("A, C", '["A", "B"]', several="any").correct is False
    for truth in ("", "K", "Berlin", "[", "[]", "7", "-1"):
        assert scored("B", truth, CAPITALS).status == "invalid", truth


def test_options_come_as_list_mapping_or_labels_and_texts() -> None:
    arc = {"choices": {"label": ["1", "2"], "text": ["wood", "iron"]}}
    assert scored("(2)", "2", arc).extracted == "2"
    assert scored("The answer is iron.", "2", arc).correct
    assert scored("wood", "A", {"options": {"A": "wood", "B": "iron"}}).correct
    assert scored("He eats.", "1", {"endings": ["He sleeps.", "He eats."]}).correct


def test_shuffled_options_are_put_back() -> None:
    shown = {"choices": ["Lyon", "Lille", "Paris", "Nice"], "permutation": [1, 3, 0, 2]}
    assert scored("C", "A", shown).correct  # Paris, option A originally, is shown third
    assert scored("A", "A", shown).correct is False
    assert scored("C", "A", {**shown, "permutation": [1, 3]}).status == "invalid"


def test_the_values_are_options_and_format_pays_only_what_was_stated() -> None:
    values = {"score": 2.0, "wrong_score": -1.0, "format_score": 0.1}
    responses = ("\\boxed{B}", "\\boxed{C}", "nothing", "\\boxed{B or C}")
    assert [scored(r, **values).score for r in responses] == [2.0, 0.1, -1.0, -1.0]
    assert [scored(r).parts for r in ("\\boxed{C}", "C")] == [{"format": 1.0}, {"format": 0.0}]


def test_options_that_differ_by_a_sign_are_told_apart() -> None:
    lines = {"choices": ["y = x - 2", "y = x / 2", "y = x + 2", "A only", "x-2"]}
    assert scored("The answer is y = x - 2.", "A", lines).correct
    assert scored("The answer is y = x / 2.", "A", lines).correct is False
    assert scored("The answer is (A) y = x / 2.", "A", lines).correct is False
    assert scored("**D)** A only", "D", lines).correct


@pytest.mark.parametrize("frame", ["Answer: %s", "\\boxed{%s}", "%s"])
def test_a_sign_of_negation_belongs_to_an_option_that_begins_with_it(frame: str) -> None:
    info = {"choices": ["¬p", "p"]}
    assert scored(frame % "¬p", "A", info).correct
    assert scored(frame % "\\neg p", "A", info).correct
    assert scored(frame % "p", "B", info).correct
    assert scored(frame % "¬p", "B", info).correct is False
    assert scored(frame % "¬B", "B", info).correct is False
    assert scored(frame % "!Paris", "A", CAPITALS).correct is False


def test_the_options_of_a_prepared_row_are_read_from_its_metadata() -> None:
    info = {"metadata": '{"choices": ["Paris", "Lyon", "Nice", "Lille"], "subject": "x"}'}
    assert scored("The answer is Lyon.", "B", info).correct
    assert not scored("The answer is (B) Nice.", "B", info).correct
    assert scored("The answer is (B).", "B", {"metadata": "no JSON"}).correct
    assert scored("(A)", "A", {"metadata": '{"choices": ["O", "A", "AB"]}'}).correct


@pytest.mark.parametrize(
    ("choices", "said", "right"),
    [
        (["x ≥ 2", "x ≤ 2", "x > 2", "x < 2"], "x \\le 2", "B"),
        (["A ∪ B", "A ∩ B", "∅", "B - A"], "A \\cap B", "B"),
        (["n", "n!", "2n", "n^2"], "n!", "B"),
        (["(1,2)", "[1,2]", "{1,2}", "1,2"], "[1, 2]", "B"),
        (["\\frac{11}2", "\\frac1{12}", "12", "1"], "\\frac{1}{12}", "B"),
        (["2", "\\sqrt{2}", "4", "8"], "√2", "B"),
        (["1/3", "\\frac12", "2", "3"], "1/2", "B"),
        (["120", "1200", "12", "1"], "1,200", "B"),
        (["0.5%", "50%", "5%", "500%"], "50\\%", "B"),
        (["(1, 2)", "[1, 2]", "(1, 2]", "[1, 2)"], "[1, 2]", "B"),
        (["Aa", "AA", "aa", "AaBb"], "AA", "B"),
        (["A+", "A-", "O+", "O-"], "A-", "B"),
        (["Tt", "TT", "tt", "TTt"], "\\text{TT}", "B"),
        (["H2O2", "H2O", "CO2", "CO"], "H₂O", "B"),
        (["CO", "CO2", "C2O", "O2"], "$\\text{CO}_2$", "B"),
        (["5 m/s", "5 m/s²", "5 m²", "25 m/s"], "5 m/s^2", "B"),
        (["25 kg/m^2", "25 m/s^2", "25 m/s", "25"], "$25\\ \\text{m/s}^2$", "B"),
        (["€5", "$5", "£5", "¥5"], "\\$5", "B"),
        (["x = 5", "y = 5", "z = 5", "y = -5"], "\\(y = 5\\)", "B"),
        (["1/3", "½", "2", "12"], "\\frac{1}{2}", "B"),
        (["C_1", "C_2", "C_{12}", "C_0"], "C₂", "B"),
        (["f(x)", "f'(x)", "f''(x)", "f(x')"], "f′(x)", "B"),
    ],
)
def test_symbols_and_notations_of_an_options_text(choices: list[str], said: str, right: str) -> None:
    for frame in ("\\boxed{%s}", "The answer is: %s", "<answer>%s</answer>", "\\boxed{(B) %s}"):
        response = frame.replace("%s", said)
        assert scored(response, right, {"choices": choices}).correct, response
        for other in "ACD":
            assert scored(response, other, {"choices": choices}).correct is False, response


def test_a_truth_that_names_two_options_is_invalid() -> None:
    numbers = {"choices": ["1", "2", "2.2", "2.5"]}
    for truth, told in (
        ("2", "option C by its index and option B by its text"),
        ("1", "option B by its index"),
    ):
        found = scored("\\boxed{C}", truth, numbers)
        assert found.status == "invalid" and told in found.detail
    assert scored("C", "2.2", numbers).correct and scored("C", "C", numbers).correct
    assert scored("A", "A", {"choices": ["B", "A"]}).status == "invalid"
    assert scored("B", "1", {"choices": ["0", "1"]}).correct, "index and text agree"
    assert scored("B", "[1, 2]", {"choices": ["(1, 2)", "[1, 2]"]}).correct
    assert scored("B", "12 hours", {"choices": ["720 minutes", "12 hours"]}).correct


@pytest.mark.parametrize("said", ["C_{3}", "b = 7", "A′", "B^c", "\\(x = 7\\)", "y=7"])
def test_the_first_letter_of_a_formula_is_no_label(said: str) -> None:
    choices = {"choices": ["z = 7", "C_1", "X", "Y"]}
    for frame in ("\\boxed{%s}", "Answer: %s", "<answer>%s</answer>"):
        for label in "ABCD":
            assert scored(frame.replace("%s", said), label, choices).correct is False, (said, frame, label)


LISTS = (
    "Answer: A. Paris B. Lyon C. Nice D. Lille",
    "Answer: A. Paris\nB. Lyon\nC. Nice\nD. Lille",
    "The answer is:\n\n(A) Paris\n(B) Lyon\n(C) Nice",
    "Answer: A) Paris, B) Lyon",
    "**Answer:** B: Lyon\nC: Nice\nD: Lille",
    "Answer: A. one B. two C. three",
)


@pytest.mark.parametrize("response", LISTS)
def test_a_list_of_the_options_behind_a_marker_names_them_all(response: str) -> None:
    for truth in "AB":
        assert scored(response, truth, CAPITALS).correct is False, response


@pytest.mark.parametrize(
    "response",
    [
        "Answer: B. Lyon\n\nA. is wrong since Paris is the capital\nC. is on the coast\nD. is in the north",
        "The answer is B. A. is not it, C. is not it, D. is not it.",
        "A. Paris\nB. Lyon\nC. Nice\nD. Lille\n\nAnswer: B. Lyon",
        "Answer: B. Lyon (not C. Nice)",
    ],
)
def test_an_answer_beside_other_options_is_no_list(response: str) -> None:
    assert scored(response, "B", CAPITALS).correct, response
