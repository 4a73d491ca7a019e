"""Code for one process of a run, which reads the config, checks it and trains.

Each kind of training is a `TrainingStage`. PPO is defined in this module, and `STAGES` lists all stages.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.processes import large_imports
from rewardkit.trainer.config.load import Layers, load_settings, read_layers
from rewardkit.trainer.config.root import Config, RunConfig, world_size
from rewardkit.trainer.config.stages import schema_named
from rewardkit.trainer.distributed import World, open_world, started_by_torchrun
from rewardkit.trainer.rollout.engines import fall_back
from rewardkit.trainer.run.preflight import check


@dataclass(frozen=True)
class TrainingStage:
    """A kind of training: its checks before a model is loaded, and its training function."""

    check: Callable[[Any, Layers], list[str]]
    """Function that checks the settings. It returns notes for the user, or raises RewardkitError."""
    rehearse: Callable[[Any], None]
    """Function that reads everything that a run reads before it loads weights, without downloading
    anything."""
    train: Callable[[Any, World], None]


STAGES = {
    "ppo": "rewardkit.trainer.run.process:PPO",
    "sft": "rewardkit.trainer.sft.stage:SFT",
    "rm": "rewardkit.trainer.pairs.stage:RM",
    "dpo": "rewardkit.trainer.pairs.stage:DPO",
}


def stage_named(name: str) -> TrainingStage:
    """Return the stage with this name in `STAGES`."""
    module, _, attribute = STAGES[name].partition(":")
    stage: TrainingStage = getattr(importlib.import_module(module), attribute)
    return stage


def read_and_check(recipe: str | None, overrides: Sequence[str], stage: str = "ppo") -> Any:
    """Read and check the config, and print notes on it, unless a launcher started this process.

    Raises:
        RewardkitError: The config fails a check.
    """
    schema = schema_named(stage)
    layers = read_layers(recipe, overrides, schema)
    config = load_settings(schema, recipe, overrides)
    notes = [*layers.notes, *stage_named(stage).check(config, layers)]
    if notes and not started_by_torchrun():
        print("\n".join(notes), file=sys.stderr)
    return config


def train_here(config: RunConfig, stage: str = "ppo") -> None:
    """Train in this process, which is either the only process of the run or started by a launcher.

    Raises:
        RewardkitError: The config, the data or the rewards cannot be used.
    """
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if started != world_size(config):
        raise ConfigError(
            f"torchrun started {started} processes, but trainer.nnodes x trainer.n_gpus_per_node is "
            f"{world_size(config)}; make the two numbers equal"
        )
    with open_world(config.trainer.device) as world:
        stage_named(stage).train(config, world)


def _check(config: Config, layers: Layers) -> list[str]:
    engine = [] if layers.sets("actor_rollout_ref.rollout.name") else fall_back(config)
    return [*engine, *check(config)]


def _rehearse(config: Config) -> None:
    from rewardkit.trainer.run.build import rehearse  # Importing transformers takes seconds.

    rehearse(config)


def _train(config: Config, world: World) -> None:
    # The import is local, because the launcher does not need models and importing transformers takes seconds.
    with large_imports():
        from rewardkit.trainer.loop import train
        from rewardkit.trainer.run.build import open_run

    with open_run(config, world) as run:
        train(run)


PPO = TrainingStage(_check, _rehearse, _train)
