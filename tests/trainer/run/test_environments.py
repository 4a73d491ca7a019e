"""Trainings on environments of other projects: the servers are started by the test, the rewards are theirs."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.errors import InputError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run.preflight import check
from tests.agents.environments.made_verifiers import write_verifiers
from tests.agents.environments.served import game_server
from tests.extras.test_harbor import write_task
from tests.trainer.running import run_module


def write_rows(folder: Path, n: int = 4, **more: Any) -> Path:
    """Rows without a ground truth, whose column names the agent."""
    rows = [
        {
            "data_source": "env/digits",
            "prompt": [{"role": "user", "content": "1+2"}],
            "agent_name": "env",
            "extra_info": {"split": "train", "index": i % 10},
            **more,
        }
        for i in range(n)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    return folder / "rows.parquet"


def write_lines(folder: Path, n: int = 4) -> Path:
    """Rows in JSON lines that name no agent, since the run's environment is the default."""
    rows = (
        {"data_source": "env/digits", "prompt": "1+2", "extra_info": {"split": "train", "index": i}}
        for i in range(n)
    )
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


def settings(rows: Path, model: Path, folder: Path, env: str, steps: int = 2) -> list[str]:
    return [
        f"data.train_files={rows}",
        "data.train_batch_size=4",
        "data.max_response_length=12",
        "data.max_prompt_length=120",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.rollout.multi_turn.max_turn_tokens=3",
        "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=2",
        *([f"actor_rollout_ref.rollout.agent.env='{env}'"] if env else []),
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        f"trainer.total_training_steps={steps}",
        "trainer.total_epochs=99",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={folder / 'out'}",
    ]


@pytest.mark.slow
def test_the_released_command_trains_on_each_kind_of_environment(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_task(tmp_path / "greeting")
    write_verifiers(tmp_path / "packages")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'packages'}:{os.environ.get('PYTHONPATH', '')}")
    with game_server() as server:
        server.game.plain = True  # an untrained model calls no tools
        server.game.most = 1
        specs = {
            "ors": (write_rows, f"ors:{server.url}?without_reward=0"),
            "openenv": (write_lines, f"openenv:{server.url}?without_reward=0"),
            "harbor": (write_rows, f"harbor:{tmp_path / 'greeting'}"),
            "verifiers": (write_lines, "verifiers:sums:Sums"),
        }
        for kind, (write, env) in specs.items():
            (folder := tmp_path / kind).mkdir()
            words = settings(write(folder), model_folder, folder, env)
            run_module("rewardkit", "train", "--config", "tiny-cpu", *words, timeout=600)
            log = [json.loads(line) for line in (folder / "out" / "metrics.jsonl").read_text().splitlines()]
            assert [one["training/global_step"] for one in log] == [1, 2], kind
            assert all(math.isfinite(one["critic/score/mean"]) for one in log), kind
            assert all(one["agent/ended/error"] == 0.0 for one in log), kind
    assert len(server.game.opened) == server.game.closed > 0


@pytest.mark.parametrize("write", [write_rows, write_lines])
@pytest.mark.parametrize("kind", ["ors", "openenv"])
def test_the_preflight_opens_one_episode(model_folder: Path, tmp_path: Path, kind: str, write: Any) -> None:
    with game_server() as server:
        server.game.plain = True
        words = settings(write(tmp_path), model_folder, tmp_path, f"{kind}:{server.url}")
        check(load_config("tiny-cpu", words))
        assert (len(server.game.opened), server.game.closed, server.game.guesses) == (1, 1, ["0"])


@pytest.mark.parametrize("kind", ["ors", "openenv"])
def test_the_preflight_names_what_an_episode_would_fail_with(
    model_folder: Path, tmp_path: Path, kind: str
) -> None:
    rows = write_rows(tmp_path, env=f"{kind}:http://127.0.0.1:9")
    words = settings(write_rows(tmp_path), model_folder, tmp_path, f"{kind}:http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9"):
        check(load_config("tiny-cpu", words))
    with game_server() as server:
        words = settings(rows, model_folder, tmp_path, f"{kind}:{server.url}")
        words = [word.replace("max_prompt_length=120", "max_prompt_length=10") for word in words]
        with pytest.raises(InputError, match="the limit is 10"):
            check(load_config("tiny-cpu", words))


def test_a_fixed_reply_that_an_environment_cannot_take_is_a_note(model_folder: Path, tmp_path: Path) -> None:
    with game_server() as server:
        server.game.plain = True
        server.game.fails = "0"
        words = settings(write_rows(tmp_path), model_folder, tmp_path, f"ors:{server.url}")
        assert any("the game broke" in note for note in check(load_config("tiny-cpu", words)))


def test_a_program_that_cannot_start_is_refused_and_one_that_stumbles_is_not(
    model_folder: Path, tmp_path: Path
) -> None:
    asks = "import json, os, sys, urllib.request as u\n"
    asks += "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
    asks += "body = json.dumps({'messages': json.load(sys.stdin)['prompt']}).encode()\n"
    asks += "ask = lambda: u.build_opener(u.ProxyHandler({})).open(u.Request(url, body)).read()\n"
    rows = write_rows(tmp_path, data_source="gsm8k", agent_name="external", ground_truth="3")
    for code, why in (("import no_such_module", "no_such_module"), (asks + "ask(); ask()", None)):
        (tmp_path / "program.py").write_text(code)
        command = json.dumps([sys.executable, str(tmp_path / "program.py")])
        (tmp_path / "agents.yaml").write_text(f"- name: external\n  command: {command}\n")
        words = settings(rows, model_folder, tmp_path, "")
        words.append(f"actor_rollout_ref.rollout.agent.agent_loop_config_path={tmp_path}/agents.yaml")
        if why is None:
            check(load_config("tiny-cpu", words))
        else:
            with pytest.raises(InputError, match=why):
                check(load_config("tiny-cpu", words))


def test_rows_that_a_reward_of_text_scores_still_need_a_ground_truth(
    model_folder: Path, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path, data_source="gsm8k", agent_name="single_turn_agent")
    with pytest.raises(InputError, match="no column 'ground_truth'"):
        check(load_config("tiny-cpu", settings(rows, model_folder, tmp_path, "")))
