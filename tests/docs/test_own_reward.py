"""docs/own_reward.md is true: what it says to write works as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.cli import run
from rewardkit.registry import Registry, load_reward_file

PAGE = (Path(__file__).parents[2] / "docs" / "own_reward.md").read_text()


def _example(file_name: str) -> str:
    """The Python block of the page that begins with this file's name."""
    found = re.search(rf"```python\n# {re.escape(file_name)}\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"docs/own_reward.md has no example {file_name}"
    return found[1]


def test_a_reward_of_ones_own_is_one_file(
    tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "essays.py"
    file.write_text(_example("essays.py"))
    load_reward_file(str(file))
    with Scorer(workers=1, options={"my/essays": {"words": 4}}) as scorer:
        score = scorer.score(Sample("my/essays", "two words", ""))
    assert (score.score, score.scorer, score.parts) == (0.5, "essays@1", {"words": 2.0})
    assert run(["list", "--reward", str(file), "--json"]) == 0
    listed = {reward["name"]: reward for reward in json.loads(capsys.readouterr().out)}
    assert listed["essays"]["options"] == {"words": 100}
    assert listed["essays"]["summary"] == "Share of the wanted number of words"
