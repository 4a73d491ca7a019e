"""Training loop on pairs, which is the same for reward models and for preference optimisation.

A step first computes the values of all answers without a gradient: scores, or log-probabilities. The
derivatives of the pairs' loss by these values then are the weights with which each answer is trained on its
own, so the two answers to a prompt need not share a forward pass or a process. The gradient is that of the
loss, because nothing in the model is random and each step is a single update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rewardkit.evaluation.pairs import pair_figures
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.logging.utilization import peak_flops, utilization
from rewardkit.trainer.models.sharding import language_model
from rewardkit.trainer.pairs.data import PairRow
from rewardkit.trainer.pairs.losses import PairTerms
from rewardkit.trainer.sft.data import as_batch
from rewardkit.trainer.stepping import take_steps, validate_alone
from rewardkit.trainer.training_run import StageRun

Values = Callable[[Batch], Tensor]
"""Function that returns the value of each answer in a batch, (B,): its score or its log-probability."""


@dataclass(frozen=True)
class Objective:
    """Parts in which the stages that train on pairs differ."""

    values: Callable[[Any], Values]
    """Function that returns the function for values, given the worker that trains the model."""
    loss: Callable[[PairTerms], Tensor]
    """Function that returns the loss of each pair."""
    rewards: Callable[[PairTerms], tuple[Tensor, Tensor]]
    """Function that returns the rewards of both answers."""
    figures: Callable[[PairTerms], dict[str, float]]
    """Function that returns further metrics of a batch."""
    labelled: bool = False
    """True if the rows are single answers with labels."""
    reference: Callable[[StageRun], Values] | None = None
    """Function that returns the function for the reference's values before training, or None."""


def train(run: StageRun, objective: Objective) -> None:
    """Train on pairs to step `run.total_steps`, from the start or from a checkpoint."""
    values = objective.values(run.actor)
    if objective.reference is not None:
        _keep_references(run, objective.reference(run))

    def validate(run: StageRun, step: int) -> dict[str, float]:
        return _validate(run, objective, values)

    step = run.checkpoints.restore()
    if run.config.trainer.val_before_train and run.val_rows and step == 0:
        validate_alone(run, step, validate)
    take_steps(run, step, lambda run, step, clock: _step(run, step, clock, objective, values), validate)


def _keep_references(run: StageRun, values: Values) -> None:
    """Store the reference's values of all answers, before a checkpoint or a step changes the model."""
    size = run.config.data.train_batch_size
    everything: tuple[Any, ...] = (run.feed.loader.rows, run.val_rows)
    for rows in everything:
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            found = _values_of(run, some, _share(run, some), values)
            rows[start : start + size] = [
                replace(row, reference=tuple(both)) for row, both in zip(some, found.tolist(), strict=True)
            ]


def _step(run: StageRun, step: int, clock: Clock, objective: Objective, values: Values) -> dict[str, float]:
    rows = run.feed.rows()
    batch = _share(run, rows)
    with clock("values"):
        found = _values_of(run, rows, batch, values).requires_grad_()
    terms = _terms(rows, found)
    loss = objective.loss(terms).mean()
    (weights,) = torch.autograd.grad(loss, found)
    mine = torch.stack(run.world.shard(list(weights))).flatten().to(batch["response_mask"])
    batch["advantages"] = -mine.unsqueeze(1) * batch["response_mask"]
    with clock("update_actor"):
        learned = run.actor.update(batch, step, run.config.data.seed)
    lengths = batch["attention_mask"].sum(dim=1)
    tokens = float(run.world.sum(lengths.sum()))
    model = {"actor": (language_model(run.actor.model), 2, lengths)}
    return {
        "training/epoch": float(run.feed.epoch),
        "train/loss": float(loss.detach()),
        **{f"train/{key}": learned[key] for key in ("grad_norm", "lr", "skipped_updates") if key in learned},
        **_figures(objective, _detached(terms)),
        "train/global_tokens": tokens,
        "perf/total_num_tokens": tokens,
        **utilization(model, clock.seconds, peak_flops(run.world.device)),
    }


def _figures(objective: Objective, terms: PairTerms) -> dict[str, float]:
    """Return metrics of the rewards, with the names that TRL uses."""
    chosen, rejected = objective.rewards(terms)
    if objective.labelled:
        chosen, rejected = chosen[terms.good], chosen[~terms.good]
        found = {
            "chosen": chosen.mean(),
            "rejected": rejected.mean(),
            "margins": chosen.mean() - rejected.mean(),
        }
    else:
        decided = (chosen != rejected).double()
        right = (chosen > rejected).double()
        found = {
            "chosen": chosen.mean(),
            "rejected": rejected.mean(),
            "margins": (chosen - rejected).mean(),
            "accuracies": right.sum() / decided.sum(),
            "ties": 1 - decided.mean(),
        }
    named = {f"rewards/{name}": float(value) for name, value in found.items()}
    return {k: v for k, v in {**named, **objective.figures(terms)}.items() if v == v}  # without NaN


def _validate(run: StageRun, objective: Objective, values: Values) -> dict[str, float]:
    """Return the loss and the figures of all validation pairs."""
    size = run.config.data.train_batch_size
    parts: list[tuple[PairTerms, Tensor]] = []
    for start in range(0, len(run.val_rows), size):
        rows = run.val_rows[start : start + size]
        terms = _terms(rows, _values_of(run, rows, _share(run, rows), values))
        parts.append((terms, objective.loss(terms)))
    loss = torch.cat([losses for _, losses in parts]).mean()
    if objective.labelled:
        return {"val/loss": float(loss)}
    rewards = [objective.rewards(terms) for terms, _ in parts]
    figures = pair_figures(*(torch.cat(side).tolist() for side in zip(*rewards, strict=True)))
    found = {
        "loss": loss,
        "accuracy": figures.accuracy.mean if figures.accuracy else None,
        "margin": figures.margin.mean if figures.margin else None,
        "ties": figures.tie_rate,
        "ece": figures.ece,
        "reward_chosen": figures.chosen_mean,
        "reward_rejected": figures.rejected_mean,
        "reward_mean": figures.score_mean,
        "reward_std": figures.score_std,
    }
    return {f"val/{name}": float(value) for name, value in found.items() if value is not None}


def _share(run: StageRun, rows: Sequence[PairRow]) -> Batch:
    """Return this process's answers as a batch. If others have one pair more, it contains a repeated one."""
    mine = run.world.shard([*rows, *[rows[0]] * (-len(rows) % run.world.size)])
    flat = [one for row in mine for one in row.sequences]
    among = [one for row in rows for one in row.sequences]
    return as_batch(flat, run.tokenizer.pad_token_id, run.world.device, among)


def _values_of(run: StageRun, rows: Sequence[PairRow], batch: Batch, values: Values) -> Tensor:
    """Return the values of the chosen and the rejected answer in each pair, (N, 2) float64.

    All processes get the same values in the same order, so that no division changes the loss.
    """
    shares = run.world.gather(values(batch).double().view(-1, 2).tolist())
    size = len(shares)
    return torch.tensor([shares[i % size][i // size] for i in range(len(rows))], dtype=torch.float64)


def _terms(rows: Sequence[PairRow], values: Tensor) -> PairTerms:
    chosen, rejected = values.unbind(1)
    reference = torch.tensor([row.reference for row in rows], dtype=torch.float64)
    tokens = torch.tensor([[sum(one.trained) for one in row.sequences] for row in rows], dtype=torch.float64)
    return PairTerms(
        chosen=chosen,
        rejected=rejected,
        reference_chosen=reference[:, 0],
        reference_rejected=reference[:, 1],
        chosen_tokens=tokens[:, 0],
        rejected_tokens=tokens[:, 1],
        margins=torch.tensor([row.margin for row in rows], dtype=torch.float64),
        good=torch.tensor([row.good for row in rows]),
    )


def _detached(terms: PairTerms) -> PairTerms:
    return replace(terms, chosen=terms.chosen.detach(), rejected=terms.rejected.detach())
