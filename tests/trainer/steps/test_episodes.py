"""Rows with an agent of several turns, from the data to the weights: the hf engine, and a user who nags."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.agents.types import Turn
from rewardkit.errors import ConfigError, InputError, RewardkitError
from rewardkit.trainer.batch import PromptRow, ScoredRollout
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.rollout.base import TurnCosts
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.preflight import check
from rewardkit.trainer.steps.episodes import Played, as_batch, episode_metrics
from rewardkit.trainer.steps.scoring import PendingScores
from rewardkit.trainer.steps.validation import validation_metrics
from rewardkit.types import Score
from tests.closeness import K3
from tests.trainer.checkpoint.test_kill import log, tensors
from tests.trainer.running import Program

NAGGING = f"{Path(__file__).with_name('nagging.py')}:nagging"
ROLLOUT = "actor_rollout_ref.rollout"


def words(parquet: Path, model: Path, out: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        f"data.val_files={parquet}",
        "data.val_max_samples=3",
        "data.train_batch_size=4",
        "data.max_response_length=40",
        "data.max_prompt_length=60",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "actor_rollout_ref.actor.entropy_coeff=0.1",
        f"{ROLLOUT}.n=2",
        f"{ROLLOUT}.agent.default_agent_loop={NAGGING}",
        "trainer.total_training_steps=2",
        "trainer.critic_warmup=0",
        "trainer.val_before_train=false",
        "trainer.test_freq=2",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]


def run(world: World, given: list[str]) -> Any:
    config = load_config("tiny-cpu", given)
    check(config)
    with open_run(config, world) as opened:
        train(opened)
    return opened


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "more"),
    [
        ("gae", ["reward.mode=mixed", "algorithm.gamma=0.9"]),
        ("grpo", ["reward.mode=turn", "algorithm.turn_advantages=per_turn"]),
        ("remax", ["algorithm.mask_truncated_completions=true"]),
    ],
)
def test_a_run_with_episodes_learns_from_its_own_tokens(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path, estimator: str, more: list[str]
) -> None:
    out = tmp_path / "out"
    asked = [f"algorithm.adv_estimator={estimator}", f"trainer.rollout_data_dir={tmp_path}/dump", *more]
    run(world, words(parquet, model_folder, out, *asked))
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert len(metrics) == 2
    for entry in metrics:
        assert entry["training/rollout_actor_kl"] < K3, "the ids trained on are those that were drawn"
        assert entry["agent/num_turns/max"] == 6, "the prompt, three turns of the model, two of the user"
        assert entry["agent/ended/answered"] + entry["agent/ended/response_tokens"] == 1.0
        assert entry["response_length/max"] <= 12
        assert entry["actor/grad_norm"] > 0
    assert metrics[-1]["val-aux/num_turns/max"] == 6
    dumped = [json.loads(line) for line in (tmp_path / "dump" / "1.jsonl").read_text().splitlines()]
    assert len(dumped) == 8
    for row in dumped:
        roles = [turn["role"] for turn in row["turns"]]
        assert roles == ["assistant", "user"] * (len(roles) // 2) + ["assistant"] * (len(roles) % 2)
        assert row["response"] == row["turns"][-1]["text"] or roles[-1] == "user"
        lengths = [turn["end"] - turn["start"] for turn in row["turns"] if turn["role"] == "assistant"]
        expected = [None if k == 1 else length / 4 for k, length in enumerate(lengths)]
        assert row["turn_rewards"] == expected
    if estimator == "gae":
        mean = metrics[0]["critic/score/mean"]
        given = [sum(r or 0.0 for r in row["turn_rewards"]) + row["score"] for row in dumped]
        assert mean == pytest.approx(sum(given) / len(given))


def played(**changes: Any) -> Played:
    made: dict[str, Any] = {
        "prompt_ids": [],
        "response_ids": [11, 12, 21, 22, 23, 13],
        "response_mask": [1, 1, 0, 0, 0, 1],
        "log_probs": [-1.0, -2.0, 0.0, 0.0, 0.0, -3.0],
        "weight_versions": [4, 4, 0, 0, 0, 5],
        "turns": [
            Turn("assistant", "a", 0, 2, reward=0.5),
            Turn("tool", "b", 2, 5, statuses=["ok", "bad_call"]),
            Turn("assistant", "c", 5, 6),
        ],
        "ended": "answered",
        "status": "ok",
        "detail": None,
        "answer": "c",
        "tool_rewards": {},
        "interaction_score": None,
        "metrics": {"hits": 2.0},
    }
    return Played(**(made | changes))


def test_a_batch_of_episodes_says_whose_each_token_is(rows: list[PromptRow]) -> None:
    failed = played(status="error", ended="tool_failed", detail="boom")
    asked = [7] * 39  # what an environment asked in place of the row
    scored = played(tool_rewards={"a": 0.25, "b": 0.5}, ended="response_tokens", prompt_ids=asked)
    batch = as_batch(
        rows[:3],
        [played(), failed, scored],
        prompt_length=40,
        response_length=8,
        pad_id=0,
        device=torch.device("cpu"),
    )
    assert batch["input_ids"][2, :40].tolist() == [0, *asked]
    assert batch["input_ids"][1, 40 - len(rows[1].token_ids) : 40].tolist() == rows[1].token_ids
    for i in range(3):
        assert batch["responses"][i].tolist() == [11, 12, 21, 22, 23, 13, 0, 0]
        assert batch["response_mask"][i].tolist() == [1, 1, 0, 0, 0, 1, 0, 0]
        assert batch["observations"][i].tolist() == [0, 0, 1, 1, 1, 0, 0, 0]
        assert batch["attention_mask"][i, 40:].tolist() == [1] * 6 + [0, 0]
        assert batch["turns"][i].tolist() == [1, 1, 0, 0, 0, 2, 0, 0]
    assert batch["turn_rewards"][0].tolist() == [0, 0.5, 0, 0, 0, 0, 0, 0]
    assert bool(batch["turn_rewards"][1, 5].isnan()), "what the failed turn was worth nobody knows"
    assert batch["turn_rewards"][2].tolist() == [0, 0.5, 0, 0, 0, 0.75, 0, 0]
    assert batch["truncated"].tolist() == [False, False, True]


class Spy:
    """Scores with 0.5, and keeps what it is given."""

    def __init__(self) -> None:
        self.samples: list[Any] = []

    def check(self, data_sources: Any) -> None: ...

    def close(self) -> None: ...

    def scores_by_group(self, data_source: str) -> bool:
        return False

    def submit(self, samples: Any) -> Any:
        self.samples += samples
        return self

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        return [Score(0.5)]


def test_what_is_scored_is_the_last_turn_and_what_failed_is_not(rows: list[PromptRow], world: World) -> None:
    spy = Spy()
    pending = PendingScores(spy, None, rows[:3], 60.0)
    pending.take_episode(0, played(tool_rewards={"a": 0.25}))
    pending.take_episode(2, played(status="timeout", ended="seconds", detail="took 9 s"))
    pending.take_episode(1, played(interaction_score=0.75))
    found = [each.score for each in pending.wait()]
    assert [(score.score, score.status) for score in found] == [(0.5, "ok"), (0.75, "ok"), (0.0, "timeout")]
    assert "seconds: took 9 s" in str(found[2].detail)
    (sample,) = spy.samples
    assert sample.response == "c"
    assert sample.extra_info["turn_scores"] == [0.5, 0.25]
    assert sample.extra_info["num_turns"] == 4
    assert sample.extra_info["tool_rewards"] == {"a": 0.25}


def test_the_figures_of_episodes_are_shares_over_all_of_them(world: World) -> None:
    failed = played(status="error", ended="tool_failed", metrics={})
    failed.turns[1].statuses[1] = "timeout"
    found = episode_metrics([played(), failed, played(ended="done")], TurnCosts(6, 200, 150), world)
    assert found["agent/ended/done"] == found["agent/ended/tool_failed"] == pytest.approx(1 / 3)
    assert found["agent/ended/cancelled"] == 0.0
    assert found["agent/num_turns/mean"] == 4.0
    assert found["agent/tool_calls/mean"] == 2.0
    assert found["agent/bad_calls"] == pytest.approx(2 / 6)
    assert found["agent/tool_failures"] == pytest.approx(1 / 6)
    assert found["agent/cached_share"] == 0.75
    assert found["agent/tools/hits"] == pytest.approx(4 / 3)


def test_a_log_says_what_the_first_and_the_last_turn_earned(world: World) -> None:
    told = [
        Turn("assistant", "a", 0, 2, reward=0.0),
        Turn("user", "no", 2, 3),
        Turn("assistant", "b", 3, 4, reward=1.0),
    ]
    knew = [Turn("assistant", "a", 0, 2, reward=1.0)]
    unheard = [
        Turn("assistant", "a", 0, 2, reward=0.5),
        Turn("user", "no", 2, 3),
        Turn("assistant", "b", 3, 4),
    ]
    nothing = [Turn("assistant", "a", 0, 2)]
    failed = played(turns=knew, status="error", ended="interaction_failed")
    some = [played(turns=turns) for turns in (told, knew, unheard, nothing)]
    found = episode_metrics([*some, failed], TurnCosts(), world)
    assert found["agent/first_turn_reward/mean"] == pytest.approx(1.5 / 3)
    assert found["agent/last_turn_reward/mean"] == pytest.approx(2.0 / 3)
    assert "agent/first_turn_reward/mean" not in episode_metrics([played(turns=nothing)], TurnCosts(), world)

    row = PromptRow("x", "", "", {}, [])
    scored = [ScoredRollout(row, "", Score(1.0, correct=True), one.columns()) for one in some]
    assert validation_metrics(scored, 1, world)["val-aux/last_turn_reward/mean"] == pytest.approx(2.0 / 3)


def with_rows(folder: Path, parquet: Path, **columns: Any) -> Path:
    table = pq.read_table(parquet)
    for name, value in columns.items():
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, pa.array([value] * len(table)))
    pq.write_table(table, folder / "changed.parquet")
    return folder / "changed.parquet"


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"agent_name": "tool_agnet"}, [], "there is no agent 'tool_agnet'"),
        (
            {"agent_name": "single_turn_agent"},
            [
                f"{ROLLOUT}.multi_turn.tool_config_path=calculator",
                f"{ROLLOUT}.agent.default_agent_loop=math_expression",
            ],
            "the tool 'calculator'",
        ),
        (
            {},
            [
                f"{ROLLOUT}.agent.default_agent_loop=single_turn_agent",
                f"{ROLLOUT}.multi_turn.max_user_turns=2",
            ],
            "max_user_turns=2 has no effect",
        ),
        (
            {"agent_name": "tool_agent", "extra_info": {"interaction_kwargs": {"name": "gms8k"}}},
            [],
            "there is no interaction 'gms8k'",
        ),
        ({}, [f"{ROLLOUT}.multi_turn.format=hermse"], "hermse"),
        (
            {},
            [f"{ROLLOUT}.agent.default_agent_loop=single_turn_agent", "reward.mode=turn"],
            "agent_name in the data",
        ),
    ],
)
def test_an_agent_that_cannot_run_is_refused_before_a_model_loads(
    parquet: Path, model_folder: Path, tmp_path: Path, columns: Any, more: list[str], message: str
) -> None:
    changed = with_rows(tmp_path, parquet, **columns)
    with pytest.raises(RewardkitError) as raised:
        check(load_config("tiny-cpu", words(changed, model_folder, tmp_path / "out", *more)))
    assert isinstance(raised.value, ConfigError | InputError)
    assert message in str(raised.value)


def test_agents_of_one_s_own_come_from_verl_s_file(parquet: Path, model_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "loops.yaml"
    settings = [
        f"{ROLLOUT}.agent.agent_loop_config_path={file}",
        f"{ROLLOUT}.agent.default_agent_loop=pesky",
    ]
    given = words(parquet, model_folder, tmp_path / "out", *settings)
    file.write_text(f"- name: pesky\n  _target_: {NAGGING}\n")
    check(load_config("tiny-cpu", given))
    for text, message in (
        (f"- name: other\n  _target_: {NAGGING}\n  top: 3\n", "no settings.*top"),
        ("- name: other\n  _target_: rewardkit.agents.episode.Episode\n", "is a class"),
        ("- name: other\n  _target_: rewardkit.agents.nowhere.x\n", "cannot import"),
        ("name: other\n", "must be a YAML list of mappings"),
    ):
        file.write_text(text)
        with pytest.raises((ConfigError, InputError), match=rf"{file.name}.*{message}"):
            check(load_config("tiny-cpu", given))


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_an_episode_ends_as_one_that_was_not(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    asked = ["trainer.total_training_steps=3", "trainer.save_freq=1", "trainer.test_freq=-1"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run(world, words(parquet, model_folder, whole, *asked))
    countdown = tmp_path / "countdown"
    countdown.write_text(str(24 + 11))  # 8 episodes of up to 3 turns a step: in the second
    died = Program(
        "rewardkit.trainer.run.main",
        *("--config", "tiny-cpu", *words(parquet, model_folder, killed, *asked)),
        environment={**os.environ, "NAGGING_ENDS_THE_PROCESS": str(countdown)},
    )
    _, said = died.communicate(timeout=280)
    assert countdown.read_text() == "0", said
    assert died.poll() == -signal.SIGKILL, said
    assert 0 < len(log(killed)) < 3
    run(world, words(parquet, model_folder, killed, *asked))
    one, two = (tensors(folder / "global_step_3") for folder in (whole, killed))
    assert [key for key in one if not torch.equal(one[key], two[key])] == []
    assert log(whole) == log(killed)
