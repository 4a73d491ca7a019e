"""`rewardkit export`: from a training checkpoint to a folder that transformers and vLLM load."""

from __future__ import annotations

from pathlib import Path

import click

from rewardkit.commands.train import require_trainer

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(epilog="Example: rewardkit export checkpoints/rewardkit/ppo/global_step_40 model")
@click.argument("checkpoint", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Type of the weights; without it, the type the model came in before training.",
)
def command(checkpoint: Path, out: Path, dtype: str | None) -> None:
    """Write the policy of CHECKPOINT, global_step_N or a run's folder (its last), to the new folder OUT."""
    require_trainer()
    from rewardkit.trainer.checkpoint.export import export

    found = export(checkpoint, out, dtype)
    click.echo(f"{found} -> {out}")
