"""A response, a row, a request and a step pass few of our files, and each does work on them.

The figures are bounds, so that the walks do not grow back. Where a bound forces a worse file, change the bound
and say why.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer, score_file
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.loading import load_tools
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits
from tests.agents.conftest import Script, call_of, make_tokenizer
from tests.walks import Walk, walked


@pytest.mark.parametrize(
    ("options", "response"),
    [
        ({}, "so 3+4=7\n#### 7"),
        ({}, "The answer is 7."),
        ({"method": "flexible"}, "Seven, or 7, or 8?"),
    ],
)
def test_a_response_passes_five_files(options: dict[str, str], response: str) -> None:
    sample = Sample("openai/gsm8k", response, "7")
    with Scorer(options={"gsm8k": options}) as scorer:
        scorer.score(sample)
        walk = walked(lambda: scorer.score(sample))
    assert walk.files == [
        "scoring/scorer.py",
        "scoring/runner.py",
        "rewards/gsm8k.py",
        "rewards/answers/place.py",
        "rewards/answers/number.py",
    ]
    assert len(walk.stays) <= 13


def _scored(folder: Path, rows: int) -> Walk:
    path = folder / f"{rows}.jsonl"
    found = ({"data_source": "gsm8k", "response": f"#### {i}", "ground_truth": str(i)} for i in range(rows))
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    with Scorer(workers=1) as scorer:
        return walked(lambda: score_file(path, folder / "out.jsonl", scorer=scorer, force=True))


def test_five_files_look_at_every_row_of_a_file(tmp_path: Path) -> None:
    _scored(tmp_path, 3)
    few, more = _scored(tmp_path, 200), _scored(tmp_path, 400)
    each_row = {file for file, calls in more.calls.items() if calls - few.calls[file] >= 200}
    assert each_row == {
        "rewards/gsm8k.py",
        "rewards/answers/place.py",
        "rewards/answers/number.py",
        "offline/chunk.py",
        "offline/columns.py",
    }
    # Once a file, the tables of formats and kinds of logs, columns of pictures, the options of rewards and, as
    # the 40th, the receipt of the models that generated the responses (`offline/origins.py`).
    assert len(more.files) <= 40


def test_an_episode_with_a_call_of_a_tool_passes_twenty_two_files() -> None:
    tokenizer = make_tokenizer()
    turns = [call_of("calculator", expression="12 + 30"), "#### 42"]
    setup = EpisodeSetup(EpisodeLimits(1_000), Transcript(tokenizer), load_tools("calculator").makers)
    row = EpisodeRow([{"role": "user", "content": "What is 12 + 30?"}], agent_name="tool_agent")

    def play() -> str:
        return asyncio.run(run_episode(row, Script(tokenizer, turns), setup)).ended or ""

    assert play() == "answered"
    walk = walked(play)
    # Three of them are the ground floor: texts of messages, thoughts, and the table of tool-call formats.
    assert len(walk.files) <= 22
    assert {"messages.py", "special_tokens.py"} <= set(walk.files)
    assert [file for file in walk.files if file.startswith("tool_calls/")] == [
        "tool_calls/formats.py",
        "tool_calls/hermes.py",
        "tool_calls/call.py",
    ]
