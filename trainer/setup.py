"""Builds everything the loop works with, from a checked config."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.batch import Row
from rewardkit.trainer.config import ActorRolloutRefConfig, Config, KlCtrlConfig, as_yaml
from rewardkit.trainer.data import PromptLoader, load_rows
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logger import Logger
from rewardkit.trainer.models import (
    DTYPES,
    load_causal_lm,
    load_model_config,
    load_tokenizer,
    load_value_model,
    shard,
)
from rewardkit.trainer.rewards import RewardSource, open_rewards
from rewardkit.trainer.rollout.base import RolloutEngine
from rewardkit.trainer.rollout.hf import HfRollout, unsharded_copy
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.critic import Critic


@dataclass
class Parts:
    """What the loop works with."""

    config: Config
    world: World
    tokenizer: Any
    model_config: Any
    loader: PromptLoader
    val_rows: list[Row]
    total_steps: int
    rewards: RewardSource
    actor: Actor
    reference: Reference | None
    """None where no KL penalty is asked for."""
    critic: Critic
    rollout: RolloutEngine
    kl: KlController
    logger: Logger
    folder: Path
    """`trainer.default_local_dir`."""


@contextmanager
def open_parts(config: Config, world: World) -> Iterator[Parts]:
    """Build them: data first, models last; close reward workers and the log at the end, however it comes."""
    path = config.actor_rollout_ref.model.path
    folder = Path(config.trainer.default_local_dir)
    tokenizer = load_tokenizer(path)
    train_rows = load_rows(config.data.train_files, tokenizer, config.data)
    loader = PromptLoader(
        train_rows,
        config.data.train_batch_size,
        shuffle=config.data.shuffle,
        seed=config.data.seed,
    )
    val_rows = load_rows(config.data.val_files, tokenizer, config.data)
    total_steps = config.trainer.total_training_steps or config.trainer.total_epochs * loader.steps_per_epoch
    if world.is_main:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(as_yaml(config), encoding="utf-8")
    with ExitStack() as stack:
        sources = {row.data_source for row in (*train_rows, *val_rows)}
        rewards = stack.enter_context(closing(open_rewards(config, sources, world.size)))
        actor, reference, rollout = _policy(config, world, tokenizer)
        yield Parts(
            config=config,
            world=world,
            tokenizer=tokenizer,
            model_config=load_model_config(path),
            loader=loader,
            val_rows=val_rows,
            total_steps=total_steps,
            rewards=rewards,
            actor=actor,
            reference=reference,
            critic=_critic(config, world),
            rollout=rollout,
            kl=_kl_controller(config.algorithm.kl_ctrl),
            logger=stack.enter_context(
                Logger(config.trainer.logger, folder, total_steps, active=world.is_main)
            ),
            folder=folder,
        )
        rollout.close()  # not after an error: other processes may wait in a collective


def _policy(config: Config, world: World, tokenizer: Any) -> tuple[Actor, Reference | None, RolloutEngine]:
    policy = config.actor_rollout_ref
    model = load_causal_lm(policy.model.path)
    rollout = open_rollout(policy, world, model, tokenizer)
    reference = None
    if config.algorithm.use_kl_in_reward:
        frozen = unsharded_copy(model, torch.float32, world.device).requires_grad_(False)
        reference = Reference(
            shard(frozen, world, policy.actor.fsdp_config),
            temperature=policy.rollout.temperature,
            micro_batch_size=policy.ref.log_prob_micro_batch_size_per_gpu,
        )
    actor = Actor(
        shard(model, world, policy.actor.fsdp_config),
        world,
        policy.actor,
        samples_per_prompt=policy.rollout.n,
        temperature=policy.rollout.temperature,
        log_prob_micro_batch_size=policy.rollout.log_prob_micro_batch_size_per_gpu,
    )
    return actor, reference, rollout


def open_rollout(policy: ActorRolloutRefConfig, world: World, model: Any, tokenizer: Any) -> RolloutEngine:
    """Return the engine that `rollout.name` asks for; `model` is the policy, not yet sharded."""
    eos_ids = [] if policy.rollout.ignore_eos else _eos_ids(model, tokenizer)
    if policy.rollout.name == "hf":
        return HfRollout(
            unsharded_copy(model, DTYPES[policy.rollout.dtype], world.device),
            eos_ids=eos_ids,
            pad_id=tokenizer.pad_token_id,
            response_length=policy.rollout.response_length,
            micro_batch_size=policy.rollout.micro_batch_size,
        )
    from rewardkit.trainer.rollout.vllm import VllmRollout  # vLLM is an extra, and takes seconds to import

    return VllmRollout(
        policy.model.path,
        model.config,
        policy.rollout,
        device=world.device,
        weight_names=[name for name, _ in model.named_parameters()],
        eos_ids=eos_ids,
        pad_id=tokenizer.pad_token_id,
    )


def _critic(config: Config, world: World) -> Critic:
    model = shard(load_value_model(config.critic.model.path), world, config.critic.fsdp_config)
    return Critic(model, world, config.critic, samples_per_prompt=config.actor_rollout_ref.rollout.n)


def _kl_controller(config: KlCtrlConfig) -> KlController:
    target = config.target_kl if config.type == "adaptive" else None
    return KlController(config.kl_coef, target, config.horizon)


def _eos_ids(model: Any, tokenizer: Any) -> list[int]:
    """Every token that ends a response: the tokenizer's, and those of the generation config."""
    configured = model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({tokenizer.eos_token_id, *(i for i in listed if i is not None)})
