"""pass@k, best@k and maj@k against hand-made figures and against enumeration of every draw."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.cli import run
from rewardkit.evaluation.metrics import best_at_k, group_metrics, maj_at_k, pass_at_k
from rewardkit.types import Score, failure

scores = st.lists(st.floats(-5, 5), min_size=1, max_size=7)


def test_pass_at_k_by_hand() -> None:
    assert pass_at_k(8, 1, 1) == pytest.approx(1 / 8)
    assert pass_at_k(8, 1, 8) == 1.0
    assert pass_at_k(4, 2, 2) == pytest.approx(1 - 1 / 6)
    assert pass_at_k(5, 0, 3) == 0.0


@given(scores, st.data())
def test_best_at_k_is_the_mean_over_every_draw(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    expected = fmean(max(draw) for draw in combinations(values, k))
    assert best_at_k(values, k) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_is_best_at_k_of_right_and_wrong(right: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(right)))
    assert pass_at_k(len(right), sum(right), k) == pytest.approx(best_at_k([float(r) for r in right], k))


def test_the_majority_decides_and_ties_share() -> None:
    assert maj_at_k([("7", True), ("8", False), ("7", True)], 3) == 1.0
    assert maj_at_k([("7", True), ("8", False)], 2) == 0.5
    assert maj_at_k([(None, False), (None, False), ("7", True)], 3) == 1.0, "no answer is no vote"
    assert maj_at_k([(None, False)] * 2, 2) == 0.0
    assert maj_at_k([("7", True), ("8", False), ("8", False)], 1) == pytest.approx(1 / 3)


@given(
    st.lists(st.tuples(st.sampled_from(["7", "8", None]), st.booleans()), min_size=1, max_size=6), st.data()
)
def test_no_majority_depends_on_the_order_of_the_responses(
    votes: list[tuple[str | None, bool]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(votes)))
    assert maj_at_k(data.draw(st.permutations(votes)), k) == pytest.approx(maj_at_k(votes, k))


def test_an_answer_that_is_right_in_some_responses_alone_is_as_right_as_these() -> None:
    """72 in the format that is asked for, and without it."""
    assert maj_at_k([("72", True), ("72", False), ("5", False)], 3) == 0.5
    assert maj_at_k([("72", False), ("72", True), ("5", False)], 3) == 0.5


def test_where_no_answer_is_named_there_is_no_majority() -> None:
    right, wrong = Score(1.0, correct=True), Score(0.0, correct=False)
    found = group_metrics([[right, right, wrong], [wrong, wrong, wrong]])
    assert found["acc/pass@3"] == 0.5 and not any("maj" in name for name in found)
    silent = group_metrics([[wrong, wrong, wrong], [Score(1.0, correct=True, extracted="7")] * 3])
    assert silent["acc/maj@3"] == 0.5  # there the wrong ones had no answer


def test_many_draws_are_seeded_and_touch_no_global_randomness() -> None:
    votes = [(str(i % 3), i % 3 == 0) for i in range(30)]
    import random

    random.seed(1)
    state = random.getstate()
    assert maj_at_k(votes, 15) == maj_at_k(votes, 15)
    assert random.getstate() == state


def test_a_group_counts_what_was_scored_alone() -> None:
    right, wrong = Score(1.0, correct=True, extracted="7"), Score(0.0, correct=False, extracted="8")
    found = group_metrics([[right, wrong, failure("timeout", "slow"), right], [wrong] * 4])
    assert found == {
        "acc/mean@4": pytest.approx(2 / 7),
        "acc/pass@2": 0.5,
        "acc/pass@4": 0.0,
        "acc/maj@2": pytest.approx(((1.0 + 0.5 + 0.5) / 3) / 2),
        "acc/maj@4": 0.0,
        "reward/mean@4": pytest.approx(2 / 7),
        "reward/best@2": 0.5,
        "reward/best@4": 0.0,
    }


def test_a_reward_that_does_not_say_what_is_correct_has_no_accuracy() -> None:
    assert group_metrics([[Score(0.5, parts={"style": 0.25})]]) == {
        "reward/mean@1": 0.5,
        "style/mean@1": 0.25,
    }
    assert group_metrics([]) == {}


@pytest.mark.parametrize("command", ["eval", "gradient"])
def test_a_score_that_no_figure_can_be_made_of_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scored.jsonl"
    row = {"data_source": "gsm8k", "prompt": "q", "response": "a", "ground_truth": "4", "scorer": "mine@1"}
    path.write_text(
        "".join(
            json.dumps(row | {"score": score, "status": "ok", "scorer": "gsm8k@1"}) + "\n"
            for score in (1e308, 1e308)
        )
    )
    assert run([command, str(path)]) == 2
    assert f"{path}, row 0: the score 1e+308 " in capsys.readouterr().err
