"""Training loop for SFT, which trains on given responses and computes the validation loss.

A step is a policy update with given responses and advantages of 1. The loss is the mean of -log p over all
trained tokens in the whole batch, that is, in all processes and micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.trainer.algorithms.reductions import masked_sum
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.logging.utilization import peak_flops, utilization
from rewardkit.trainer.models.sharding import language_model
from rewardkit.trainer.sft.data import SftRow, as_batch
from rewardkit.trainer.stepping import take_steps, validate_alone
from rewardkit.trainer.training_run import StageRun

NAMES = {"pg_loss": "loss", "grad_norm": "grad_norm", "lr": "lr", "entropy": "entropy"}
"""Metrics from the update, and their names in SFT. Loss, gradient and learning rate are named as in verl."""


def train(run: StageRun) -> None:
    """Run SFT to step `run.total_steps`, from the start or from a checkpoint."""
    step = run.checkpoints.restore()
    if run.config.trainer.val_before_train and run.val_rows and step == 0:
        validate_alone(run, step, validate)
    take_steps(run, step, sft_step, validate)


def sft_step(run: StageRun, step: int, clock: Clock) -> dict[str, float]:
    """Run one step on the next rows and return the step's metrics."""
    batch = _share(run, run.feed.rows())
    with clock("update_actor"):
        found = run.actor.update(batch, step, run.config.data.seed)
    lengths = batch["attention_mask"].sum(dim=1)
    model = {"actor": (language_model(run.actor.model), 1, lengths)}
    tokens = float(run.world.sum(lengths.sum()))
    return {
        "training/epoch": float(run.feed.epoch),
        **{f"train/{name}": found[key] for key, name in NAMES.items()},
        **{f"train/{key}": value for key, value in found.items() if key == "skipped_updates"},
        "train/global_tokens": tokens,
        "train/trained_tokens": float(run.world.sum(batch["response_mask"].sum())),
        "perf/total_num_tokens": tokens,
        **utilization(model, clock.seconds, peak_flops(run.world.device)),
    }


def validate(run: StageRun, step: int) -> dict[str, float]:
    """Return the mean loss per token over all validation rows."""
    size = run.config.data.train_batch_size
    loss = tokens = 0.0
    for start in range(0, len(run.val_rows), size):
        rows = run.val_rows[start : start + size]
        batch = _share(run, rows)
        log_probs = run.actor.log_probs(batch)
        mask = batch["response_mask"]
        loss -= float(run.world.sum(masked_sum(log_probs.double(), mask)))
        tokens += float(run.world.sum(mask.sum()))
    return {"val/loss": loss / tokens}


def _share(run: StageRun, rows: Sequence[SftRow]) -> Batch:
    """Return this process's rows as a batch. Add a masked row if other processes have one row more."""
    missing = -len(rows) % run.world.size
    mine = run.world.shard([*rows, *[rows[0]] * missing])
    batch = as_batch(mine, run.tokenizer.pad_token_id, run.world.device, rows)
    if missing and run.world.rank >= run.world.size - missing:
        batch["response_mask"][-1] = 0.0
    return batch
