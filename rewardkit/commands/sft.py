"""`rewardkit sft`: supervised fine-tuning, by the same trainer as `rewardkit train`."""

from __future__ import annotations

from pathlib import Path

import click

from rewardkit.commands.options.files import hydra_options
from rewardkit.commands.train import run_stage, stage_options


@click.command(
    epilog="Example: rewardkit sft --config tiny-cpu data.train_files=demo/data/train.parquet "
    "model.path=demo/model trainer.default_local_dir=checkpoints/sft"
)
@click.option("--config", metavar="RECIPE", help="A YAML file, or the name of one of ours (tiny-cpu).")
@hydra_options("sft_trainer")
@stage_options
def command(
    config: str | Path | None,
    max_restarts: int | None,
    overrides: tuple[str, ...],
    explained: bool,
    as_json: bool,
) -> int:
    """Train a language model on given responses.

    Rows are conversations (messages), or prompts and responses; the loss is on what the assistant says.
    Settings have verl's names: data.train_files=..., model.path=..., optim.lr=..., and so on. A run that is
    started again goes on from its last checkpoint (trainer.resume_mode). `rewardkit train` trains its model
    further.
    """
    return run_stage("sft", config, max_restarts, overrides, explained, as_json)
