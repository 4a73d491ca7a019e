"""`rewardkit export`: converts a training checkpoint to a model folder for transformers and vLLM."""

from __future__ import annotations

from pathlib import Path

import click

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.train import require_trainer

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(
    cls=GroupedCommand,
    shown=("dtype", "repository"),
    epilog="Example: rewardkit export checkpoints/rewardkit/ppo/global_step_40 model",
)
@click.argument("checkpoint", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Data type of the exported weights. Default: the model's data type before training.",
)
@click.option(
    "--push",
    "repository",
    metavar="NAME/MODEL",
    help="Also upload OUT to this repository on the Hugging Face hub. A new repository is private.",
)
def command(checkpoint: Path, out: Path, dtype: str | None, repository: str | None) -> None:
    """Convert the policy in CHECKPOINT to a Hugging Face model in the new folder OUT.

    CHECKPOINT is a global_step_N folder or the folder of a run. If you pass the folder of a run, its last
    checkpoint is converted. OUT/README.md is a model card with the run's validation, data, rewards and
    settings.
    """
    require_trainer()
    from rewardkit.trainer.checkpoint.find import to_export

    found = to_export(checkpoint, out)  # before torch is imported, which takes seconds
    from rewardkit.trainer.checkpoint.export import export

    export(found, out, dtype)
    click.echo(f"{found} -> {out}")
    if repository is not None:
        from rewardkit.trainer.checkpoint.push import push

        click.echo(f"{out} -> {push(out, repository)}")
