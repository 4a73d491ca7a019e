"""What tools and users say inside of a response: attended to, and otherwise as if it were not there."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor

from rewardkit.errors import ScoringError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES, value_loss
from rewardkit.trainer.algorithms.objective import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS, count
from rewardkit.trainer.batch import Batch, PromptRow, make_batch, pad_prompts, policy_lengths, whole_lengths
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import batch_metrics
from rewardkit.trainer.steps.advantages import compute_advantages
from rewardkit.trainer.steps.parity import check_parity
from rewardkit.trainer.steps.scoring import place_scores
from rewardkit.trainer.workers.forward import response_log_probs
from rewardkit.types import Score, failure
from tests.closeness import assert_same, near

ALONE = World(0, 1, torch.device("cpu"))
WIDTH = 8
KINDS = ("mmoommo.", "mmm.....", "moomm...", "mmmmoomm", "moom....", "mm......")
"""Responses to three prompts, two each: m a token of the model's, o of an observation."""
TOKENS = len(KINDS) * WIDTH
"""As many terms as any sum over the batch has. It is in float32, as a step's is."""
PER_TOKEN = ("old_log_probs", "rollout_log_probs", "ref_log_prob", "values", "sum_pi_squared")


def mask_of(kind: str) -> Tensor:
    return torch.tensor([[1.0 if c == kind else 0.0 for c in row] for row in KINDS])


def with_observations() -> Batch:
    """Every tensor of a step; NaN where an observation stands, as nothing may read it there."""
    generator = torch.Generator().manual_seed(0)
    row = PromptRow("gsm8k", [], "3", {}, [1])
    ids = torch.ones((6, 2), dtype=torch.int64)
    responses = torch.randint(5, 90, (6, WIDTH), generator=generator)
    batch = make_batch([row] * 6, ids, torch.ones_like(ids), responses, mask_of("m"), mask_of("o"))
    for name in PER_TOKEN:
        drawn = torch.randn((6, WIDTH), generator=generator) * 0.3
        batch[name] = drawn.masked_fill(batch["response_mask"] == 0, torch.nan)
    batch["groups"] = torch.tensor([0, 0, 1, 1, 2, 2])
    batch["seeds"] = torch.arange(6)
    batch["reward_baselines"] = torch.randn(6, generator=generator)
    return batch


def squeezed(values: Tensor, mask: Tensor) -> Tensor:
    """The policy's own tokens alone, moved to the left."""
    out = torch.zeros_like(values)
    for i, kept in enumerate(mask.bool()):
        out[i, : int(kept.sum())] = values[i][kept]
    return out


def without_observations(batch: Batch) -> Batch:
    """The same step with nothing between the policy's tokens."""
    mask = batch["response_mask"]
    ids = torch.ones((6, 2), dtype=torch.int64)
    plain = make_batch(
        batch.rows, ids, torch.ones_like(ids), squeezed(batch["responses"], mask), squeezed(mask, mask)
    )
    for name in PER_TOKEN:
        plain[name] = squeezed(batch[name], mask)
    for name in ("groups", "seeds", "reward_baselines"):
        plain[name] = batch[name]
    return plain


def run_of(*overrides: str) -> Any:
    required = ["data.train_files=x", "actor_rollout_ref.model.path=x", f"data.max_response_length={WIDTH}"]
    config = load_config(None, [*required, "actor_rollout_ref.rollout.n=2", *overrides])
    return SimpleNamespace(config=config, world=ALONE, kl=KlController(0.5), eos_ids=[7], first_kl=None)


SCORES = [Score(float(v)) for v in (1.0, 0.0, 0.5, 0.25)] + [failure("error", "x"), Score(1.0)]


def test_an_observation_is_attended_to_and_counted_by_positions() -> None:
    batch = with_observations()
    assert batch["attention_mask"][0].tolist() == [1] * 9 + [0]
    assert batch["position_ids"][0].tolist() == list(range(10))
    assert batch["response_mask"][0].tolist() == [1, 1, 0, 0, 1, 1, 0, 0]
    assert whole_lengths(batch).tolist() == [7, 3, 5, 8, 4, 2]
    assert policy_lengths(batch).tolist() == [4, 3, 3, 6, 2, 2]


@pytest.mark.usefixtures("float64")
def test_log_probs_see_the_observations_before_a_token(
    tokenizer: Any, model: Any, rows: list[PromptRow]
) -> None:
    generator = torch.Generator().manual_seed(3)
    responses = torch.randint(5, 260, (2, WIDTH), generator=generator)
    mask, observed = mask_of("m")[:2], mask_of("o")[:2]
    responses = responses * (mask + observed).long()
    batch = make_batch(
        rows[:2], *pad_prompts(rows[:2], 40, tokenizer.pad_token_id), responses, mask, observed
    )
    found, _ = response_log_probs(model, batch, 1.0, entropy="no")
    for i, row in enumerate(rows[:2]):
        ids = torch.tensor([*row.token_ids, *responses[i, : int(whole_lengths(batch)[i])].tolist()])
        log_p = model(input_ids=ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        kept = mask[i].bool()
        expected = log_p[len(row.token_ids) - 1 :]
        assert_same(found[i][kept], expected[kept[: len(expected)]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "level"), list(zip(ESTIMATORS, cycle(("token", "sequence")), strict=False))
)
def test_rewards_and_advantages_are_those_without_observations(estimator: str, level: str) -> None:
    given = run_of(
        f"algorithm.adv_estimator={estimator}",
        "algorithm.gamma=0.9",
        "algorithm.lam=0.7",
        "algorithm.use_kl_in_reward=true",
        f"algorithm.rollout_correction.rollout_is={level}",
        "algorithm.rollout_correction.rollout_is_batch_normalize=true",
        "actor_rollout_ref.actor.policy_loss.loss_mode=kl_cov",
        "actor_rollout_ref.actor.policy_loss.kl_cov_ratio=0.3",
        "+algorithm.gdpo_reward_keys=[score,form]",
    )
    batch = with_observations()
    plain = without_observations(batch)
    for one in (batch, plain):
        one["score_parts"] = torch.arange(2.0 * len(SCORES)).double().sin().reshape(-1, 2)
    found, expected = ([place_scores(b, SCORES, ALONE, RewardConfig()), b] for b in (batch, plain))
    assert found[0] == expected[0]
    figures = []
    for one in (batch, plain):
        given.kl = KlController(0.5, target=0.1, horizon=10)
        figures.append(compute_advantages(given, one) | {"coefficient": given.kl.coef})
    assert figures[0] == near(figures[1], TOKENS, dtype=torch.float32)
    mask = mask_of("m")
    for name in ("token_level_scores", "token_level_rewards", "advantages", "returns", "rollout_is_weights"):
        assert_same(squeezed(batch[name], mask), plain[name], TOKENS, torch.float32, name)
        assert bool((batch[name][batch["observations"].bool()] == 0).all()), f"{name} of an observation"
    assert torch.equal(squeezed(batch["chosen"], mask), plain["chosen"])


@pytest.mark.parametrize(("loss", "aggregation"), list(zip(POLICY_LOSSES, cycle(AGGREGATIONS), strict=False)))
def test_losses_and_their_figures_are_those_without_observations(loss: str, aggregation: str) -> None:
    batch = with_observations()
    mask = batch["response_mask"]
    generator = torch.Generator().manual_seed(5)
    advantages = torch.randn((6, WIDTH), generator=generator)
    weights = torch.rand((6, WIDTH), generator=generator) + 0.5
    chosen = torch.rand((6, WIDTH), generator=generator) < 0.3
    tensors = [batch["rollout_log_probs"], batch["old_log_probs"], advantages, mask]
    results = []
    for given, more in (
        (tensors, (weights, chosen)),
        ([squeezed(t, mask) for t in tensors], (squeezed(weights, mask), squeezed(chosen, mask))),
    ):
        found, stats = policy_loss(
            *given,
            count(given[3], ALONE.sum),
            loss=POLICY_LOSSES[loss],
            options=PolicyOptions(dro_beta=0.5),
            aggregation=aggregation,
            horizon=WIDTH,
            weights=more[0],
            chosen=more[1],
        )
        results.append({"loss": float(found)} | {name: float(value) for name, value in stats.items()})
    assert results[0] == near(results[1], TOKENS, 10.0, torch.float32)


def test_an_observation_has_no_gradient() -> None:
    batch = with_observations()
    mask = batch["response_mask"]
    log_probs = torch.zeros((6, WIDTH), requires_grad=True)
    values = torch.zeros((6, WIDTH), requires_grad=True)
    old = batch["old_log_probs"].nan_to_num()
    ones = torch.ones_like(mask)
    totals = count(mask, ALONE.sum)
    loss, _ = policy_loss(
        log_probs, old, ones, mask, totals, loss=POLICY_LOSSES["vanilla"], options=PolicyOptions()
    )
    of_critic, _ = value_loss(values, batch["values"], ones, mask, totals, clip_range=0.5)
    (loss + of_critic).backward()
    for tensor in (log_probs, values):
        assert tensor.grad is not None
        assert bool((tensor.grad[mask == 0] == 0).all())
        assert bool((tensor.grad != 0).any(dim=1).all()), "of every response some token learns"


def test_the_figures_of_a_batch_count_the_policy_s_tokens() -> None:
    found = []
    batch = with_observations()
    for one in (batch, without_observations(batch)):
        place_scores(one, SCORES, ALONE, RewardConfig())
        compute_advantages(run_of(), one)
        one["entropys"] = one["values"].abs()
        metrics = batch_metrics(one, ALONE)
        total = metrics.pop("perf/total_num_tokens"), metrics.pop("response_length/clip_ratio")
        found.append((metrics, total))
    assert found[0][0] == near(found[1][0], TOKENS, dtype=torch.float32)
    assert found[0][1] == (41.0, pytest.approx(1 / 6)), "an observation takes room and time all the same"
    assert found[1][1] == (32.0, 0.0)


def test_parity_compares_no_observation() -> None:
    batch = with_observations()
    batch["rollout_log_probs"] = batch["old_log_probs"]
    given = run_of()
    metrics = check_parity(given, batch, 1)
    assert metrics == {"training/rollout_actor_kl": 0.0, "training/rollout_actor_diff_max": 0.0}


def test_an_episode_says_itself_whether_it_was_cut_off() -> None:
    given = run_of("algorithm.mask_truncated_completions=true", "algorithm.adv_estimator=grpo")
    batch = with_observations()
    place_scores(batch, SCORES, ALONE, RewardConfig())
    batch["truncated"] = torch.tensor([False, True, False, False, False, False])
    metrics = compute_advantages(given, batch)
    assert metrics["response/masked_truncated"] == 1.0
    assert batch["response_mask"].sum(dim=1).tolist() == [4.0, 0.0, 3.0, 6.0, 0.0, 0.0]


def test_an_episode_without_a_token_of_the_policy_s_teaches_nothing() -> None:
    batch = with_observations()
    batch["response_mask"][1] = 0
    place_scores(batch, SCORES, ALONE, RewardConfig())
    assert batch["scored"].tolist() == [True, False, True, True, False, True]
    assert not bool(batch["token_level_scores"][1].any())


def turns_of(rewards: Sequence[Sequence[float]]) -> Batch:
    """Episodes of one turn per reward, two tokens a turn and an observation after it."""
    batch = with_observations()
    kinds = torch.tensor([1.0, 1.0, 0.0] * 3)
    number = len(rewards)
    mask = torch.zeros((number, 9))
    batch = Batch({}, [batch.rows[0]] * number)
    batch["turns"] = torch.zeros((number, 9), dtype=torch.int64)
    batch["turn_rewards"] = torch.zeros((number, 9))
    for i, of_row in enumerate(rewards):
        mask[i, : 3 * len(of_row)] = kinds[: 3 * len(of_row)]
        for k, reward in enumerate(of_row):
            batch["turns"][i, 3 * k : 3 * k + 2] = k + 1
            batch["turn_rewards"][i, 3 * k + 1] = reward
    batch["response_mask"] = mask
    return batch


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("trajectory", [0, 0, 0, 0, 1.0, 0, 0, 0, 0]),
        ("turn", [0, 0.5, 0, 0, 0.25, 0, 0, 0, 0]),
        ("mixed", [0, 0.5 * 2, 0, 0, 0.25 * 2 + 1.0 * 3, 0, 0, 0, 0]),
    ],
)
def test_rewards_stand_on_the_last_token_of_what_they_are_for(mode: str, expected: list[float]) -> None:
    batch = turns_of([[0.5, 0.25], [0.0]])
    config = RewardConfig(mode=mode, turn_weight=2.0, trajectory_weight=3.0)
    metrics = place_scores(batch, [Score(1.0), Score(0.0)], ALONE, config)
    assert batch["token_level_scores"][0].tolist() == expected
    assert batch["trajectory_scores"].sum().item() == {"trajectory": 1.0, "turn": 0.0, "mixed": 3.0}[mode]
    if mode != "trajectory":
        assert metrics["reward/turns/mean"] == pytest.approx(0.25)


@pytest.mark.parametrize("on_error", ["mask", "value", "raise"])
def test_a_turn_whose_reward_failed_follows_on_error(on_error: str) -> None:
    batch = turns_of([[0.5, float("nan")], [0.25, 0.0]])
    config = RewardConfig(mode="mixed", on_error=on_error, error_value=-1.0)
    if on_error == "raise":
        with pytest.raises(ScoringError, match=r"^1 turn "):
            place_scores(batch, [Score(1.0)] * 2, ALONE, config)
        return
    metrics = place_scores(batch, [Score(1.0)] * 2, ALONE, config)
    assert metrics["reward/turns_failed"] == 1.0
    if on_error == "mask":
        assert batch["response_mask"][0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0], "the turn is left out"
        assert batch["token_level_scores"][0].tolist() == [0, 0.5 + 1.0, *[0] * 7], "the episode stays"
    else:
        assert batch["token_level_scores"][0].tolist() == [0, 0.5, 0, 0, -1.0 + 1.0, 0, 0, 0, 0]
    assert batch["token_level_scores"][1].tolist() == [0, 0.25, 0, 0, 1.0, 0, 0, 0, 0]


def test_failed_turns_of_other_processes_are_known() -> None:
    batch = turns_of([[0.5]])
    world: Any = SimpleNamespace(sum=lambda t: t + 1, gather=lambda item: [item])
    with pytest.raises(ScoringError, match="1 turn could"):
        place_scores(batch, [Score(1.0)], world, RewardConfig(mode="turn", on_error="raise"))
