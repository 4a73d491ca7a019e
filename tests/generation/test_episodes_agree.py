"""However an episode ends, every command gives it the same score and status, and so does training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rewardkit import Scorer
from rewardkit.agents.types import ENDED
from rewardkit.cli import run
from rewardkit.evaluation.ledger import ledger
from rewardkit.evaluation.rescoring import read_grouped
from rewardkit.evaluation.scored import read_groups, read_rows
from rewardkit.generation.answer_prompts import with_responses
from rewardkit.generation.files import write_table
from rewardkit.generation.scoring_along import ScoringAlong
from rewardkit.generation.types import (
    Completion,
    EpisodeRecord,
    EpisodeSettings,
    GenerationSettings,
    TurnRecord,
)
from rewardkit.logs.layout import ReadOptions
from rewardkit.row_reports import FAILED_ENDS
from rewardkit.trainer.steps.episodes import Played

N = 2
ENDS = [*((end, None) for end in ENDED), ("done", 0.25), ("answered", 0.0)]
"""Ways to end, and the score of an interaction, if it gave one."""


def ended(sample: int, end: str, score: float | None) -> Completion:
    status = FAILED_ENDS.get(end, "ok")
    episode = EpisodeRecord(
        "tool_agent",
        end,
        status,
        [TurnRecord("assistant", "x", 1, 0.5), TurnRecord("tool", "y", 1), TurnRecord("assistant", "z", 1)],
        "boom" if status != "ok" else None,
        {"calculator": 0.25},
        score,
    )
    text = "" if status != "ok" else "#### 7" if sample else "#### 8"
    return Completion(0, sample, text, response_tokens=3, prompt_tokens=1, episode=episode)


def as_played(one: Completion) -> Played:
    episode = one.episode
    assert episode is not None
    given: dict[str, Any] = {name: [] for name in ("prompt_ids", "response_ids", "response_mask", "turns")}
    given |= {"log_probs": None, "weight_versions": None, "answer": one.text, "metrics": {}}
    return Played(
        **given,
        ended=episode.ended,
        status=episode.status,
        detail=episode.detail,
        tool_rewards=episode.tool_rewards,
        interaction_score=episode.interaction_score,
    )


@pytest.mark.parametrize(("end", "score"), ENDS)
def test_an_episode_has_one_score_in_generate_score_eval_and_training(
    tmp_path: Path, end: str, score: float | None
) -> None:
    prompt = [{"role": "user", "content": "3+4?"}]
    table = pa.table({"data_source": ["gsm8k"], "prompt": [prompt], "ground_truth": ["7"]})
    settings = GenerationSettings(n=N, episodes=EpisodeSettings("tool_agent"))
    found = {(0, sample): ended(sample, end, score) for sample in range(N)}
    generated = with_responses(table, found, settings)
    with Scorer() as scorer:
        along = ScoringAlong(scorer, table, ReadOptions(), N)
        for one in found.values():
            along.take(one)
        write_table(along.into(generated)[0], tmp_path / "along.parquet")
    write_table(generated, tmp_path / "bare.jsonl")
    nothing_scored = end in FAILED_ENDS
    words = ["score", str(tmp_path / "bare.jsonl"), "--out", str(tmp_path / "scored.jsonl")]
    assert run(words) == int(nothing_scored)
    files = [tmp_path / "along.parquet", tmp_path / "scored.jsonl"]
    with Scorer() as scorer:
        read = [list(read_rows([path])) for path in files]
        read.append(list(read_rows([tmp_path / "bare.jsonl"], scorer=scorer)))
        groups = [read_groups([path]) for path in files]
    said = [[(row["score"], row["status"]) for row in rows] for rows in read]
    assert said[0] == said[1] == said[2]
    assert groups[0] == groups[1]
    assert ledger(groups[0]) == ledger(groups[1])
    known = [as_played(one).known_score for one in found.values()]
    for (value, status), in_training in zip(said[0], known, strict=True):
        if in_training is not None:
            assert (value, status) == (in_training.score if in_training.ok else None, in_training.status)
        else:
            assert (status, value in (1.0, 0.1)) == ("ok", True)
    rescored = list(read_grouped([tmp_path / "bare.jsonl"], ReadOptions(), lambda line: None))
    assert len(rescored) == sum(one is None for one in known), "no scorer decides what is known"
