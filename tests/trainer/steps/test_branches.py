"""Episodes of several histories in training: a row for each, one advantage for all, no further steps."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits
from rewardkit.tool_calls.call import Call
from rewardkit.trainer import loop
from rewardkit.trainer.batch import Batch, PromptRow
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.hf import HfRollout
from rewardkit.trainer.run.preflight import check
from rewardkit.trainer.steps.branches import with_branches
from rewardkit.trainer.steps.episodes import play_rows
from rewardkit.trainer.workers.update import Optimizer
from tests.agents.conftest import CHATML, Echo
from tests.agents.endpoint.playing import ECHO, Plays, chat, give
from tests.closeness import K3
from tests.trainer.steps.test_episodes import ROLLOUT, run, words


def settings(parquet: Path, model: Path, folder: Path, *more: str) -> list[str]:
    agents = folder / "agents.yaml"
    agents.write_text(f"- name: external\n  function: {Path(__file__).with_name('branching.py')}:play\n")
    return words(
        *(parquet, model, folder / "out"),
        f"{ROLLOUT}.agent.default_agent_loop=external",
        f"{ROLLOUT}.agent.agent_loop_config_path={agents}",
        "algorithm.adv_estimator=grpo",
        "trainer.test_freq=-1",
        *more,
    )


async def play_tools(base_url: str, prompt: list[Any]) -> None:
    """What `tool_agent` does with the tool echo, from outside."""
    messages = list(prompt)
    while True:
        said = await chat(base_url, messages, tools=[ECHO])
        (call,) = said["tool_calls"]
        heard = json.loads(call["function"]["arguments"])["text"]
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": heard}]


def test_on_an_engine_a_program_s_tokens_and_log_probs_are_those_of_our_own_loop(
    model: Any, tokenizer: Any, rows: list[PromptRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    # An untrained model writes no calls: each of its turns is taken for one.
    monkeypatch.setattr(
        "rewardkit.agents.model_turns.read", lambda form, text: ("", [Call("echo", {"text": text})])
    )
    monkeypatch.setattr(tokenizer, "chat_template", CHATML)
    limits = EpisodeLimits(300, turn_tokens=6, assistant_turns=3, tool_response_chars=1000)
    setup = EpisodeSetup(limits, Transcript(tokenizer), {"echo": Echo})
    give(Plays(play_tools))
    engine = HfRollout(model, eos_ids=[tokenizer.eos_token_id], pad_id=0, response_length=300)
    seeds = list(range(len(rows)))
    own, other = (
        play_rows(engine, setup, [replace(row, agent_name=name) for row in rows], Sampling(), seeds)[0]
        for name in ("tool_agent", "external")
    )
    assert {one.ended for one in other} == {"assistant_turns"}
    for a, b in zip(own, other, strict=True):
        assert a.history == b.history
        assert sum(b.response_mask) == sum(
            turn.end - turn.start for turn in b.turns if turn.role == "assistant"
        )
        assert (a.answer, a.ended, b.branches) == (b.answer, b.ended, [])
    assert len({tuple(one.response_ids) for one in other}) == len(rows)


@pytest.mark.slow
def test_each_branch_is_a_row_with_its_episode_s_advantage_and_gives_no_further_step(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Batch, Batch]] = []
    steps: list[float] = []

    def watched(opened: Any, batch: Batch) -> Batch:
        # Rewards that differ, which an untrained model's do not.
        batch["advantages"] = batch["response_mask"] * (1.0 + torch.arange(len(batch)).unsqueeze(1))
        seen.append((batch, with_branches(opened, batch)))
        return seen[-1][1]

    step = Optimizer.step
    monkeypatch.setattr(loop, "with_branches", watched)
    monkeypatch.setattr(Optimizer, "step", lambda self: steps.append(step(self)) or steps[-1])
    more = [
        "trainer.rollout_data_dir=" + str(tmp_path / "dump"),
        "algorithm.rollout_correction.rollout_is=token",
    ]
    run(world, settings(parquet, model_folder, tmp_path, *more))
    assert len(steps) == 2 * 2, "as many as without branches: two mini-batches a step"
    assert all(norm > 0 for norm in steps)
    for batch, learned in seen:
        branches = sum(len(row.branches) for row in batch.rows)
        assert branches > 0
        added = learned.select(learned["is_branch"])
        own = learned.select(~learned["is_branch"])
        for name in ("input_ids", "response_mask", "advantages", "old_log_probs"):
            assert torch.equal(own[name], batch[name]), "the episodes' own rows are as they were"
        live = added.select(added["response_mask"].bool().any(dim=1))
        assert len(live) == branches
        expected = {
            tuple(one.response_ids): 1.0 + i for i, row in enumerate(batch.rows) for one in row.branches
        }
        for ids, mask, advantages in zip(
            live["responses"], live["response_mask"].bool(), live["advantages"], strict=True
        ):
            (owner,) = [of for one, of in expected.items() if ids[: len(one)].tolist() == list(one)]
            assert advantages.unique().tolist() in ([0.0, owner], [owner])
            assert torch.equal(advantages != 0, mask)
        for mini in learned.split(len(learned) // 2):
            groups = set(mini.select(~mini["is_branch"])["groups"].tolist())
            there = mini.select(mini["response_mask"].bool().any(dim=1) & mini["is_branch"])
            assert set(there["groups"].tolist()) <= groups, "a branch is in its episode's mini-batch"
        kept = live["response_mask"].bool()
        gap = (live["old_log_probs"] - live["rollout_log_probs"])[kept]
        assert (gap.exp() - 1 - gap).abs().max() < K3, "the ids trained on are those that were drawn"
        assert live["rollout_is_weights"][kept].isfinite().all()
    dumped = [json.loads(line) for line in (tmp_path / "dump" / "1.jsonl").read_text().splitlines()]
    assert len(dumped) == 8
    assert sorted({len(row["branches"]) for row in dumped}) == [0, 2]
    assert all(row["turns"][-1]["text"] == row["response"] for row in dumped)


def test_where_only_the_last_branch_is_trained_on_that_is_said(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    notes = check(load_config("tiny-cpu", settings(parquet, model_folder, tmp_path)))
    assert not any("last branch" in line for line in notes)
    given = settings(parquet, model_folder, tmp_path, "algorithm.adv_estimator=gae")
    assert any("only the last branch" in line for line in check(load_config("tiny-cpu", given)))
