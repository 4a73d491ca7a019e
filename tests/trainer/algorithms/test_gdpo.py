"""GDPO by plain loops, and what it asks of settings and scores."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import statistics
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ConfigError, ScoringError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.estimation import Experience
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.steps.scoring import place_parts
from rewardkit.types import Score, failure

GROUPS = [0, 0, 0, 1, 1, 1]
LENGTHS = [4, 2, 3, 1, 4, 2]
PARTS = [[1.0, 0.0], [0.0, 0.5], [1.0, 1.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
WEIGHTS = (1.0, 0.5)
ALONE = World(0, 1, torch.device("cpu"))


def experience(scored: list[bool], *, norm_by_std: bool = True) -> Experience:
    mask = (torch.arange(4) < torch.tensor(LENGTHS)[:, None]).double()
    kept = torch.tensor(scored)
    return Experience(
        rewards=torch.full(mask.shape, 7.0).double(),
        mask=mask * kept[:, None],
        scored=kept,
        groups=torch.tensor(GROUPS),
        values=None,
        baselines=None,
        gamma=1.0,
        lam=1.0,
        norm_by_std=norm_by_std,
        reduce=lambda t: t,
        gather=lambda item: [item],
        rank=0,
        parts=torch.tensor(PARTS).double(),
        part_weights=WEIGHTS,
    )


def by_hand(scored: list[bool], *, norm_by_std: bool = True) -> list[float]:
    """The advantage of each response, in Python's own numbers."""
    summed = [0.0] * len(GROUPS)
    for k, weight in enumerate(WEIGHTS):
        for i, group in enumerate(GROUPS):
            alike = [p[k] for p, g, s in zip(PARTS, GROUPS, scored, strict=True) if g == group and s]
            spread = statistics.stdev(alike) + 1e-6 if norm_by_std else 1.0
            summed[i] += weight * (PARTS[i][k] - statistics.mean(alike)) / spread
    tokens = [a for a, n, s in zip(summed, LENGTHS, scored, strict=True) if s for _ in range(n)]
    mean = statistics.mean(tokens)
    std = (statistics.variance(tokens) + 1e-8) ** 0.5
    return [(a - mean) / std for a in summed]


@pytest.mark.parametrize("norm_by_std", [True, False])
@pytest.mark.parametrize("scored", [[True] * 6, [True, True, True, True, False, True]])
def test_each_part_is_compared_by_itself(scored: list[bool], norm_by_std: bool) -> None:
    given = experience(scored, norm_by_std=norm_by_std)
    advantages, returns = ESTIMATORS["gdpo"].estimate(given)
    expected = torch.tensor(by_hand(scored, norm_by_std=norm_by_std)).double()[:, None] * given.mask
    torch.testing.assert_close(advantages, expected)
    torch.testing.assert_close(returns, expected)


def test_the_numbers_of_verl() -> None:
    """Made once with verl's own `compute_gdpo_outcome_advantage` (its main branch of August 2026)."""
    advantages, _ = ESTIMATORS["gdpo"].estimate(experience([True] * 6))
    torch.testing.assert_close(advantages[:, 0].float(), torch.tensor(VERL), atol=1e-6, rtol=1e-6)


VERL = [0.1824458, -1.3711538, 1.4434317, 1.5409714, -0.6431237, -0.6431237]


def test_a_large_part_does_not_drown_a_small_one() -> None:
    given = experience([True] * 6)
    assert given.parts is not None
    given.parts[:, 0] *= 1000
    same = ESTIMATORS["gdpo"].estimate(given)[0]
    torch.testing.assert_close(
        same, ESTIMATORS["gdpo"].estimate(experience([True] * 6))[0], atol=1e-4, rtol=0
    )


def config(*more: str) -> Any:
    required = [
        "data.train_files=x.parquet",
        "actor_rollout_ref.model.path=x",
        "actor_rollout_ref.rollout.n=2",
        "trainer.val_before_train=false",
    ]
    return load_config(None, [*required, "algorithm.adv_estimator=gdpo", *more])


KEYS = '+algorithm.gdpo_reward_keys=["form", "acc", "score"]'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "list these parts in algorithm.gdpo_reward_keys"),
        ([KEYS, "algorithm.gdpo_reward_weights=[1]"], "algorithm.gdpo_reward_weights"),
        ([KEYS, "algorithm.use_kl_in_reward=true"], "use_kl_in_reward, .* would have no effect"),
        ([KEYS, "reward.mode=mixed"], r"reward\.mode=mixed would have no effect"),
        ([KEYS, "algorithm.adv_estimator=grpo"], "requires algorithm.adv_estimator=gdpo"),
    ],
)
def test_what_would_have_no_effect_is_refused(more: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run_checks(SETTINGS, config(*more))


def test_parts_come_into_the_batch_in_the_order_of_their_names() -> None:
    batch = Batch({"response_mask": torch.ones(2, 3)}, [])
    scores = [Score(0.5, correct=True, parts={"form": 2.0, "other": 9.0}), failure("timeout", "late")]
    place_parts(batch, scores, ALONE, config(KEYS, "reward.error_value=-1"))
    assert batch["score_parts"].tolist() == [[2.0, 1.0, 0.5], [-1.0, -1.0, -1.0]]


def test_a_score_without_the_part_ends_the_run_with_those_it_has() -> None:
    batch = Batch({"response_mask": torch.ones(1, 3)}, [])
    with pytest.raises(ScoringError, match=r"mine@1 .*'form'.*: score, length$"):
        place_parts(batch, [Score(0.5, parts={"length": 2.0}, scorer="mine@1")], ALONE, config(KEYS))
