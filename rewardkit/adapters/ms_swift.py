"""ms-swift's outcome rewards, registered as `rewardkit` (async) and `rewardkit_sync`.

    swift rlhf --rlhf_type grpo --reward_funcs rewardkit \\
        --external_plugins "$(python -c 'import rewardkit.adapters.ms_swift as m; print(m.__file__)')"

The dataset has the columns `data_source` and `ground_truth` or `solution`.
"""

from __future__ import annotations

import importlib
from typing import Any

from rewardkit.adapters.backend import ascore_batch, score_batch
from rewardkit.adapters.columns import samples_from


class RewardkitORM:
    """Scores completions; None where one could not be scored."""

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.args = args

    def __call__(self, completions: list[Any], **columns: Any) -> list[float | None]:
        scores = score_batch(samples_from(completions, columns, prompts=columns.get("messages")))
        return [score.score if score.ok else None for score in scores]


class RewardkitAsyncORM:
    """Reward like `RewardkitORM`, beside other asynchronous rewards."""

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.args = args

    async def __call__(self, completions: list[Any], **columns: Any) -> list[float | None]:
        scores = await ascore_batch(samples_from(completions, columns, prompts=columns.get("messages")))
        return [score.score if score.ok else None for score in scores]


def register(orms: dict[str, Any]) -> None:
    """Add the rewards to ms-swift's table."""
    orms["rewardkit"] = RewardkitAsyncORM
    orms["rewardkit_sync"] = RewardkitORM


def _register_where_installed() -> None:
    """Version 4 has its table in `swift.rewards`, version 3 in `swift.plugin`; without either, nothing."""
    for module in ("swift.rewards", "swift.plugin"):
        try:
            register(importlib.import_module(module).orms)
        except (ImportError, AttributeError):
            continue
        return


_register_where_installed()
