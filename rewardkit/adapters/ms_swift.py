"""Outcome rewards for ms-swift, registered as `rewardkit` (asynchronous) and `rewardkit_sync`.

    swift rlhf --rlhf_type grpo --reward_funcs rewardkit \\
        --external_plugins "$(python -c 'import rewardkit.adapters.ms_swift as m; print(m.__file__)')"

The dataset needs the column `data_source` and either `ground_truth` or `solution`.
"""

from __future__ import annotations

import importlib
from typing import Any

from rewardkit.adapters.backend import ascore_batch, score_batch
from rewardkit.adapters.columns import samples_from


class RewardkitORM:
    """Reward that scores completions and returns None for completions that could not be scored."""

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.args = args

    def __call__(self, completions: list[Any], **columns: Any) -> list[float | None]:
        scores = score_batch(samples_from(completions, columns, prompts=columns.get("messages")))
        return [score.score if score.ok else None for score in scores]


class RewardkitAsyncORM:
    """Asynchronous version of `RewardkitORM`, which runs concurrently with other asynchronous rewards."""

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.args = args

    async def __call__(self, completions: list[Any], **columns: Any) -> list[float | None]:
        scores = await ascore_batch(samples_from(completions, columns, prompts=columns.get("messages")))
        return [score.score if score.ok else None for score in scores]


def register(orms: dict[str, Any]) -> None:
    """Add the rewards to ms-swift's table of outcome rewards."""
    orms["rewardkit"] = RewardkitAsyncORM
    orms["rewardkit_sync"] = RewardkitORM


def _register_where_installed() -> None:
    """Register the rewards in `swift.rewards` (ms-swift 4) or `swift.plugin` (ms-swift 3), if installed."""
    for module in ("swift.rewards", "swift.plugin"):
        try:
            register(importlib.import_module(module).orms)
        except (ImportError, AttributeError):
            continue
        return


_register_where_installed()
