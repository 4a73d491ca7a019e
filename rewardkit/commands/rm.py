"""`rewardkit rm`: trains a reward model on preferences."""

from __future__ import annotations

from typing import Any

import click

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.train import config_option, run_stage, stage_options


@click.command(
    cls=GroupedCommand,
    shown=("config",),
    epilog="Example: rewardkit rm --config tiny-cpu data.train_files=pairs.jsonl model.path=demo/model "
    "trainer.default_local_dir=checkpoints/rm",
)
@config_option
@stage_options
def command(**given: Any) -> int:
    """Train a reward model on pairs of a better and a worse answer.

    Each row of the data contains a chosen and a rejected answer to a prompt, as strings or as messages. The
    model is saved as a sequence classifier, which --reward-model, vLLM and transformers can load. Pass
    settings as KEY=VALUE. They have the same names as for `rewardkit sft`, such as data.train_files,
    model.path or optim.lr. If a run is interrupted, run the same command again to resume from the last
    checkpoint (see trainer.resume_mode).
    """
    return run_stage("rm", **given)
