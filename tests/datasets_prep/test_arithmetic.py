"""The generator: exact answers, no repeats, nothing shared between training and test problems."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.datasets_prep import arithmetic
from rewardkit.datasets_prep.arithmetic import LEVELS, problems
from rewardkit.datasets_prep.common.stories import Problem, show
from rewardkit.datasets_prep.common.verification import verify_file
from rewardkit.errors import InputError
from rewardkit.scoring.scorer import Scorer
from tests.datasets_prep.provenance import read_provenance

TIMES = {"doubles": 2, "triples": 3, "quadruples": 4}
ALL_LEVELS = ("tiny", *LEVELS)


def draw(level: str, split: str, n: int, seed: int = 0) -> list[Problem]:
    return [problem for problem, _ in islice(problems(level, split, seed), n)]


def value_of(expression: str) -> Fraction:
    """Evaluate a chain of at most two operations, `a*b/100` or `a+b`, left to right."""
    first, *rest = re.findall(r"[\d.]+|[-+*/]", expression)
    value = Fraction(first)
    for operator, operand in zip(rest[::2], rest[1::2], strict=True):
        other = Fraction(operand)
        value = {"+": value + other, "-": value - other, "*": value * other, "/": value / other}[operator]
    return value


@pytest.mark.parametrize("level", ALL_LEVELS)
def test_every_step_of_every_solution_is_right(level: str) -> None:
    for problem in draw(level, "train", 300, seed=3) + draw(level, "test", 200, seed=3):
        *steps, last = problem.solution.split("\n")
        results = []
        for step in steps:
            ((left, right),) = re.findall(r"([\d.]+(?:[-+*/][\d.]+)+) ?= ?([\d.]*\d)", step)
            assert value_of(left) == Fraction(right), problem.solution
            results.append(right)
        assert last == f"#### {problem.answer}"
        assert results[-1] == problem.answer
        assert Fraction(problem.answer) >= 0
        lowest, highest = LEVELS[level].steps if level != "tiny" else (1, 1)
        assert lowest <= len(steps) <= highest


@pytest.mark.parametrize("level", LEVELS)
def test_every_number_a_story_uses_stands_in_the_question(level: str) -> None:
    for problem in draw(level, "train", 500):
        known = set(re.findall(r"\d+(?:\.\d+)?", problem.question)) | {"100"}
        known |= {show(Fraction(number)) for number in known}
        known |= {str(n) for word, n in TIMES.items() if word in problem.question}
        for line in problem.solution.split("\n")[:-1]:
            equation = re.findall(r"[\d.]+(?:[-+*/][\d.]+)+ = [\d.]*\d", line)[0]
            left, _, right = equation.partition(" = ")
            assert set(re.findall(r"[\d.]+", left)) <= known, problem
            known.add(right)


def test_money_and_fractions_come_at_the_hard_level_only() -> None:
    for level in ("easy", "medium"):
        texts = [problem.question for problem in draw(level, "train", 500)]
        assert not any("%" in text or re.search(r"\.\d\d", text) for text in texts)
    hard = [problem.question for problem in draw("hard", "train", 500)]
    assert any("%" in text for text in hard)
    assert any(re.search(r"\$\d+\.\d\d", text) for text in hard)
    assert any(re.search(r"[2-9]/\d", text) for text in hard)


def test_no_sentence_says_one_of_many() -> None:
    for level in LEVELS:
        for problem in draw(level, "train", 500):
            assert not re.search(r"(?<![\d./])1 [a-z]+s\b", problem.question + problem.solution), problem


@pytest.mark.parametrize("level", ALL_LEVELS)
def test_train_and_test_share_no_template_with_the_same_numbers_whatever_the_seed(level: str) -> None:
    train = {(p.template, p.numbers) for seed in (0, 1) for p in draw(level, "train", 500, seed)}
    test = {(p.template, p.numbers) for seed in (0, 1) for p in draw(level, "test", 250, seed)}
    assert not train & test


@pytest.mark.parametrize("level", LEVELS)
def test_held_out_templates_occur_in_no_training_problem(level: str) -> None:
    trained = {problem.template for problem in draw(level, "train", 1000)}
    held_out = {p.template for p, is_held_out in islice(problems(level, "test", 0), 300) if is_held_out}
    assert held_out
    assert not trained & held_out


@pytest.mark.parametrize("level", ALL_LEVELS)
def test_no_question_occurs_twice_and_a_seed_fixes_the_draw(level: str) -> None:
    first = draw(level, "train", 1000)
    assert len({problem.question for problem in first}) == 1000
    assert first == draw(level, "train", 1000)
    assert first != draw(level, "train", 1000, seed=1)


def test_the_draw_leaves_the_global_random_state_alone() -> None:
    before = random.getstate()
    draw("hard", "train", 10)
    assert random.getstate() == before


def test_tiny_is_one_step_on_single_digits_in_a_short_prompt(tmp_path: Path) -> None:
    arithmetic.prepare(tmp_path, n_train=2000, n_test=400, level="tiny")
    rows = pq.read_table(tmp_path / "train.parquet").to_pylist()
    shape = re.compile(r"([1-9])([+-])([1-9])=(\d+)\n#### (\d+)")
    facts = {shape.fullmatch(row["extra_info"]["answer"]).groups()[:3] for row in rows}  # type: ignore[union-attr]
    # All sums of two digits from 1 to 9, and all differences that are not negative.
    assert len(facts) == 81 + 45
    for row in rows:
        assert row["prompt"] == [{"role": "user", "content": row["extra_info"]["question"]}]
        assert len(re.findall(r"\w+|\S", row["prompt"][0]["content"])) <= 16
    templates = {json.loads(row["extra_info"]["metadata"])["template"] for row in rows}
    assert templates == {"+0", "+1", "+2", "-0", "-1", "-2"}


def test_every_fact_of_a_tiny_test_problem_is_in_training_in_other_words() -> None:
    trained = {(p.template[0], p.numbers) for p in draw("tiny", "train", 8000)}
    assert {(p.template[0], p.numbers) for p in draw("tiny", "test", 400)} <= trained


def test_the_sizes_of_the_tiny_level_are_all_there_is() -> None:
    sizes = {split: arithmetic.capacity("tiny", split) for split in ("train", "test")}
    assert sum(sizes.values()) == 3 * (81 + 45) * 10 * 8
    assert len({problem.question for problem in draw("tiny", "test", 4000)}) == 4000 < sizes["test"]


def test_prepared_problems_verify_and_say_how_they_were_made(tmp_path: Path) -> None:
    made = arithmetic.prepare(tmp_path, n_train=300, n_test=30, level="hard", seed=5)
    with Scorer() as scorer:
        for split, n in (("train", 300), ("test", 30)):
            checked = verify_file(made.files[split].path, scorer)
            assert (checked.rows, checked.failures) == (n, ())
    provenance = read_provenance(tmp_path / "test.parquet")
    assert provenance["seed"] == 5
    assert provenance["arguments"] == {"n_train": 300, "n_test": 30, "level": "hard", "seed": 5}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"level": "hart"},
            r"'hart'; .* tiny, easy, medium, hard; ",
        ),
        ({"n_train": 25_441, "level": "tiny"}, "n_train .* 25,440 .* tiny, not 25,441"),
    ],
)
def test_an_impossible_request_is_one_clear_line(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        arithmetic.prepare(tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


@given(hundredths=st.integers(min_value=-(10**9), max_value=10**9))
@settings(max_examples=200)
def test_numbers_are_shown_exactly_and_without_trailing_zeros(hundredths: int) -> None:
    value = Fraction(abs(hundredths), 100)
    text = show(value)
    assert Fraction(text) == value
    assert "." not in text or not text.endswith("0")


def test_a_number_with_three_decimals_is_refused() -> None:
    with pytest.raises(ValueError, match="two decimals"):
        show(Fraction(1, 8))
