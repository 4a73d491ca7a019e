"""Rewards to advantages as the config asks, and the responses that some algorithms need besides."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ConfigError, ScoringError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.batch import Batch, PromptRow
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config, loss_mode
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.run import build
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.preflight import check
from rewardkit.trainer.steps import dynamic
from rewardkit.trainer.steps.advantages import compute_advantages
from rewardkit.trainer.steps.dynamic import deal, differing_groups
from rewardkit.types import Sample, Score
from tests.closeness import LOG_PROBS

ALONE = World(0, 1, torch.device("cpu"))


TWO = "actor_rollout_ref.rollout.n=2"


def run_of(*overrides: str, world: Any = ALONE) -> Any:
    required = ["data.train_files=x.parquet", "actor_rollout_ref.model.path=x", "data.max_response_length=6"]
    config = load_config(None, [*required, "algorithm.adv_estimator=rloo", *overrides])
    return SimpleNamespace(
        config=config,
        world=world,
        kl=KlController(0.5),
        eos_ids=[7],
        scorers_without_verdict=set(),
        failure_shown="",
    )


def scored(lengths: Sequence[int] = (6, 5, 3, 1)) -> Batch:
    """Four responses to two prompts, the last of which was not scored."""
    mask = (torch.arange(6) < torch.tensor(lengths)[:, None]).float()
    row = PromptRow("gsm8k", [], "3", {}, [1])
    batch = Batch({"attention_mask": torch.cat([torch.ones(4, 1), mask], dim=1)}, [row] * 4)
    scored = torch.tensor([True, True, True, False])
    batch["responses"] = mask.long()
    batch["response_mask"] = mask * scored[:, None]
    batch["scored"] = scored
    batch["groups"] = torch.tensor([0, 0, 1, 1])
    batch["seeds"] = torch.arange(4)
    batch["token_level_scores"] = torch.zeros(4, 6)
    batch["token_level_scores"][torch.arange(3), torch.tensor(lengths[:3]) - 1] = torch.tensor(
        [1.0, 0.0, 1.0]
    )
    generator = torch.Generator().manual_seed(0)
    for name in ("old_log_probs", "rollout_log_probs", "ref_log_prob"):
        batch[name] = torch.randn((4, 6), generator=generator)
    return batch


def test_overlong_responses_lose_reward_linearly_on_their_last_token() -> None:
    buffer = "reward_model.overlong_buffer"
    given = run_of(
        f"{buffer}.enable=true", f"{buffer}.len=2", f"{buffer}.penalty_factor=0.5", f"{buffer}.log=true"
    )
    batch = scored()
    metrics = compute_advantages(given, batch)
    expected = torch.zeros(4, 6)
    expected[0, 5], expected[1, 4], expected[2, 2] = 1.0 - 0.5, -0.25, 1.0
    torch.testing.assert_close(batch["token_level_rewards"], expected)
    assert metrics == {
        "reward/overlong_reward": pytest.approx(-0.25),
        "reward/overlong": pytest.approx(2 / 3),
    }


def test_a_response_of_full_length_counts_for_the_others_but_not_in_the_loss() -> None:
    plain, masked = scored(), scored()
    compute_advantages(run_of(), plain)
    metrics = compute_advantages(run_of("algorithm.mask_truncated_completions=true"), masked)
    torch.testing.assert_close(masked["advantages"], plain["advantages"])
    assert masked["response_mask"].sum(dim=1).tolist() == [0.0, 5.0, 3.0, 0.0]
    assert metrics == {"response/masked_truncated": 1.0}


def test_a_response_whose_last_allowed_token_ends_it_was_not_cut_off() -> None:
    batch = scored()
    batch["responses"][0, -1] = 7
    metrics = compute_advantages(run_of("algorithm.mask_truncated_completions=true"), batch)
    assert metrics["response/masked_truncated"] == 0.0
    assert batch["response_mask"][0].sum() == 6


def test_the_kl_goes_into_the_reward_only_where_that_is_asked_for() -> None:
    for asked in ("true", "false"):
        batch = scored()
        metrics = compute_advantages(run_of(f"algorithm.use_kl_in_reward={asked}"), batch)
        kept = batch["response_mask"].bool()
        kl = torch.where(kept, batch["old_log_probs"] - batch["ref_log_prob"], 0.0)
        expected = batch["token_level_scores"] - (0.5 * kl if asked == "true" else 0.0)
        torch.testing.assert_close(batch["token_level_rewards"], expected)
        assert ("actor/reward_kl_penalty" in metrics) == (asked == "true")


@pytest.mark.usefixtures("float64")
def test_importance_weights_are_constants_capped_and_measured() -> None:
    given = run_of("algorithm.rollout_correction.rollout_is=token")
    batch = scored()
    batch["old_log_probs"].requires_grad_()
    metrics = compute_advantages(given, batch)
    kept = batch["response_mask"].bool()
    ratio = (batch["old_log_probs"] - batch["rollout_log_probs"]).exp().detach()
    expected = torch.where(kept, ratio.clamp(max=2.0), 0.0)
    torch.testing.assert_close(batch["rollout_is_weights"], expected)
    assert not batch["rollout_is_weights"].requires_grad
    assert metrics["rollout_corr/rollout_is_max"] == pytest.approx(float(expected.max()))
    weights = expected[kept]
    share = float(weights.mean() ** 2 / weights.square().mean())
    assert metrics["rollout_corr/rollout_is_eff_sample_size"] == pytest.approx(share)


@pytest.mark.usefixtures("float64")
def test_what_is_out_of_bounds_counts_for_the_advantages_but_not_in_the_loss() -> None:
    correction = "algorithm.rollout_correction."
    plain, bounded = scored(), scored()
    compute_advantages(run_of(), plain)
    words = [f"{correction}rollout_rs=token_k1,seq_max_k2", f"{correction}rollout_rs_threshold=0.5_2,3"]
    metrics = compute_advantages(run_of(*words, f"{correction}bypass_mode=true"), bounded)
    ratio = (plain["rollout_log_probs"] - plain["old_log_probs"]).exp()
    kept = (ratio >= 0.5) & (ratio <= 2) & plain["response_mask"].bool()
    widest = torch.where(plain["response_mask"].bool(), 0.5 * ratio.log().square(), 0.0).amax(1, keepdim=True)
    assert torch.equal(bounded["response_mask"], (kept & (widest <= 3)).float())
    torch.testing.assert_close(bounded["advantages"], plain["advantages"])
    before, after = (float(b["response_mask"].sum()) for b in (plain, bounded))
    assert 0 < after < before
    assert metrics["rollout_corr/rollout_rs_masked_fraction"] == pytest.approx(1 - after / before)
    assert metrics["rollout_corr/rollout_rs_seq_max_k2_max"] == pytest.approx(float(widest.max()))


@pytest.mark.parametrize("mode", ["clip_cov", "kl_cov"])
def test_covariance_losses_find_their_tokens_in_the_batch(mode: str) -> None:
    options = "actor_rollout_ref.actor.policy_loss"
    batch = scored()
    given = run_of(
        f"{options}.loss_mode={mode}",
        f"{options}.{mode}_ratio=0.2",
        f"{options}.clip_cov_lb=-5",
    )
    compute_advantages(given, batch)
    kept = batch["response_mask"].bool()
    assert int(batch["chosen"].sum()) == int(0.2 * int(kept.sum()))
    assert not bool((batch["chosen"] & ~kept).any())
    assert batch["chosen"].shape == batch.select(slice(0, 4))["chosen"].shape


@pytest.mark.usefixtures("float64")
def test_weights_can_be_made_1_on_average_over_tokens_or_sequences() -> None:
    for level in ("token", "sequence"):
        words = [
            f"algorithm.rollout_correction.{w}"
            for w in (f"rollout_is={level}", "rollout_is_batch_normalize=true")
        ]
        batch = scored()
        metrics = compute_advantages(run_of(*words), batch)
        kept = batch["response_mask"].bool()
        weights = batch["rollout_is_weights"]
        units = (
            weights[kept] if level == "token" else (weights.sum(1) / kept.sum(1).clamp(min=1))[kept.any(1)]
        )
        assert float(units.mean()) == pytest.approx(1.0)
        assert metrics["rollout_corr/rollout_is_batch_norm_factor"] != pytest.approx(1.0)


@pytest.mark.parametrize("loss_type", ["ppo_clip", "reinforce"])
def test_bypass_mode_starts_from_the_engine_s_log_probs(loss_type: str) -> None:
    correction = "algorithm.rollout_correction."
    words = [
        f"{correction}bypass_mode=true",
        f"{correction}loss_type={loss_type}",
        f"{correction}rollout_is=token",
    ]
    batch = scored()
    engine = batch["rollout_log_probs"].clone()
    given = run_of(*words)
    compute_advantages(given, batch)
    assert torch.equal(batch["old_log_probs"], engine)
    assert ("rollout_is_weights" in batch.tensors) == (loss_type == "reinforce"), "a ratio corrects by itself"
    assert loss_mode(given.config) == ("gpg" if loss_type == "reinforce" else "vanilla")


def test_a_response_left_alone_in_its_group_is_left_out_and_counted() -> None:
    batch = scored()
    metrics = compute_advantages(run_of("actor_rollout_ref.rollout.n=2"), batch)
    assert metrics["training/left_alone_in_group"] == 1.0
    assert not bool(batch["response_mask"][2].any()), "its only companion could not be scored"
    assert not bool(batch["advantages"][2].any())
    assert bool(batch["response_mask"][:2].any(dim=1).all())
    alone_by_choice = scored()
    compute_advantages(run_of(), alone_by_choice)
    assert float(alone_by_choice["advantages"][2].max()) == 1.0, "n=1: the score is the advantage, as in verl"


def test_a_group_differs_when_two_scored_responses_do() -> None:
    groups = torch.tensor([4, 4, 4, 2, 2, 2, 9, 9])
    outcomes = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5]
    scored = torch.tensor([1, 1, 1, 1, 1, 0, 1, 1]).bool()
    assert differing_groups(groups, outcomes, scored) == [4]


def test_groups_are_dealt_like_prompts_whatever_processes_drew_them() -> None:
    row = PromptRow("gsm8k", [], "3", {}, [1])

    def drawn(groups: list[int]) -> Batch:
        numbers = torch.tensor([g for g in groups for _ in range(2)])
        return Batch({"groups": numbers, "responses": numbers[:, None] * 10}, [row] * len(numbers))

    shares, order = [drawn([0, 2, 4, 6]), drawn([1, 3, 5, 7])], [0, 2, 4, 7]
    items: list[Any] = [None, None]
    barrier, dealt = threading.Barrier(2, timeout=120), {}

    def work(rank: int) -> None:
        def gather(item: Any) -> list[Any]:
            items[rank] = item
            barrier.wait()
            return list(items)

        world = SimpleNamespace(rank=rank, size=2, device=torch.device("cpu"), gather=gather)
        dealt[rank] = deal(shares[rank], order, world)  # type: ignore[arg-type]

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dealt[0]["groups"].tolist() == [0, 0, 4, 4]
    assert dealt[1]["groups"].tolist() == [2, 2, 7, 7]
    assert dealt[1]["responses"].squeeze(1).tolist() == [20, 20, 70, 70]
    assert len(dealt[0].rows) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["algorithm.filter_groups.enable=true"], "filter_groups compares the responses"),
        (["algorithm.adv_estimator=gea"], "did you mean gae?"),
        (
            ["algorithm.rollout_correction.rollout_rs=token_k1"],
            "rollout_rs_threshold must have one threshold",
        ),
        (
            ["algorithm.rollout_correction.rollout_is_threshold=5_0.5"],
            "rollout_is_threshold: the lower bound 5 ",
        ),
        (
            ["algorithm.rollout_correction.rollout_is_threshold=much"],
            "rollout_is_threshold: the threshold 'much' is not a number",
        ),
        (["reward_model.overlong_buffer.enable=true"], "overlong_buffer.len must be from 1 to"),
        (["algorithm.turn_advantages=per_turn"], "adv_estimator=gae; use grpo, rloo, opo or"),
        (
            ["algorithm.turn_advantages=per_turn", "algorithm.adv_estimator=rloo", TWO],
            "set reward.mode=turn or mixed",
        ),
        *(
            (
                [f"algorithm.adv_estimator={name}", "algorithm.gdpo_reward_keys=[score]"][: 1 + one.parts],
                message,
            )
            for name, one in ESTIMATORS.items()
            if one.groups
            for message in (f"adv_estimator={name} compares", "actor_rollout_ref.rollout.n is 1")
        ),
    ],
)
def test_an_algorithm_that_cannot_run_is_refused_in_one_line(overrides: list[str], message: str) -> None:
    given = ["data.train_files=x.parquet", "actor_rollout_ref.model.path=x", *overrides]
    with pytest.raises(ConfigError) as raised:
        check(load_config(None, given))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


class Parity:
    """Rewards a response for an even number of characters; some prompts' responses are all equal."""

    def check(self, data_sources: Any) -> None: ...

    def close(self) -> None: ...

    def scores_by_group(self, data_source: str) -> bool:
        return False

    def submit(self, samples: Sequence[Sample]) -> Parity:
        self.scores = [self.score_of(sample) for sample in samples]
        return copy(self)

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        return self.scores

    def score_of(self, sample: Sample) -> Score:
        easy = "2 more" in str(sample.prompt)
        value = 1.0 if easy else float(len(sample.response) % 2)
        return Score(value, correct=value == 1.0)


def run(
    world: World, parquet: Path, model: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *more: str
) -> list[dict[str, float]]:
    monkeypatch.setattr(build, "open_rewards", lambda *_, **__: Parity())
    overrides = [
        f"data.train_files={parquet}",
        "data.train_batch_size=4",
        "data.max_response_length=6",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.rollout.n=2",
        "trainer.total_training_steps=2",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]
    config: Config = load_config("tiny-cpu", overrides)
    with open_run(config, world) as opened:
        train(opened)
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_dynamic_sampling_fills_the_batch_with_groups_that_differ(
    world: World,
    parquet: Path,
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dynamic, "NOTED_BATCHES", 1)
    asked = ("algorithm.adv_estimator=grpo", "algorithm.filter_groups.enable=true")
    log = run(world, parquet, model_folder, tmp_path / "a", monkeypatch, *asked)
    for entry in log:
        assert entry["critic/score/mean"] == 0.5, "one of each pair"
        assert entry["training/filter_groups/num_gen_batches"] > 1
        assert entry["training/filter_groups/dropped_groups"] > 0
        assert entry["actor/grad_norm"] > 0
    assert "critic/vf_loss" not in log[0], "no critic is built"
    assert "step 1 is not full yet" in capsys.readouterr().err
    with pytest.raises(ScoringError, match=r"expected 4 prompts .* acc, found"):
        limit = ("algorithm.filter_groups.metric=acc", "algorithm.filter_groups.max_num_gen_batches=1")
        run(world, parquet, model_folder, tmp_path / "b", monkeypatch, *asked, *limit)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "metrics"),
    [
        (["algorithm.adv_estimator=remax"], ["reward_baseline/mean", "timing_s/gen_max"]),
        (
            [
                "algorithm.adv_estimator=grpo",
                "algorithm.use_kl_in_reward=false",
                "actor_rollout_ref.actor.use_kl_loss=true",
                "actor_rollout_ref.actor.policy_loss.loss_mode=kl_cov",
                "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm",
                "algorithm.rollout_correction.rollout_is=sequence",
            ],
            ["actor/kl_loss", "rollout_corr/rollout_is_mean"],
        ),
        (
            [
                "algorithm.adv_estimator=optimal_token_baseline",
                "algorithm.rollout_correction.rollout_rs=seq_mean_k3",
                "algorithm.rollout_correction.rollout_rs_threshold=1.0",
            ],
            ["actor/pg_loss", "rollout_corr/rollout_rs_seq_mean_k3_mean"],
        ),
    ],
)
def test_algorithms_without_a_critic_run_and_say_what_they_did(
    world: World,
    parquet: Path,
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[str],
    metrics: list[str],
) -> None:
    log = run(world, parquet, model_folder, tmp_path, monkeypatch, *asked)
    assert len(log) == 2
    for entry in log:
        assert set(metrics) <= set(entry)
        assert not {"critic/vf_loss", "critic/values/mean"} & set(entry)
        assert entry["actor/pg_clipfrac"] == 0.0
    assert abs(log[0]["actor/trained_rows/approx_kl"]) < LOG_PROBS


@pytest.mark.parametrize("estimator", ["reinforce_plus_plus", "rloo", "opo"])
def test_a_rejected_token_leaves_the_loss_and_no_advantage_changes(estimator: str) -> None:
    """Its reward stands: it was earned by the tokens before it too. (verl masks first, and loses it.)"""
    correction = "algorithm.rollout_correction"
    asked = [f"{correction}.rollout_rs=token_k1", f"{correction}.rollout_rs_threshold=2.0"]
    plain, rejecting = scored(), scored()
    for batch in plain, rejecting:
        batch["rollout_log_probs"] = batch["old_log_probs"].clone()
        batch["rollout_log_probs"][0, 5] += 1.0  # the last token of the first response, which has its reward
    compute_advantages(run_of(f"algorithm.adv_estimator={estimator}"), plain)
    compute_advantages(run_of(f"algorithm.adv_estimator={estimator}", *asked), rejecting)
    assert plain["advantages"][0, 0] != 0
    torch.testing.assert_close(rejecting["advantages"], plain["advantages"])
    gone = plain["response_mask"] - rejecting["response_mask"]
    assert gone.nonzero().tolist() == [[0, 5]]
