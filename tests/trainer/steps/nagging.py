"""An agent whose user is never content, so that an untrained model has episodes of several turns too."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent

ENDS = "NAGGING_ENDS_THE_PROCESS"
"""Environment: a file of a number, of turns until the process is killed; it is counted down."""


@agent("nagging", tools="none")
async def nagging(episode: Episode) -> None:
    """Three turns of up to four tokens; the first and the last are worth what they are long."""
    for turn in range(3):
        reply = await episode.generate(max_tokens=4)
        _count_down()
        if turn != 1:
            episode.reward(len(reply.token_ids) / 4)
        if turn < 2:
            await episode.append([{"role": "user", "content": f"Tom has {turn + 1} more"}])


def _count_down() -> None:
    if ENDS not in os.environ:
        return
    file = Path(os.environ[ENDS])
    left = int(file.read_text()) - 1
    file.write_text(str(left))
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
