"""Rows with agents, tools and interactions are what our loops run, and what verl's loader reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.loading import load_interactions, load_tools
from rewardkit.agents.resolving import EpisodeSetup, tools_of
from rewardkit.agents.runner import run_episodes
from rewardkit.agents.types import EpisodeLimits, Reply
from rewardkit.cli import run
from rewardkit.tool_calls.call import Call


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    for split, numbers in (("train", (1, 2, 3)), ("test", (4,))):
        rows = [
            {"question": f"What is {i} + {i}?", "answer": f"{i}+{i}={2 * i}\n#### {2 * i}"} for i in numbers
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _prepared(dataset: str, raw: Path, out: Path, *words: str) -> list[EpisodeRow]:
    assert run(["prep", dataset, "--raw", str(raw), "--out", str(out), *words]) == 0
    return [
        EpisodeRow(
            row["prompt"], row["data_source"], row["ground_truth"], row["extra_info"], row["agent_name"]
        )
        for row in pq.read_table(out / "train.parquet").to_pylist()
    ]


class Solver:
    """Hands a wrong answer to the tool first, then the right one; or learns from feedback."""

    def __init__(self, tool: str | None) -> None:
        self.tool = tool

    async def chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Any, *, seed: int, max_tokens: int
    ) -> Reply:
        question = next(m["content"] for m in messages if m["role"] == "user")
        number = 2 * int(question.partition("is ")[2].partition(" ")[0])
        turns = sum(m["role"] == "assistant" for m in messages)
        answer = str(number if turns else number + 1)
        if self.tool is None:
            return Reply(f"#### {answer}")
        if turns == 2:
            return Reply(f"#### {number}")
        return Reply("", calls=[Call(self.tool, {"answer": answer}, f"c{turns}")])


def test_gsm8k_rows_run_with_their_tool_alone(raw: Path, tmp_path: Path) -> None:
    rows = _prepared("gsm8k", raw, tmp_path / "out", "--agent", "tool_agent")
    setting = EpisodeSetup(EpisodeLimits(10_000), tools=load_tools("calc_gsm8k_reward").makers)
    for episode in asyncio.run(run_episodes(rows, Solver("calc_gsm8k_reward"), setting, [0] * len(rows))):
        assert (episode.ended, episode.status, episode.detail) == ("answered", "ok", None)
        assert [turn.reward for turn in episode.turns if turn.role == "assistant"][:2] == [-0.05, 0.0]
        assert episode.tool_rewards == {"calc_gsm8k_reward": 1.0}


def test_gsm8k_rows_run_with_their_interaction(raw: Path, tmp_path: Path) -> None:
    rows = _prepared("gsm8k", raw, tmp_path / "out", "--interaction", "gsm8k")
    setting = EpisodeSetup(EpisodeLimits(10_000), interactions=load_interactions("gsm8k"))
    for episode in asyncio.run(run_episodes(rows, Solver(None), setting, [0] * len(rows))):
        assert (episode.ended, episode.status, episode.detail) == ("done", "ok", None)
        assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [0.0, 1.0]


def test_searchr1_rows_name_search_alone(tmp_path: Path) -> None:
    raw = tmp_path / "train.jsonl"
    record = {
        "id": "train_0",
        "question": "Who wrote Faust?",
        "golden_answers": ["Goethe", "J. W. von Goethe"],
        "data_source": "nq",
        "reward_model": {"ground_truth": {"target": ["Goethe", "J. W. von Goethe"]}, "style": "rule"},
    }
    raw.write_text(json.dumps(record) + "\n")
    (row,) = _prepared("searchr1", raw, tmp_path / "out", "--agent", "tool_agent")
    kwargs = tools_of(row.extra_info).create_kwargs
    assert list(kwargs) == ["search"]
    assert kwargs["search"]["question"] == "Who wrote Faust?"
    assert (kwargs["search"]["data_source"], row.agent_name) == ("searchR1_nq", "tool_agent")
