"""`rewardkit demo`: trains a tiny model on arithmetic with PPO and scores it before and after."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import SEED
from rewardkit.commands.train import require_trainer

N_TRAIN = 4000
N_TEST = 256


@click.command(cls=GroupedCommand, shown=("seed",), epilog="Example: rewardkit demo --seed 1")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Output folder for data, models, logs and generations.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed for data and training.")
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
def command(out: Path, seed: int, overrides: tuple[str, ...]) -> None:
    """Train a tiny model on arithmetic with PPO.

    Prints the model's accuracy on held-out problems before and after training. The demo takes a minute or two
    on two CPU cores. KEY=VALUE sets a trainer setting, as in `rewardkit train`.
    """
    require_trainer()
    from rewardkit.datasets_prep import arithmetic
    from rewardkit.demo.run_demo import run_demo

    arithmetic.prepare(out / "data", n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=seed)
    run_demo(out / "data", out, seed=seed, overrides=overrides, console=Console())
