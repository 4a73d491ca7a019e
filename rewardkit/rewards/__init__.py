"""The rewards we ship, one file or folder per family. Importing this registers them all and loads none.

A reward is declared here, in one table, so that `rewardkit list` and the data source check need no heavy
import; its code is loaded when the first sample asks for it.
"""

from __future__ import annotations

from rewardkit.registry import REGISTRY, Reward

BUILTIN: tuple[Reward, ...] = (
    Reward(
        name="gsm8k",
        version=1,
        target="rewardkit.rewards.gsm8k:score",
        options_type="rewardkit.rewards.gsm8k:Options",
        data_sources=("openai/gsm8k", "rewardkit/arithmetic"),
        aliases=("gsm8k", "arithmetic"),
        runs="inline",
        parts=("format",),
        reads=(),
        summary="Number after ####: 1.0 right, 0.1 wrong but in format, 0.0 neither",
        verify=True,
    ),
)

for _reward in BUILTIN:
    REGISTRY.register(_reward)
