"""`rewardkit sft`: fine-tunes a model on example responses with the trainer of `rewardkit train`."""

from __future__ import annotations

from typing import Any

import click

from rewardkit.commands.options.files import hydra_options
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.train import config_option, run_stage, stage_options


@click.command(
    cls=GroupedCommand,
    shown=("config", "config_path", "config_name"),
    epilog="Example: rewardkit sft --config tiny-cpu data.train_files=demo/data/train.parquet "
    "model.path=demo/model trainer.default_local_dir=checkpoints/sft",
)
@config_option
@hydra_options("sft_trainer")
@stage_options
def command(**given: Any) -> int:
    """Fine-tune a language model on example responses.

    Each row of the data contains a conversation (messages), or a prompt and a response. The loss is computed
    only on the assistant's tokens. Pass settings as KEY=VALUE. They have the same names as in verl, such as
    data.train_files, model.path or optim.lr. If a run is interrupted, run the same command again to resume
    from the last checkpoint (see trainer.resume_mode).
    """
    return run_stage("sft", **given)
