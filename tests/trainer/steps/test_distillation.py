"""On-policy distillation: a teacher's log-probabilities in the advantages, or in the loss."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import DistillationLossConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.run import build
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.steps.advantages import compute_advantages
from rewardkit.trainer.workers.distillation import teacher_distance
from tests.closeness import LOG_PROBS
from tests.trainer.steps.test_advantages import run_of, scored

LOSS = "distillation.distillation_loss"
TEACHER = "distillation.teacher_models.teacher_model.model_path"
ON = ("distillation.enabled=true", f"{TEACHER}=x")
REWARD = (*ON, f"{LOSS}.loss_mode=k1", f"{LOSS}.use_policy_gradient=true")


def test_a_token_answers_for_its_own_distance_beside_the_task_or_alone() -> None:
    """tinker-cookbook: l_p - l_q = [0.5, -0.25, 1] takes [0.5, -0.25, 1] off (kl_discount_factor 0)."""
    plain = scored()
    compute_advantages(run_of(), plain)
    for task, coef, more in ((1.0, 0.5, (f"{LOSS}.distillation_loss_coef=0.5",)),
                             (0.0, 1.0, (f"{LOSS}.use_task_rewards=false",))):  # fmt: skip
        batch = scored()
        apart = torch.tensor([0.5, -0.25, 1.0, 0.0, 2.0, -3.0]).expand(4, 6).clone()
        batch["teacher_log_prob"] = torch.where(
            batch["response_mask"].bool(), batch["old_log_probs"] - apart, torch.nan
        )
        metrics = compute_advantages(run_of(*REWARD, *more), batch)
        mask = batch["response_mask"]
        torch.testing.assert_close(batch["advantages"], (task * plain["advantages"] - coef * apart) * mask)
        assert metrics["distillation/kl"] == pytest.approx(float((apart * mask).sum() / mask.sum()))


def test_in_expectation_the_reward_s_gradient_is_the_reverse_kl_s() -> None:
    """By enumeration over four tokens; the gradient of KL(p || q) with respect to the logits."""
    logits = torch.tensor([1.0, 0.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    ours = logits.log_softmax(0)
    theirs = torch.tensor([2.0, 0.0, -2.0, 0.0], dtype=torch.float64).log_softmax(0)
    distance = teacher_distance(DistillationLossConfig(loss_mode="k1"), (ours - theirs).detach())
    (ours.exp().detach() * distance * ours).sum().backward()  # -A log p
    expected = torch.tensor([-0.3478627, 0.0463999, 0.0812173, 0.2202455], dtype=torch.float64)
    torch.testing.assert_close(logits.grad, expected, rtol=0, atol=1e-7)


def test_as_a_loss_values_and_gradients_are_verl_s() -> None:
    found = {}
    for mode in ("k2", "k3", "abs"):
        ours = torch.tensor([-0.7465673, -1.403002], dtype=torch.float64, requires_grad=True)
        theirs = torch.tensor([-0.253856, -0.7436684], dtype=torch.float64)
        distance = teacher_distance(DistillationLossConfig(loss_mode=mode), ours - theirs)
        distance.sum().backward()
        found[mode] = distance.detach(), ours.grad
    for mode, value, gradient in (
        ("k2", [0.1213822, 0.2173604], [-0.4927112, -0.6593336]),
        ("k3", [0.1440366, 0.2741698], [-0.6367478, -0.9335034]),
        ("abs", [0.4927113, 0.6593336], [-1.0, -1.0]),
    ):
        for ours, expected in zip(found[mode], (value, gradient), strict=True):
            wanted = torch.tensor(expected, dtype=torch.float64)
            torch.testing.assert_close(ours, wanted, rtol=0, atol=2e-7, msg=mode)
    clamped = teacher_distance(DistillationLossConfig("k1", loss_max_clamp=0.5), torch.tensor([-3.0, 0.1]))
    assert clamped.tolist() == pytest.approx([-0.5, 0.1])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["distillation.enabled=true"], f"requires {TEACHER}"),
        ([*ON, f"{LOSS}.loss_mode=k1"], "a gradient of 0"),
        ([*ON, f"{LOSS}.loss_mode=jsd", f"{LOSS}.use_policy_gradient=true"], "a gradient of 0 on average"),
        ([*ON, f"{LOSS}.loss_mode=forward_kl_topq"], "forward_kl_topk"),
        ([*ON, "distillation.teacher_models.other.model_path=y"], "only one teacher"),
    ],
)
def test_what_a_teacher_cannot_do_here_is_refused(words: list[str], line: str) -> None:
    given = ["data.train_files=x", "actor_rollout_ref.model.path=y", "trainer.val_before_train=false"]
    with pytest.raises(ConfigError) as error:
        run_checks(SETTINGS, load_config("tiny-cpu", [*given, "trainer.test_freq=-1", *words]))
    assert line in str(error.value) and "\n" not in str(error.value)


OF_VERL = f"""
algorithm.adv_estimator=grpo data.train_files=x data.val_files=y data.train_batch_size=128
actor_rollout_ref.model.path=student actor_rollout_ref.actor.ppo_mini_batch_size=128
actor_rollout_ref.rollout.name=hf actor_rollout_ref.rollout.n=1 distillation.enabled=True
distillation.n_gpus_per_node=4 distillation.nnodes=1 distillation.teacher_key=data_source {TEACHER}=teacher
distillation.teacher_models.teacher_model.inference.tensor_model_parallel_size=2
distillation.teacher_models.teacher_model.inference.name=vllm
distillation.teacher_models.teacher_model.inference.max_model_len=3073
{LOSS}.topk=64 {LOSS}.use_task_rewards=False {LOSS}.loss_max_clamp=10.0 {LOSS}.log_prob_min_clamp=-10.0
""".split()
"""Settings of verl's run_qwen3_8b_fsdp.sh (examples/on_policy_distillation_trainer, August 2026)."""


@pytest.mark.parametrize(
    ("mode", "as_reward"), [("k1", True), ("forward_kl_topk", False), ("forward_kl_topk_tail", False)]
)
def test_verl_s_examples_are_taken_as_they_are(mode: str, as_reward: bool) -> None:
    words = [*OF_VERL, f"{LOSS}.loss_mode={mode}", f"{LOSS}.use_policy_gradient={as_reward}"]
    config = load_config(None, words)
    run_checks(SETTINGS, config)
    given = config.distillation.distillation_loss
    assert (given.loss_mode, given.topk, given.log_prob_min_clamp) == (mode, 64, -10.0)
    assert config.distillation.rewards_tokens is as_reward


def words(parquet: Path, model: Path, out: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        "data.train_batch_size=4",
        "data.max_response_length=6",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.rollout.n=2",
        "algorithm.adv_estimator=grpo",
        "algorithm.use_kl_in_reward=false",
        "trainer.total_training_steps=2",
        "trainer.critic_warmup=0",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]


def test_the_vocabulary_must_be_the_policy_s(parquet: Path, model_folder: Path, tmp_path: Path) -> None:
    other = make_tokenizer(["another text"], vocab_size=300)
    save(make_model(other, 0), other, tmp_path / "other")
    given = (*REWARD, f"{TEACHER}={tmp_path / 'other'}")
    with pytest.raises(RewardkitError, match=r"'.*other' .* \d+ tokens"):
        build.rehearse(load_config("tiny-cpu", words(parquet, model_folder, tmp_path / "out", *given)))


@pytest.mark.slow
def test_a_teacher_that_is_the_policy_teaches_nothing(
    parquet: Path, model_folder: Path, world: World, tmp_path: Path
) -> None:
    for name, form, key in (
        ("reward", REWARD, "distillation/kl"),
        ("loss", (*ON, f"{LOSS}.loss_mode=k2"), "actor/distillation_loss"),
        ("top", (*ON, f"{LOSS}.loss_mode=forward_kl_topk_tail", f"{LOSS}.topk=8"), "actor/distillation_loss"),
        ("whole", (*ON, f"{LOSS}.loss_mode=jsd"), "actor/distillation_loss"),
    ):
        alone = f"{LOSS}.use_task_rewards=false"
        given = words(
            parquet, model_folder, tmp_path / name / "run", *form, alone, f"{TEACHER}={model_folder}"
        )
        with open_run(load_config("tiny-cpu", given), world) as run:
            train(run)
        first, second = (
            json.loads(line) for line in (tmp_path / name / "run/metrics.jsonl").read_text().splitlines()
        )
        assert abs(first[key]) <= LOG_PROBS
        assert first["timing_s/teacher"] > 0
        assert first["actor/grad_norm"] < 1e-3
        assert abs(second[key]) <= LOG_PROBS
