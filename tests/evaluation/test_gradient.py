"""The shares of |advantage| against groups worked by hand, a simulation, and the trainer's own advantages."""

from __future__ import annotations

import random

import pytest

from rewardkit.evaluation.gradient import IN_GROUPS, REST, fit_weights, source_signal
from rewardkit.evaluation.scored import ScoredResponse


def response(kind: str, length: int = 10) -> ScoredResponse:
    """`r`ight, wrong but in `f`ormat, or `n`either, as the GSM8K reward pays them."""
    score, correct, in_format = {"r": (1.0, True, 1.0), "f": (0.1, False, 1.0), "n": (0.0, False, 0.0)}[kind]
    return ScoredResponse("gsm8k", "p", "ok", score, correct, None, {"format": in_format}, length, None)


def groups(*kinds: str) -> list[list[ScoredResponse]]:
    return [[response(kind) for kind in group] for group in kinds]


def test_a_lone_tenth_earns_the_same_advantage_as_a_lone_one() -> None:
    """Of eight: the std divides the size of the reward away, so half comes from the group with nobody right."""
    found = source_signal(groups("r" + "n" * 7, "f" + "n" * 7)).estimators
    assert found["grpo"].nobody_right == pytest.approx(0.5, abs=1e-4)
    assert found["dr_grpo"].nobody_right == pytest.approx(0.1 / 1.1)
    assert found["grpo"].total == pytest.approx(2 * 2 * 2.475, rel=1e-3)


def test_parts_are_weighted_as_the_reward_pays_them() -> None:
    weights = fit_weights([one for group in groups("rrffnn", "rfnn") for one in group])
    assert weights == {"correct": pytest.approx(0.9), "format": pytest.approx(0.1)}


def test_the_shares_of_the_parts_by_hand() -> None:
    """One group `r f n n`: correct is 0.9 x (3, -1, -1, -1)/4, format 0.1 x (1, 1, -1, -1)/2."""
    weights_known = groups("rrffnn" * 50)  # fixes the weights; one group of equal kinds has its own shares
    found = source_signal([*groups("rfnn"), *weights_known]).estimators["dr_grpo"]
    correct = 0.9 * 1.5 + 0.9 * (2 / 3 * 100 + 1 / 3 * 200)
    in_format = 0.1 * 2.0 + 0.1 * (1 / 3 * 200 + 2 / 3 * 100)
    assert found.parts["correct"] == pytest.approx(correct / (correct + in_format))
    assert found.parts[REST] == pytest.approx(0.0, abs=1e-9)


def test_a_part_that_another_determines_gets_no_weight() -> None:
    twice = [
        ScoredResponse("s", "p", "ok", score, bool(score), None, {"acc": score}, 1, None)
        for score in (0.0, 1.0, 1.0)
    ]
    assert fit_weights(twice) == {"correct": pytest.approx(1.0), "acc": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "with_std", "without"), [(0.1, 0.50, 0.12)])
def test_the_share_from_groups_with_nobody_right_in_a_simulation(
    rate: float, with_std: float, without: float
) -> None:
    """Groups of eight, half of the wrong responses in format; the truth was simulated independently."""
    generator = random.Random(0)

    def draw() -> str:
        return "r" if generator.random() < rate else "f" if generator.random() < 0.5 else "n"

    found = source_signal(groups(*("".join(draw() for _ in range(8)) for _ in range(6000)))).estimators
    assert found["grpo"].nobody_right == pytest.approx(with_std, abs=0.02)
    assert found["dr_grpo"].nobody_right == pytest.approx(without, abs=0.03)


def test_what_was_not_scored_is_left_out_and_counted() -> None:
    failed = ScoredResponse("gsm8k", "p", "timeout", None, None, None, {}, 5, None)
    found = source_signal([[response("r"), response("n"), failed], [response("r"), failed], [failed]])
    assert (found.groups, found.lone, found.not_scored) == (3, 2, {"timeout": 3})
    assert found.estimators["grpo"].mixed == 1.0


def test_flat_groups_give_no_signal() -> None:
    found = source_signal(groups("rrrr", "nnnn"))
    assert found.flat == 2
    assert found.estimators["grpo"].total == 0.0
    assert found.warnings == []


def test_shaping_that_outweighs_correctness_is_warned_of() -> None:
    lines = source_signal(groups(*["f" + "n" * 7] * 9, "r" + "n" * 7)).warnings
    assert any("without a right response" in line for line in lines)


def test_long_responses_weigh_by_their_tokens() -> None:
    long = [response("r", 90), response("n", 10), response("r", 10), response("n", 10)]
    found = source_signal([long]).estimators["dr_grpo"]
    assert found.long_quarter == pytest.approx(90 / 120)


def test_the_advantages_are_those_of_the_trainer() -> None:
    torch = pytest.importorskip("torch")
    from rewardkit.trainer.algorithms import advantages

    scores = [0.1, 0.0, 1.0, 0.3]
    tensor = torch.tensor(scores, dtype=torch.float64)
    one_group = torch.zeros(4, dtype=torch.int64)
    lengths = torch.ones(4, dtype=torch.float64)
    theirs = {
        "grpo": advantages.grpo(tensor, one_group, lengths, True),
        "dr_grpo": advantages.grpo(tensor, one_group, lengths, False),
        "rloo": advantages.rloo(tensor, one_group, lengths, True),
    }
    for name, expected in theirs.items():
        assert IN_GROUPS[name](scores) == pytest.approx(expected.tolist())
