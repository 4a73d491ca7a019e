"""`rewardkit train`: hands its arguments to the trainer."""

from __future__ import annotations

import importlib.util
import os

import click

from rewardkit.errors import MissingDependencyError

NEEDED = ("torch", "transformers", "omegaconf", "accelerate")


def require_trainer() -> None:
    """Raise MissingDependencyError unless what the trainer imports is installed; torch is not loaded yet.

    Threads are told to sleep rather than spin while they wait: it costs nothing on an idle machine, and on
    a busy one a step of the demo took 14 s with spinning threads and 2 s with sleeping ones.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"training needs {', '.join(missing)}; install with: pip install 'rewardkit[train]'"
        )


@click.command(epilog="Example: rewardkit train --config tiny-cpu data.train_files=data/train.parquet")
@click.option("--config", metavar="RECIPE", help="A YAML file, or the name of one of ours (tiny-cpu).")
@click.option("--max-restarts", type=int, help="Short for trainer.max_restarts=N.")
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
def command(config: str | None, max_restarts: int | None, overrides: tuple[str, ...]) -> int:
    """Train a language model with PPO.

    Settings have verl's names: data.train_files=..., actor_rollout_ref.model.path=..., and so on. With
    trainer.n_gpus_per_node above 1 it starts that many processes. A run that is started again goes on from
    its last checkpoint (trainer.resume_mode).
    """
    require_trainer()
    from rewardkit.trainer.main import run

    if max_restarts is not None:
        overrides = (*overrides, f"trainer.max_restarts={max_restarts}")
    return run(config, overrides)
