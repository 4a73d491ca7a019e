"""Builds runs of `rewardkit rm` and `rewardkit dpo`, on the parts of SFT runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.checkpoint.export import classifier_names
from rewardkit.trainer.checkpoint.save import ModelCard
from rewardkit.trainer.config.workers import weights_dtype
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.load import (
    DTYPES,
    end_token_ids,
    load_generation_config,
    load_model_config,
    outline_causal_lm,
    outline_value_model,
)
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.models.vision import PictureBook
from rewardkit.trainer.pairs.config import DpoConfig, RmConfig
from rewardkit.trainer.pairs.data import choose_padding, load_dpo_rows, load_rm_rows
from rewardkit.trainer.pairs.loop import Objective, Values
from rewardkit.trainer.pairs.losses import (
    PREFERENCE_LOSSES,
    PairTerms,
    bradley_terry,
    implicit_rewards,
    kl_estimate,
    preference_loss,
)
from rewardkit.trainer.sft.build import Learning, Rows, forward_batching, open_policy
from rewardkit.trainer.sft.checks import sharing
from rewardkit.trainer.sft.config import actor_config
from rewardkit.trainer.sft.data import digests
from rewardkit.trainer.training_run import StageRun
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.scorer import Scorer

TOKEN_SUM = "token-sum"
"""Aggregation by which the loss -A log p of an answer is its weight times its log-probability."""
COLUMNS = {
    "step": "training/global_step",
    "loss": "train/loss",
    "accuracy": "rewards/accuracies",
    "margin": "rewards/margins",
    "val_loss": "val/loss",
    "val_accuracy": "val/accuracy",
    "grad_norm": "train/grad_norm",
    "lr": "train/lr",
    "tokens/s": "perf/throughput",
    "s/step": "timing_s/step",
}
"""Metrics that the console shows for each step, by heading."""


def _load_rm(config: RmConfig, tokenizer: Any, world: World, book: PictureBook | None) -> tuple[Rows, Rows]:
    _refuse_pictures(book)
    classifier_names(load_model_config(config.model.path, config.model))  # refuses what cannot be saved
    data = config.data
    rows: Rows = load_rm_rows(data.train_files, tokenizer, data, data.train_max_samples, world)
    val_rows: Rows = load_rm_rows(data.val_files, tokenizer, data, data.val_max_samples, world)
    ends = _ends(config, tokenizer)
    if rows and not any(set(ends).intersection(row.chosen.response_ids[-4:]) for row in rows):
        world.say(
            f"no row ends with {' or '.join(tokenizer.convert_ids_to_tokens(ends))}, so the model learns to "
            "score unfinished text; use a chat template that ends the assistant's turns"
        )
    choose_padding(tokenizer, ends, [*rows, *val_rows])
    return rows, val_rows


def _refuse_pictures(book: PictureBook | None) -> None:
    if book is not None:
        raise ConfigError(
            "model.path: reward models and preference optimisation are not supported with vision-language "
            "models; use a model for text"
        )


def _ends(config: RmConfig | DpoConfig, tokenizer: Any) -> list[int]:
    return end_token_ids(tokenizer, load_generation_config(config.model.path))


def _open_scorer(config: RmConfig, world: World, total_steps: int) -> Scorer:
    engine = config.engine
    settings = actor_config(config)
    model, places = outline_value_model(
        config.model.path,
        DTYPES[weights_dtype(config.model, engine)],
        config.model,
        say=lambda line: None,
    )
    prepared = prepare(model, config.model, world.device, engine, sequence_parallel=sharing(config))
    return Scorer(
        shard(prepared, world, engine, places),
        world,
        settings,
        samples_per_prompt=2,
        batching=forward_batching(config, settings),
        balance=config.trainer.balance_batch,
        total_steps=total_steps,
    )


def _describe(described: Any, tokenizer: Any, rows: Sequence[Any]) -> ModelCard:
    """Adapt the model's config to a sequence classifier, and return the function for its card."""
    described.num_labels = 1
    described.get_text_config().pad_token_id = described.pad_token_id = tokenizer.pad_token_id

    def card(metrics: Mapping[str, float]) -> dict[str, Any]:
        return {
            "data": dict(digests(rows)),
            "pairs": len(rows),
            "template": hashlib.sha256((tokenizer.chat_template or "").encode()).hexdigest(),
            "end_token": tokenizer.eos_token,
            "heldout_accuracy": metrics.get("val/accuracy"),
            "heldout_loss": metrics.get("val/loss"),
            "mean": metrics.get("val/reward_mean"),
            "std": metrics.get("val/reward_std"),
        }

    return card


def rm_objective(config: RmConfig) -> Objective:
    """Return the objective of a reward model, whose values are its scores."""
    return Objective(
        values=lambda scorer: scorer.scores,
        loss=lambda terms: bradley_terry(terms, config.rm),
        rewards=lambda terms: (terms.chosen, terms.rejected),
        figures=lambda terms: {},
    )


def _load_dpo(config: DpoConfig, tokenizer: Any, world: World, book: PictureBook | None) -> tuple[Rows, Rows]:
    _refuse_pictures(book)
    data = config.data
    labelled = PREFERENCE_LOSSES[config.dpo.loss_type].labelled
    ends = _ends(config, tokenizer)
    rows, val_rows = (
        load_dpo_rows(files, tokenizer, data, most, world, labelled=labelled, ends=ends)
        for files, most in (
            (data.train_files, data.train_max_samples),
            (data.val_files, data.val_max_samples),
        )
    )
    return rows, val_rows


def _open_policy(config: DpoConfig, world: World, total_steps: int) -> Actor:
    return open_policy(config, world, total_steps, actor_config(config, TOKEN_SUM), sequences=2)


def dpo_objective(config: DpoConfig) -> Objective:
    """Return the objective of preference optimisation, whose values are log-probabilities of answers."""
    kind = PREFERENCE_LOSSES[config.dpo.loss_type]

    def figures(terms: PairTerms) -> dict[str, float]:
        if kind.labelled:
            return {"train/kl": float(kl_estimate(terms))}
        return {"logps/chosen": float(terms.chosen.mean()), "logps/rejected": float(terms.rejected.mean())}

    return Objective(
        values=_summed,
        loss=lambda terms: preference_loss(terms, config.dpo),
        rewards=lambda terms: implicit_rewards(terms, config.dpo),
        figures=figures,
        labelled=kind.labelled,
        reference=_reference if kind.reference else None,
    )


def _reference(run: StageRun) -> Values:
    """Return the values of the reference model, which by default is the model before training."""
    config: DpoConfig = run.config
    path = config.dpo.reference_model_path
    if path is None:
        return _summed(run.actor)
    options = type(config.model)(path, trust_remote_code=config.model.trust_remote_code)
    model, places = outline_causal_lm(path, DTYPES[config.engine.model_dtype], options)
    prepared = prepare(
        model, options, run.world.device, config.engine, sequence_parallel=sharing(config)
    ).requires_grad_(False)
    settings = actor_config(config)
    return _summed(
        Reference(
            shard(prepared, run.world, config.engine, places),
            run.world,
            forward_batching(config, settings),
            temperature=1.0,
            sequence_parallel=settings.ulysses_sequence_parallel_size,
        )
    )


def _summed(policy: Reference) -> Values:
    def values(batch: Batch) -> Tensor:
        log_probs = policy.log_probs(batch).double()
        return torch.where(batch["response_mask"].bool(), log_probs, 0.0).sum(dim=1)

    return values


LEARNING = {
    "rm": Learning(_load_rm, _open_scorer, COLUMNS, _describe, scores=True),
    "dpo": Learning(_load_dpo, _open_policy, COLUMNS),
}
OBJECTIVES: dict[str, Callable[[Any], Objective]] = {"rm": rm_objective, "dpo": dpo_objective}
"""Objectives of the stages by name. `LEARNING` contains their other parts."""
