"""Builds a run on given responses from a checked config, with data first and the model last.

SFT, reward models and preference optimisation differ only in the parts that `Learning` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from rewardkit.trainer.checkpoint.save import Checkpoints, Learned, ModelCard, check_fits, open_folder
from rewardkit.trainer.config.root import TrainerConfig, world_size
from rewardkit.trainer.config.workers import ActorConfig, weights_dtype
from rewardkit.trainer.data import ALONE, PromptLoader, require_validation
from rewardkit.trainer.distributed import World, device_of
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.models.heads import PolicyModel
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
from rewardkit.trainer.models.vision import PictureBook, Vision
from rewardkit.trainer.models.without_weights import TrialModel, try_model
from rewardkit.trainer.sft.checks import sharing, template_of
from rewardkit.trainer.sft.config import GivenConfig, SftConfig, actor_config
from rewardkit.trainer.sft.data import GivenRow, digests, load_rows
from rewardkit.trainer.training_run import StageRun
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.scorer import Scorer

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


Trained = Actor | Scorer
Rows = list[Any]
"""Rows of one stage, each a `GivenRow`."""


@dataclass(frozen=True)
class Learning:
    """Parts of a run in which the stages that train on given responses differ."""

    load: Callable[[Any, Any, World, PictureBook | None], tuple[Rows, Rows]]
    """Function that reads the training rows and the validation rows, given the config, the tokenizer and the
    book for their pictures, or None if the model reads only text."""
    open: Callable[[Any, World, int], Trained]
    """Function that loads the model to train in a run of so many steps."""
    columns: Mapping[str, str]
    """Metrics that the console shows for each step, by heading."""
    describe: Callable[[Any, Any, Sequence[GivenRow]], ModelCard | None] = lambda *_: None
    """Function that adapts the model's config, given the tokenizer and the rows, and returns a model card."""
    scores: bool = False
    """True if the model to train is a reward model, False if it is a language model."""


@dataclass(frozen=True)
class _Data:
    loader: PromptLoader[Any]
    val_rows: Rows
    total_steps: int
    book: PictureBook | None
    """Pictures of the rows, if the model is a vision-language model."""


@contextmanager
def open_run(config: GivenConfig, world: World, learning: Learning) -> Iterator[StageRun]:
    """Build a run for the block, and close the run's log at the end, even after an error.

    Raises:
        RewardkitError: The data, a checkpoint or the model cannot be opened.
    """
    tokenizer = _open_tokenizer(config)
    data = _open_data(config, tokenizer, world, learning)
    _try_model(config, world.device, tokenizer, data, world, learning)
    folder = Path(config.trainer.default_local_dir)
    with ExitStack() as stack:
        start = stack.enter_context(open_folder(config, world))
        actor = learning.open(config, world, data.total_steps)
        if data.book is not None and isinstance(actor.model, PolicyModel):
            actor.model.book = data.book
        described = load_model_config(config.model.path, config.model)
        card = learning.describe(described, tokenizer, data.loader.rows)
        alarms = Alarms(TrainerConfig())  # the only metric with an alarm is `skipped_updates`
        feed: Feed[Batch] = Feed(data.loader, TrainerConfig(), data.total_steps, world)
        saved = tokenizer if data.book is None else data.book.vision.processor
        learned = Learned(actor, None, feed, KlController(0.0), alarms, saved, described, card=card)
        logger = stack.enter_context(
            Logger(config, folder, data.total_steps, active=world.is_main, columns=learning.columns)
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


def rehearse(config: GivenConfig, learning: Learning) -> None:
    """Load the tokenizer and rows as a run does before it loads weights. Nothing is downloaded.

    Raises:
        RewardkitError: The run would fail. The message describes the first problem.
    """
    if model_folder(config.model.path) is None:
        return
    tokenizer = _open_tokenizer(config)
    data = _open_data(config, tokenizer, ALONE, learning)
    _try_model(config, device_of(config.trainer.device), tokenizer, data, ALONE, learning)


def load_sft_rows(
    config: SftConfig, tokenizer: Any, world: World, book: PictureBook | None
) -> tuple[Rows, Rows]:
    """Return the training rows and the validation rows for SFT."""
    data = config.data
    ends = end_token_ids(tokenizer, load_generation_config(config.model.path))
    rows = load_rows(data.train_files, tokenizer, data, data.train_max_samples, world, ends, book)
    return rows, load_rows(data.val_files, tokenizer, data, data.val_max_samples, world, ends, book)


def _open_tokenizer(config: GivenConfig) -> Any:
    tokenizer = load_tokenizer(config.model.path, trust_remote_code=config.model.trust_remote_code)
    tokenizer.chat_template = template_of(config) or tokenizer.chat_template
    return tokenizer


def _open_data(config: GivenConfig, tokenizer: Any, world: World, learning: Learning) -> _Data:
    data = config.data
    vision = Vision.of(config.model.path, tokenizer, trust_remote_code=config.model.trust_remote_code)
    book = None if vision is None else PictureBook(vision)
    rows, val_rows = learning.load(config, tokenizer, world, book)
    loader = PromptLoader(
        rows, data.train_batch_size, shuffle=data.shuffle, seed=data.seed, files=digests(rows, book)
    )
    require_validation(data.val_files, data.val_max_samples, val_rows)
    steps = config.trainer.total_epochs * loader.steps_per_epoch
    return _Data(loader, val_rows, config.trainer.total_training_steps or steps, book)


def _try_model(
    config: GivenConfig,
    device: torch.device,
    tokenizer: Any,
    data: _Data,
    world: World,
    learning: Learning,
) -> None:
    """Build the model without weights, and compare it with the checkpoint that a run would resume from."""
    rows = [one for row in (*data.loader.rows, *data.val_rows) for one in row.sequences]
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
        value=learning.scores,
        sequence_parallel=sharing(config),
    )
    tried = try_model(asked)
    for line in tried.notes if tried else ():
        world.say(line)
    start = find_checkpoint(config)
    if start is not None and tried is not None:
        check_fits(start, data.loader, {"actor": tried.model})


def open_actor(config: SftConfig, world: World, total_steps: int) -> Actor:
    """Load the language model to train in SFT, whose loss is the mean over tokens."""
    return open_policy(config, world, total_steps, actor_config(config), sequences=1)


def open_policy(
    config: GivenConfig, world: World, total_steps: int, settings: ActorConfig, *, sequences: int
) -> Actor:
    """Load the language model to train on rows of so many sequences. The loss is -A log p."""
    engine = config.engine
    model, places = outline_causal_lm(
        config.model.path, DTYPES[weights_dtype(config.model, engine)], config.model
    )
    prepared = prepare(model, config.model, world.device, engine, sequence_parallel=sharing(config))
    return Actor(
        shard(prepared, world, engine, places),
        world,
        settings,
        loss=POLICY_LOSSES["gpg"],  # -A log p
        samples_per_prompt=sequences,
        temperature=1.0,
        log_prob_batching=forward_batching(config, settings),
        balance=config.trainer.balance_batch,
        total_steps=total_steps,
    )


def forward_batching(config: GivenConfig, settings: ActorConfig) -> Batching:
    """Return the batching of forward passes without an update. It is the same as in an update."""
    return Batching.of(
        settings.ppo_micro_batch_size_per_gpu,
        settings.ppo_max_token_len_per_gpu,
        dynamic=settings.use_dynamic_bsz,
        balance=config.trainer.balance_batch,
        sharing=sharing(config),
    )


SFT = Learning(load_sft_rows, open_actor, COLUMNS)
