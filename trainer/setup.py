"""Builds everything the loop works with, from a checked config."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rewardkit.trainer.algorithms.advantages import WITH_CRITIC
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.batch import Row
from rewardkit.trainer.checkpoint import Checkpoints
from rewardkit.trainer.config import Config, KlCtrlConfig
from rewardkit.trainer.config_workers import ActorRolloutRefConfig, RefConfig, RolloutConfig
from rewardkit.trainer.data import PromptLoader, load_rows
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logger import Logger
from rewardkit.trainer.models import (
    DTYPES,
    load_causal_lm,
    load_model_config,
    load_tokenizer,
    load_value_model,
    prepare,
    shard,
)
from rewardkit.trainer.rewards import RewardSource, open_rewards
from rewardkit.trainer.rollout.base import RolloutEngine
from rewardkit.trainer.rollout.hf import HfRollout, unsharded_copy
from rewardkit.trainer.settings import as_yaml
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.batching import Batching
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
    """None where no KL is asked for, in the reward or in the loss."""
    critic: Critic | None
    """None where the advantages need none."""
    rollout: RolloutEngine
    kl: KlController
    logger: Logger
    checkpoints: Checkpoints
    folder: Path
    """`trainer.default_local_dir`."""


@contextmanager
def open_parts(config: Config, world: World) -> Iterator[Parts]:
    """Build them: data first, models last; close reward workers and the log at the end, however it comes."""
    model = config.actor_rollout_ref.model
    folder = Path(config.trainer.default_local_dir)
    tokenizer = load_tokenizer(model.path, trust_remote_code=model.trust_remote_code)
    train_rows = load_rows(config.data.train_files, tokenizer, config.data, config.data.train_max_samples)
    loader = PromptLoader(
        train_rows,
        config.data.train_batch_size,
        shuffle=config.data.shuffle,
        seed=config.data.seed,
    )
    val_rows = load_rows(config.data.val_files, tokenizer, config.data, config.data.val_max_samples)
    total_steps = config.trainer.total_training_steps or config.trainer.total_epochs * loader.steps_per_epoch
    if world.is_main:
        folder.mkdir(parents=True, exist_ok=True)
    checkpoints = Checkpoints(config, world)
    if world.is_main:
        (folder / "config.yaml").write_text(as_yaml(config), encoding="utf-8")
        if "fsdp" in (config.actor_rollout_ref.actor.strategy, config.critic.strategy):
            print("strategy=fsdp: sharding is done by FSDP2, with the same result; FSDP1 is not in here")
    with ExitStack() as stack:
        sources = {row.data_source for row in (*train_rows, *val_rows)}
        rewards = stack.enter_context(closing(open_rewards(config, sources)))
        actor, reference, rollout = _policy(config, world, tokenizer, total_steps)
        yield Parts(
            config=config,
            world=world,
            tokenizer=tokenizer,
            model_config=load_model_config(model.path, model),
            loader=loader,
            val_rows=val_rows,
            total_steps=total_steps,
            rewards=rewards,
            actor=actor,
            reference=reference,
            critic=_critic(config, world, total_steps),
            rollout=rollout,
            kl=_kl_controller(config.algorithm.kl_ctrl),
            logger=stack.enter_context(Logger(config, folder, total_steps, active=world.is_main)),
            checkpoints=checkpoints,
            folder=folder,
        )
        rollout.close()  # not after an error: other processes may wait in a collective


def _policy(
    config: Config, world: World, tokenizer: Any, total_steps: int
) -> tuple[Actor, Reference | None, RolloutEngine]:
    policy = config.actor_rollout_ref
    fsdp, ref_fsdp = policy.actor.fsdp_config, policy.ref.fsdp_config
    model = load_causal_lm(policy.model.path, DTYPES[fsdp.model_dtype], policy.model)
    rollout = open_rollout(policy, world, model, tokenizer)
    needs_reference = config.algorithm.use_kl_in_reward or policy.actor.use_kl_loss
    adapted = policy.model.lora_rank > 0
    frozen: nn.Module | None = None
    if needs_reference and not adapted:
        frozen = unsharded_copy(model, DTYPES[ref_fsdp.model_dtype], torch.device("cpu"))
        frozen = prepare(frozen, policy.model, world.device, ref_fsdp).requires_grad_(False)
        frozen = shard(frozen, world, ref_fsdp)
    balance, temperature = config.trainer.balance_batch, policy.rollout.temperature
    actor = Actor(
        shard(prepare(model, policy.model, world.device, fsdp), world, fsdp),
        world,
        policy.actor,
        samples_per_prompt=policy.rollout.n,
        temperature=temperature,
        log_prob_batching=_forward_batching(policy.rollout, balance),
        balance=balance,
        total_steps=total_steps,
    )
    reference = None
    if needs_reference:
        batching = _forward_batching(policy.ref, balance)
        model = actor.model if frozen is None else frozen
        reference = Reference(model, world, batching, temperature=temperature, base_of_adapter=frozen is None)
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


def _forward_batching(given: RolloutConfig | RefConfig, balance: bool) -> Batching:
    tokens = given.log_prob_max_token_len_per_gpu if given.log_prob_use_dynamic_bsz else None
    return Batching(given.log_prob_micro_batch_size_per_gpu, tokens, balance)


def _critic(config: Config, world: World, total_steps: int) -> Critic | None:
    if config.algorithm.adv_estimator not in WITH_CRITIC:
        return None
    options, fsdp = config.critic.model, config.critic.fsdp_config
    model = load_value_model(options.path, DTYPES[fsdp.model_dtype], options)
    return Critic(
        shard(prepare(model, options, world.device, fsdp), world, fsdp),
        world,
        config.critic,
        samples_per_prompt=config.actor_rollout_ref.rollout.n,
        balance=config.trainer.balance_batch,
        total_steps=total_steps,
    )


def _kl_controller(config: KlCtrlConfig) -> KlController:
    target = config.target_kl if config.type == "adaptive" else None
    return KlController(config.kl_coef, target, config.horizon)


def _eos_ids(model: Any, tokenizer: Any) -> list[int]:
    """Every token that ends a response: the tokenizer's, and those of the generation config."""
    configured = model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({tokenizer.eos_token_id, *(i for i in listed if i is not None)})
