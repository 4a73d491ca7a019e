"""One process of a run: read the config, check it, train. `main.py` and `launch.py` start it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rewardkit.errors import ConfigError
from rewardkit.processes import large_imports
from rewardkit.trainer.config.load import load_config, read_layers
from rewardkit.trainer.config.root import Config, world_size
from rewardkit.trainer.distributed import open_world, started_by_torchrun
from rewardkit.trainer.rollout.engines import fall_back
from rewardkit.trainer.run.preflight import check


def read_and_check(recipe: str | None, overrides: Sequence[str]) -> Config:
    """Return the checked config; notes about it are printed once, by the process that starts the others.

    Raises:
        RewardkitError: the first thing found wrong.
    """
    layers = read_layers(recipe, overrides)
    config = load_config(recipe, overrides)
    engine = [] if layers.sets("actor_rollout_ref.rollout.name") else fall_back(config)
    notes = [*layers.notes, *engine, *check(config)]
    if not started_by_torchrun():
        print("\n".join(notes), file=sys.stderr)
    return config


def train_here(config: Config) -> None:
    """Train in this process, as one of those that torchrun started or as the only one.

    Raises:
        RewardkitError: whatever is wrong with the config, the data or the rewards.
    """
    # Not at the top: the launcher needs no models, and transformers takes seconds to import.
    with large_imports():
        from rewardkit.trainer.loop import train
        from rewardkit.trainer.run.build import open_run

    started = int(os.environ.get("WORLD_SIZE", "1"))
    if started != world_size(config):
        raise ConfigError(
            f"torchrun started {started} processes, but trainer.nnodes x trainer.n_gpus_per_node is "
            f"{world_size(config)}; make them equal"
        )
    with open_world(config.trainer.device) as world, open_run(config, world) as run:
        train(run)
