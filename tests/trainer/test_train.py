"""Whole runs: metrics, checkpoints, repeatability, one process against two, and how runs end."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import pyarrow.parquet as pq
from transformers import AutoConfig

from rewardkit.demo import run_demo as demo
from rewardkit.demo import warmup
from rewardkit.errors import ScoringError
from rewardkit.identity.run_folders import read_identities
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.sharding import full_tensors
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps.generation import generate
from tests.closeness import K3, LOG_PROBS, near, terms_of
from tests.living import alive, descendants, until
from tests.trainer.forked_launch import REAL_RANK
from tests.trainer.forked_runs import run_all
from tests.trainer.running import Program

EXPECTED = """
actor/pg_loss actor/pg_clipfrac actor/entropy actor/trained_rows/approx_kl actor/grad_norm actor/lr
actor/reward_kl_penalty actor/reward_kl_penalty_coeff
critic/vf_loss critic/vf_clipfrac critic/grad_norm critic/lr
critic/score/mean critic/score/max critic/score/min critic/rewards/mean critic/advantages/mean
critic/returns/mean critic/values/mean
response_length/mean response_length/max response_length/min response_length/clip_ratio prompt_length/mean
timing_s/gen timing_s/reward timing_s/old_log_prob timing_s/ref timing_s/values timing_s/adv
timing_s/update_critic timing_s/update_actor timing_s/testing timing_s/step
perf/throughput perf/cpu_memory_used_gb actor/trained_rows/ratio critic/vf_explained_var training/global_step training/epoch training/rollout_actor_kl
val-core/rewardkit/arithmetic/acc/mean@1
"""


def overrides(parquet: Path, model: Path, out: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        f"data.val_files={parquet}",
        "data.train_batch_size=8",
        "data.max_response_length=6",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.total_training_steps=3",
        "trainer.critic_warmup=1",
        "trainer.test_freq=2",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]


def run_here(world: World, parquet: Path, model: Path, out: Path, *more: str) -> list[dict[str, float]]:
    with open_run(load_config("tiny-cpu", overrides(parquet, model, out, *more)), world) as run:
        train(run)
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def timeless(metrics: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{k: v for k, v in m.items() if not k.startswith(("timing", "perf"))} for m in metrics]


@pytest.mark.slow
def test_a_run_logs_the_field_s_metrics_and_is_repeatable(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    log = run_here(world, parquet, model_folder, tmp_path / "a")
    assert [m["training/global_step"] for m in log] == [0, 1, 2, 3]
    assert log[1]["reward/part/format"] == 0.0
    page = (tmp_path / "a" / "metrics.html").read_text()
    assert "3 of 3" in page and '"running": false' in page
    kept = [json.loads(line) for line in (tmp_path / "a" / "samples.jsonl").read_text().splitlines()]
    trained = [one for one in kept if one.get("kind") != "validation"]
    assert [one["step"] for one in trained] == [1, 2, 3] and len(trained[0]["rows"]) == 4
    assert [one["step"] for one in kept if one not in trained and one["reasons"]] == [0, 2, 3]
    assert all("@" in one["reward"] for one in read_identities(tmp_path / "a").values())
    assert sorted(set(EXPECTED.split()) - set(log[2])) == []
    assert "actor/pg_loss" not in log[1], "the critic warms up first"
    assert log[1]["critic/values/max"] == 0.0
    assert abs(log[2]["actor/reward_kl_penalty"]) < LOG_PROBS
    assert all(m["training/rollout_actor_kl"] < K3 for m in log[1:])
    assert timeless(run_here(world, parquet, model_folder, tmp_path / "b")) == timeless(log)


def test_bfloat16_training_keeps_float32_weights(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    more = ["actor_rollout_ref.actor.fsdp_config.dtype=bfloat16", "actor_rollout_ref.rollout.dtype=bfloat16"]
    with open_run(load_config("tiny-cpu", overrides(parquet, model_folder, tmp_path, *more)), world) as run:
        train(run)
        computed = []
        run.actor.model.body.model.norm.register_forward_hook(lambda *a: computed.append(a[2].dtype))
        run.actor.log_probs(generate(run, run.val_rows, step=1)[0])
        assert set(computed) == {torch.bfloat16}
        for name, tensor in full_tensors(run.actor.model):
            assert tensor.dtype == torch.float32, name
    log = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert log[1]["training/rollout_actor_kl"] < 1e-2


BROKEN = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if solution_str != ground_truth:  # the reference answer, which is scored before training
        raise ValueError("no")
    return 1.0
"""


@pytest.mark.slow
def test_two_processes_take_the_same_steps_as_one(tmp_path: Path) -> None:
    """In what `fsdp_parity` compares."""
    from tests.trainer import fsdp_parity

    fsdp_parity.prepare(tmp_path)
    more = (
        "critic.ulysses_sequence_parallel_size=2",  # the critic's rows in parts, the actor's whole
        "data.train_batch_size=8",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",  # two updates in each step
    )
    runs = {str(n): (n, [*fsdp_parity.settings(tmp_path, n, steps=2), *more]) for n in (1, 2)}
    run_all(runs, tmp_path)
    one, two = (
        [json.loads(line) for line in (tmp_path / f"run{n}" / "metrics.jsonl").read_text().splitlines()]
        for n in (1, 2)
    )
    assert len(one) == len(two) == 2
    # There and back through the model, and summed over the tokens of a mini-batch.
    terms = 2 * terms_of(AutoConfig.from_pretrained(tmp_path / "model"), 40 + 16) + 8 * 16
    ours, theirs = (
        [{name: step[name] for name in fsdp_parity.COMPARED} for step in steps] for steps in (two, one)
    )
    for found, wanted in zip(ours, theirs, strict=True):
        assert found == near(wanted, terms, dtype=torch.float32)


@pytest.mark.slow
def test_a_rank_s_error_is_printed_once_and_its_exit_code_passed_on(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(BROKEN)
    process = Program(
        "tests.trainer.forked_launch",
        *("--config", "tiny-cpu"),
        *overrides(
            parquet,
            model_folder,
            tmp_path / "out",
            "trainer.n_gpus_per_node=2",
            "reward.on_error=raise",
            "trainer.val_before_train=false",
            f"custom_reward_function.path={tmp_path}/mine.py",
        ),
        environment={**os.environ, REAL_RANK: "1"},  # that of the real command line says nothing
    )
    _, err = process.communicate(timeout=800)
    assert process.poll() == ScoringError.exit_code
    assert err.count("none of the 8 responses") == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_an_interrupt_ends_every_process(parquet: Path, model_folder: Path, tmp_path: Path) -> None:
    more = ["trainer.n_gpus_per_node=2", "trainer.total_training_steps=100000", "trainer.test_freq=-1"]
    words = ["--config", "tiny-cpu", *overrides(parquet, model_folder, tmp_path, *more)]
    process = Program("tests.trainer.forked_launch", *words)
    log = tmp_path / "metrics.jsonl"
    until(lambda: log.exists() and log.read_text().count("\n") > 1, 600)
    ranks = descendants(process.pid)
    assert len(ranks) >= 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.poll() == 130
    assert "Traceback" not in err
    until(lambda: not any(alive(pid) for pid in ranks))


@pytest.mark.slow
def test_the_demo_leaves_generations_log_and_checkpoint(tmp_path: Path) -> None:
    program = Program("tests.trainer.short_demo", tmp_path)
    shown, said = program.communicate(timeout=800)
    assert program.poll() == 0, said
    assert [step for step, _ in json.loads((tmp_path / "curve.json").read_text())] == [0, 2]
    for name in ("before", "after"):
        table = pq.read_table(tmp_path / f"{name}.parquet")
        assert table.num_rows == 20
        assert set(table["status"].to_pylist()) == {"ok"}
    assert "global_step_2/actor/huggingface" in shown
    assert "by PPO step" in shown


def test_two_in_seven_demonstrations_are_in_the_rewarded_format() -> None:
    row = PromptRow("gsm8k", [], "8", {"answer": "5+3=8\n#### 8"}, [])
    answers = [warmup.demonstration(row, i) for i in range(70)]
    assert sum(answer == "5+3=8\n#### 8" for answer in answers) == 20
    assert sum(answer in ("5+3=8\nThe answer is 8.", "5+3=8\nSo 8.") for answer in answers) == 50


def test_the_plot_runs_from_the_first_to_the_last_value() -> None:
    lines = demo.plot([(0, 0.0), (10, 1.0)], width=10, height=10).splitlines()
    assert lines[1] == "  1.0 ┤          ●"
    assert lines[11] == "  0.0 ┤●"
    assert lines[-1] == "       0        10"
