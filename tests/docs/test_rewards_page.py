"""The compositions of docs/compose.md and docs/frames.md run as they stand there, and the table of docs/rewards.md names
every reward."""

from __future__ import annotations

import re
from pathlib import Path

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit.composition import load_compositions
from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

DOCS = Path(__file__).parents[2] / "docs"


def _block(page: str, language: str, word: str) -> str:
    text = (DOCS / page).read_text()
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return next(block for block in blocks if word in block)


def test_the_compositions_of_the_page_score(tmp_path: Path) -> None:
    (tmp_path / "page.yaml").write_text(_block("compose.md", "yaml", "gate"))
    load_compositions(tmp_path / "page.yaml")
    exec(_block("compose.md", "python", "compose"), {})
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("my/math1", "\\boxed{5}", "5")).score > 1.0
        assert scorer.score(Sample("my/math1", "\\boxed{6}", "5")).score == 0.0
        assert round(scorer.score(Sample("my/mix", "<think>x</think>#### 5", "5")).score, 6) == 1.1


def test_the_line_that_sends_prose_to_a_judge_is_a_composition(tmp_path: Path) -> None:
    (tmp_path / "judge.yaml").write_text("url: http://localhost:9/v1\nmodel: any\n")
    (tmp_path / "prose.yaml").write_text(_block("frames.md", "yaml", "judge"))
    load_compositions(tmp_path / "prose.yaml")
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("my/questions", "Answer: Bach", "Bach")).score == 1.0


def test_every_reward_of_the_table_exists_and_none_is_missing() -> None:
    table = (DOCS / "rewards.md").read_text().partition("| reward | ground truth |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_0-9*]+)`", " ".join(row.split("|")[1] for row in table.splitlines()[2:])))
    ours = {
        reward.name
        for reward in REGISTRY
        if (reward.target.__module__ or "") == "rewardkit.rewards.declarations"
    }
    lengths = {name for name in ours if name.startswith("length_")}
    assert named - {"length_*"} == ours - lengths
