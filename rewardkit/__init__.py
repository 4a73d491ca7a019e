"""rewardkit: rewards and evaluation for language models trained with reinforcement learning.

    >>> import rewardkit
    >>> with rewardkit.Scorer() as scorer:
    ...     scorer.score(rewardkit.Sample("gsm8k", "6 * 12 = 72\\n#### 72", "72")).score
    1.0

Importing rewardkit loads no reward, no torch and no pandas. Each is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rewardkit.version import __version__ as __version__

if TYPE_CHECKING:
    from rewardkit.client import AsyncClient as AsyncClient
    from rewardkit.client import Client as Client
    from rewardkit.datasets_prep.common.prepare import prepare as prepare
    from rewardkit.errors import RewardkitError as RewardkitError
    from rewardkit.evaluating.compare import compare as compare
    from rewardkit.evaluating.evaluate import evaluate as evaluate
    from rewardkit.generation.generate import generate as generate
    from rewardkit.offline import score_file as score_file
    from rewardkit.offline import score_frame as score_frame
    from rewardkit.registry import reward as reward
    from rewardkit.scoring.scorer import Scorer as Scorer
    from rewardkit.types import Sample as Sample
    from rewardkit.types import Score as Score

_HOME = {
    "AsyncClient": "rewardkit.client",
    "Client": "rewardkit.client",
    "RewardkitError": "rewardkit.errors",
    "Sample": "rewardkit.types",
    "Score": "rewardkit.types",
    "Scorer": "rewardkit.scoring.scorer",
    "compare": "rewardkit.evaluating.compare",
    "evaluate": "rewardkit.evaluating.evaluate",
    "generate": "rewardkit.generation.generate",
    "prepare": "rewardkit.datasets_prep.common.prepare",
    "reward": "rewardkit.registry",
    "score_file": "rewardkit.offline",
    "score_frame": "rewardkit.offline",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rewardkit' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *__all__]
