"""Builds the objects for an SFT run from a checked config, with data first and the model last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardkit.model_folders import model_folder
from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.checkpoint.find import find_checkpoint
from rewardkit.trainer.checkpoint.save import Checkpoints, Learned, check_fits, open_folder
from rewardkit.trainer.config.root import TrainerConfig, world_size
from rewardkit.trainer.data import ALONE, PromptLoader, require_validation
from rewardkit.trainer.distributed import World, device_of
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.models.load import (
    DTYPES,
    end_token_ids,
    load_generation_config,
    load_model_config,
    load_tokenizer,
    outline_causal_lm,
)
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.models.without_weights import TrialModel, try_model
from rewardkit.trainer.sft.checks import sharing, template_of
from rewardkit.trainer.sft.config import SftConfig, actor_config
from rewardkit.trainer.sft.data import SftRow, digests, load_rows
from rewardkit.trainer.training_run import StageRun
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.batching import Batching

COLUMNS = {
    "step": "training/global_step",
    "loss": "train/loss",
    "val_loss": "val/loss",
    "entropy": "train/entropy",
    "grad_norm": "train/grad_norm",
    "lr": "train/lr",
    "tokens/s": "perf/throughput",
    "s/step": "timing_s/step",
}
"""Metrics that the console shows for each step, by heading."""


@dataclass(frozen=True)
class _SftData:
    loader: PromptLoader[SftRow]
    val_rows: list[SftRow]
    total_steps: int


@contextmanager
def open_run(config: SftConfig, world: World) -> Iterator[StageRun]:
    """Build a run for the block, and close the run's log at the end, even after an error.

    Raises:
        RewardkitError: The data, a checkpoint or the model cannot be opened.
    """
    tokenizer = _open_tokenizer(config)
    data = _open_data(config, tokenizer, world)
    _try_model(config, world.device, tokenizer, data, world)
    folder = Path(config.trainer.default_local_dir)
    with ExitStack() as stack:
        start = stack.enter_context(open_folder(config, world))
        actor = _open_actor(config, world, data.total_steps)
        described = load_model_config(config.model.path, config.model)
        alarms = Alarms(TrainerConfig())  # SFT has a single metric with an alarm, `skipped_updates`
        feed: Feed[Batch] = Feed(data.loader, TrainerConfig(), data.total_steps, world)
        learned = Learned(actor, None, feed, KlController(0.0), alarms, tokenizer, described)
        logger = stack.enter_context(
            Logger(config, folder, data.total_steps, active=world.is_main, columns=COLUMNS)
        )
        yield StageRun(
            config=config,
            world=world,
            tokenizer=tokenizer,
            feed=feed,
            val_rows=data.val_rows,
            total_steps=data.total_steps,
            actor=actor,
            alarms=alarms,
            logger=logger,
            checkpoints=Checkpoints(
                config, config.checkpoint, world, start, learned, data.total_steps, logger.say
            ),
        )


def rehearse(config: SftConfig) -> None:
    """Load the tokenizer and rows as a run does before it loads weights. Nothing is downloaded.

    Raises:
        RewardkitError: The run would fail. The message describes the first problem.
    """
    if model_folder(config.model.path) is None:
        return
    tokenizer = _open_tokenizer(config)
    data = _open_data(config, tokenizer, ALONE)
    _try_model(config, device_of(config.trainer.device), tokenizer, data, ALONE)


def _open_tokenizer(config: SftConfig) -> Any:
    tokenizer = load_tokenizer(config.model.path, trust_remote_code=config.model.trust_remote_code)
    tokenizer.chat_template = template_of(config) or tokenizer.chat_template
    return tokenizer


def _open_data(config: SftConfig, tokenizer: Any, world: World) -> _SftData:
    data = config.data
    ends = end_token_ids(tokenizer, load_generation_config(config.model.path))
    rows = load_rows(data.train_files, tokenizer, data, data.train_max_samples, world, ends)
    val_rows = load_rows(data.val_files, tokenizer, data, data.val_max_samples, world, ends)
    loader = PromptLoader(
        rows, data.train_batch_size, shuffle=data.shuffle, seed=data.seed, files=digests(rows)
    )
    require_validation(data.val_files, data.val_max_samples, val_rows)
    steps = config.trainer.total_epochs * loader.steps_per_epoch
    return _SftData(loader, val_rows, config.trainer.total_training_steps or steps)


def _try_model(config: SftConfig, device: torch.device, tokenizer: Any, data: _SftData, world: World) -> None:
    """Build the model without weights, and compare it with the checkpoint that a run would resume from."""
    rows = [*data.loader.rows, *data.val_rows]
    used = max(max(ids) for row in rows for ids in (row.token_ids, row.response_ids))
    asked = TrialModel(
        "model",
        config.model,
        config.engine,
        device,
        world_size(config),
        tokens=1 + max(used, tokenizer.pad_token_id),
        longest=max(len(row.token_ids) + len(row.response_ids) for row in rows),
        limit="the longest row has",
        sequence_parallel=sharing(config),
    )
    tried = try_model(asked)
    for line in tried.notes if tried else ():
        world.say(line)
    start = find_checkpoint(config)
    if start is not None and tried is not None:
        check_fits(start, data.loader, {"actor": tried.model})


def _open_actor(config: SftConfig, world: World, total_steps: int) -> Actor:
    engine = config.engine
    settings = actor_config(config)
    model, places = outline_causal_lm(config.model.path, DTYPES[engine.model_dtype], config.model)
    prepared = prepare(model, config.model, world.device, engine, sequence_parallel=sharing(config))
    forward = Batching.of(
        settings.ppo_micro_batch_size_per_gpu,
        settings.ppo_max_token_len_per_gpu,
        dynamic=settings.use_dynamic_bsz,
        balance=config.trainer.balance_batch,
        sharing=sharing(config),
    )
    return Actor(
        shard(prepared, world, engine, places),
        world,
        settings,
        loss=POLICY_LOSSES["gpg"],  # -A log p
        samples_per_prompt=1,
        temperature=1.0,
        log_prob_batching=forward,
        balance=config.trainer.balance_batch,
        total_steps=total_steps,
    )
