"""The example of docs/own_agent.md, used as the page says, and the names that it and docs/agents.md promise."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.registry import AGENTS
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.types import ENDED, EpisodeLimits, Reply
from rewardkit.generation.episodes import EPISODE_COLUMNS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "agents.md").read_text()
OWN = (DOCS / "own_agent.md").read_text()
EXAMPLE = next(block for block in re.findall(r"```python\n(.*?)```", OWN, re.DOTALL) if "@agent" in block)


@pytest.fixture
def example(tmp_path: Path) -> Any:
    AGENTS.names()
    before = dict(AGENTS._agents)
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE)
    yield f"{path}:higher_lower"
    AGENTS._agents = before


def play(agent: str, *guesses: str, **limits: Any) -> Episode:
    said = iter(guesses)

    class Guesses:
        async def chat(self, *_: Any, **__: Any) -> Reply:
            return Reply(next(said))

    row = EpisodeRow([{"role": "user", "content": "Guess."}], ground_truth="7", agent_name=agent)
    return asyncio.run(run_episode(row, Guesses(), EpisodeSetup(EpisodeLimits(1000, **limits))))


def test_the_loop_of_the_page_does_what_it_says(example: str) -> None:
    assert len(EXAMPLE.splitlines()) < 60
    episode = play(example, "1", "20", "8", "It is 7!")
    assert episode.ended == "done"
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [0.1, 0.0, 0.1, 1.0]
    assert [turn.text for turn in episode.turns if turn.role == "user"] == ["higher", "lower", "lower"]
    assert play(example, "5", "I give up").ended == "answered"
    assert play(example, "5", "6", assistant_turns=2).ended == "assistant_turns"


def test_every_agent_end_and_column_is_on_the_page() -> None:
    ours = [name for name in AGENTS.names() if AGENTS.resolve(name).loop.__module__.startswith("rewardkit.")]
    assert len(ours) >= 4
    for name in (*ours, *ENDED, *EPISODE_COLUMNS):
        assert f"`{name}`" in PAGE, name


def test_every_method_of_the_page_is_there() -> None:
    methods = re.findall(
        r"`(?:await )?(\w+)\(", OWN.partition("| member of `Episode`")[2].partition("`@agent")[0]
    )
    assert methods
    assert all(callable(getattr(Episode, name)) for name in methods)
