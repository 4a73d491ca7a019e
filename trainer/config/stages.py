"""Settings of each training stage by name. This module does not import torch."""

from __future__ import annotations

import importlib
from typing import Any

from rewardkit.trainer.config.schema import Schema

SCHEMAS = {
    "ppo": "rewardkit.trainer.config.schema:PPO",
    "sft": "rewardkit.trainer.sft.config:SETTINGS",
    "rm": "rewardkit.trainer.pairs.config:RM",
    "dpo": "rewardkit.trainer.pairs.config:DPO",
}


def schema_named(stage: str) -> Schema[Any]:
    """Return the settings of a stage in `SCHEMAS`."""
    module, _, attribute = SCHEMAS[stage].partition(":")
    schema: Schema[Any] = getattr(importlib.import_module(module), attribute)
    return schema
