"""Builds the parts of a run from a checked config: data first, models last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.errors import ConfigError
from rewardkit.identity.run_folders import write_identities
from rewardkit.model_folders import model_folder
from rewardkit.trainer.agents import open_agents, prompt_reader, uses_agents, with_tokenizer
from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.checkpoint.find import find_checkpoint
from rewardkit.trainer.checkpoint.save import Checkpoints, Learned, check_fits, open_folder
from rewardkit.trainer.config.root import (
    Config,
    DistillationConfig,
    KlCtrlConfig,
    bypasses,
    loss_mode,
    needs_reference,
    step_order,
    world_size,
)
from rewardkit.trainer.config.workers import (
    ActorRolloutRefConfig,
    ModelConfig,
    RefConfig,
    RolloutConfig,
    computing_dtype,
    group_size,
    has_adapter,
    weights_dtype,
)
from rewardkit.trainer.data import ALONE, PromptLoader, agent_names, file_list, load_rows, require_validation
from rewardkit.trainer.distributed import World, device_of
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.models.heads import PolicyModel, has_no_weights
from rewardkit.trainer.models.load import (
    DTYPES,
    end_token_ids,
    load_model_config,
    load_tokenizer,
    outline_causal_lm,
    outline_value_model,
    unsharded_copy,
)
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.quantised import without_quantization
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.models.shards import ShardPlaces
from rewardkit.trainer.models.vision import PictureBook, Vision, freeze_tower
from rewardkit.trainer.models.without_weights import TrialModel, try_classifier, try_model
from rewardkit.trainer.reward_server import reward_server
from rewardkit.trainer.rewards import identities_here, model_identities, open_rewards
from rewardkit.trainer.rollout.base import EngineSetup, RolloutEngine
from rewardkit.trainer.rollout.engines import ENGINES
from rewardkit.trainer.rollout.vllm import at_once
from rewardkit.trainer.run.rules import WITH_PICTURES, check_rules
from rewardkit.trainer.steps.dynamic import DifferingGroups
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.critic import Critic
from rewardkit.trainer.workers.teacher import Teacher

LEARNING = {"actor_rollout_ref.model": "actor", "critic.model": "critic"}
"""Names of the trained models in a checkpoint, by their section in the settings."""


@dataclass(frozen=True)
class _Data:
    loader: PromptLoader[PromptRow]
    val_rows: Sequence[PromptRow]
    data_sources: set[str]
    largest_id: int
    """Largest token id in any prompt."""
    total_steps: int
    book: PictureBook | None
    """Pictures in the prompts, if the policy is a vision-language model."""


@dataclass(frozen=True)
class _Policy:
    actor: Actor
    reference: Reference | None
    rollout: RolloutEngine
    eos_ids: list[int]


@contextmanager
def open_run(config: Config, world: World) -> Iterator[TrainingRun]:
    """Build a run for the block. Its reward workers and log are closed at the end, even after an error.

    Raises:
        RewardkitError: The data, the rewards, a checkpoint or a model cannot be opened.
    """
    model = config.actor_rollout_ref.model
    saved = config.actor_rollout_ref.actor.checkpoint
    tokenizer = load_tokenizer(model.path, trust_remote_code=model.trust_remote_code)
    agents = _open_agents(config, tokenizer)
    data = _open_data(config, tokenizer, agents, say=world.say, world=world)
    _try_models(config, world.device, tokenizer, data, say=world.say)
    folder = Path(config.trainer.default_local_dir)
    with ExitStack() as stack:
        start = stack.enter_context(open_folder(config, world))
        sources = sorted(data.data_sources)
        server = stack.enter_context(reward_server(config, sources, world))
        rewards = stack.enter_context(closing(open_rewards(config, sources, server=server, ready=True)))
        if world.is_main:
            by_model = model_identities(config, sources)
            write_identities(identities_here(rewards, sources) | by_model, folder)
        teacher = _open_teacher(config, world)
        policy = _open_policy(config, world, tokenizer, data, teacher)
        critic = _open_critic(config, world, data)
        kl = _kl_controller(config.algorithm.kl_ctrl)
        alarms = Alarms(config.trainer)
        logger = stack.enter_context(Logger(config, folder, data.total_steps, active=world.is_main))
        feed = _feed(config, data, world, policy.rollout)
        saver = tokenizer if data.book is None else data.book.vision.processor
        learned = Learned(policy.actor, critic, feed, kl, alarms, saver, load_model_config(model.path, model))
        if _follows(config) and policy.reference is not None:
            learned = replace(learned, reference=policy.reference.model)
        yield TrainingRun(
            config=config,
            world=world,
            tokenizer=tokenizer,
            feed=feed,
            val_rows=data.val_rows,
            total_steps=data.total_steps,
            rewards=rewards,
            actor=policy.actor,
            reference=policy.reference,
            teacher=teacher,
            critic=critic,
            rollout=policy.rollout,
            book=data.book,
            kl=kl,
            alarms=alarms,
            logger=logger,
            checkpoints=Checkpoints(config, saved, world, start, learned, data.total_steps, logger.say),
            eos_ids=policy.eos_ids,
            needs_old_log_probs=needs_old_log_probs(config),
            agents=None if agents is None else with_tokenizer(agents, config, tokenizer, policy.eos_ids),
        )
        # After an error, this call is skipped, because other processes may be in a collective.
        policy.rollout.close()


def rehearse(config: Config) -> None:
    """Read tokenizer, agents and prompts as a run does before it loads weights, without downloading anything.

    Raises:
        RewardkitError: The run would fail with this error.
    """
    model = config.actor_rollout_ref.model
    if model_folder(model.path) is None:
        return
    tokenizer = load_tokenizer(model.path, trust_remote_code=model.trust_remote_code)
    data = _open_data(config, tokenizer, _open_agents(config, tokenizer), say=ALONE.say)
    _try_models(config, device_of(config.trainer.device), tokenizer, data, say=ALONE.say)


def _try_models(
    config: Config, device: torch.device, tokenizer: Any, data: _Data, say: Callable[[str], None]
) -> None:
    """Build each model without weights, and compare it with the checkpoint that a resume would load."""
    used = 1 + max(tokenizer.eos_token_id, tokenizer.pad_token_id, data.largest_id)
    _check_teacher(config, tokenizer, say)
    tried = {asked: try_model(asked) for asked in _asked_models(config, device, used, len(tokenizer))}
    for line in dict.fromkeys(line for one in tried.values() if one for line in one.notes):
        say(line)
    if config.reward_model.enable and not config.reward_model.url:
        try_classifier("reward_model.model.path", str(config.reward_model.model.path))
    start = find_checkpoint(config)
    if start is not None:
        learning = {
            LEARNING[asked.key]: one.model for asked, one in tried.items() if one and asked.key in LEARNING
        }
        if _follows(config) and "actor" in learning:
            learning["reference"] = learning["actor"]
        check_fits(start, data.loader, learning)


def _follows(config: Config) -> bool:
    """Return True if the run has a reference that moves towards the policy."""
    return needs_reference(config) and config.actor_rollout_ref.ref.sync_steps is not None


def _asked_models(config: Config, device: torch.device, used: int, known: int) -> Iterator[TrialModel]:
    """Yield the models of the run, with the number of token ids that each model must support.

    Args:
        used: Number of token ids, counted from 0, that includes all ids in the data. The policy needs no
            other embeddings, since it generates no token without an embedding. The critic also reads the
            tokens that the policy generates.
        known: Number of tokens in the tokenizer.
    """
    policy = config.actor_rollout_ref
    critic = config.critic
    rollout = policy.rollout
    processes = world_size(config)
    shared: dict[str, Any] = {"device": device, "processes": processes}
    shared["longest"] = rollout.prompt_length + rollout.response_length
    models = [(policy.actor.fsdp_config, policy.actor.ulysses_sequence_parallel_size)]
    if needs_reference(config) and not has_adapter(policy.model):
        models.append((policy.ref.fsdp_config, policy.ref.ulysses_sequence_parallel_size))
    for fsdp, split in models:
        size = group_size(split, processes)
        yield TrialModel(
            "actor_rollout_ref.model", policy.model, fsdp, tokens=used, sequence_parallel=size, **shared
        )
    if config.distillation.enabled:
        size = group_size(policy.ref.ulysses_sequence_parallel_size, processes)
        options = _teacher_options(config)
        of_teacher: dict[str, Any] = {"tokens": used, "sequence_parallel": size}
        key = "distillation.teacher_models.teacher_model"
        yield TrialModel(key, options, policy.ref.fsdp_config, **of_teacher, **shared)
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        size = group_size(critic.ulysses_sequence_parallel_size, processes)
        embedded = load_model_config(policy.model.path, policy.model).get_text_config().vocab_size
        drawn = min(known, embedded)  # A tokenizer may have more tokens than its model has embeddings.
        of_critic: dict[str, Any] = {"tokens": max(used, drawn), "sequence_parallel": size, "value": True}
        yield TrialModel("critic.model", critic.model, critic.fsdp_config, **of_critic, **shared)


def needs_old_log_probs(config: Config) -> bool:
    """Return True if the policy's log-probabilities must be computed before the policy is updated.

    If the whole batch is used in one optimizer step, the update computes them itself, unless another setting
    needs them earlier. In bypass mode, the rollout engine's log-probabilities are used instead where
    possible.
    """
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    old = (
        actor.ppo_epochs > 1
        or actor.ppo_mini_batch_size != config.data.train_batch_size
        or config.algorithm.use_kl_in_reward
        or config.distillation.rewards_tokens
        or POLICY_LOSSES[loss_mode(config)].choose is not None
    )
    return (
        (old and not bypasses(config))
        or config.algorithm.rollout_correction.rollout_is is not None
        or bool(config.algorithm.rollout_correction.rollout_rs)
        or ESTIMATORS[config.algorithm.adv_estimator].squares
        # Without the engine's log-probabilities of the whole distribution, only this pass has the entropy.
        or not (rollout.calculate_log_probs and rollout.do_sample)
        or rollout.restricted
    )


def open_rollout(
    policy: ActorRolloutRefConfig, world: World, model: Any, tokenizer: Any, vision: Vision | None = None
) -> RolloutEngine:
    """Open the rollout engine that `rollout.name` selects.

    Args:
        policy: Settings of policy, reference and rollout engine.
        world: All processes of the run.
        model: Policy before it is sharded.
        tokenizer: Tokenizer of the policy.
        vision: Processor of the policy if it is a vision-language model.
    """
    eos_ids = _eos_ids(policy, model, tokenizer)
    setup = EngineSetup(policy, model, world.device, eos_ids, tokenizer.pad_token_id, vision)
    return ENGINES[policy.rollout.name].open(setup)


def _feed(config: Config, data: _Data, world: World, rollout: RolloutEngine) -> Feed[Any]:
    asked = config.algorithm.filter_groups
    selects = asked.enable and step_order(config.trainer) == "ready"
    limit = (asked.max_num_gen_batches or math.inf) - 1
    return Feed(
        data.loader,
        config.trainer,
        data.total_steps,
        world,
        rollout.attend,
        fits=DifferingGroups(config, world) if selects else None,
        most_rejected=limit * config.data.train_batch_size,
    )


def _open_agents(config: Config, tokenizer: Any) -> EpisodeSetup | None:
    """Return the setup shared by all episodes, or None if no row needs multi-turn episodes."""
    data = config.data
    files = (*file_list(data.train_files), *file_list(data.val_files))
    if not uses_agents(config, (name for path in files for name in agent_names(path, data.prompt_key))):
        return None
    return with_tokenizer(open_agents(config), config, tokenizer)


def _open_data(
    config: Config,
    tokenizer: Any,
    agents: EpisodeSetup | None,
    say: Callable[[str], None],
    world: World = ALONE,
) -> _Data:
    data = config.data
    reader = None if agents is None else prompt_reader(agents)
    model = config.actor_rollout_ref.model
    vision = Vision.of(model.path, tokenizer, trust_remote_code=model.trust_remote_code)
    book = None if vision is None else PictureBook(vision)
    read: dict[str, Any] = {"say": say, "tokenise": reader, "world": world, "book": book}
    train_rows = load_rows(
        data.train_files, tokenizer, data, data.train_max_samples, leave_out=data.leave_out, **read
    )
    val_rows = load_rows(data.val_files, tokenizer, data, data.val_max_samples, **read)
    loader = PromptLoader(
        train_rows, data.train_batch_size, shuffle=data.shuffle, seed=data.seed, files=train_rows.digests
    )
    require_validation(data.val_files, data.val_max_samples, val_rows)
    if train_rows.with_pictures or val_rows.with_pictures:
        check_rules(config, WITH_PICTURES)
        if agents is not None:
            raise ConfigError("agents accept only text, but rows have pictures; leave out these rows")
    return _Data(
        loader,
        val_rows,
        train_rows.data_sources | val_rows.data_sources,
        max(train_rows.largest_id, val_rows.largest_id),
        config.trainer.total_training_steps or config.trainer.total_epochs * loader.steps_per_epoch,
        book,
    )


def _open_policy(
    config: Config, world: World, tokenizer: Any, data: _Data, teacher: Teacher | None
) -> _Policy:
    """Build actor, reference and engine. Reference and engine need the actor's model before sharding."""
    policy = config.actor_rollout_ref
    fsdp = policy.actor.fsdp_config
    dtype = DTYPES[weights_dtype(policy.model, fsdp)]
    model, places = outline_causal_lm(policy.model.path, dtype, policy.model)
    generating = replace(policy, rollout=at_once(config, world.size))
    described = model
    if policy.model.quantization_config:
        plain = without_quantization(policy.model)
        generating = replace(generating, model=plain)
        described, _ = outline_causal_lm(plain.path, dtype, plain)
    vision = None if data.book is None else data.book.vision
    rollout = open_rollout(generating, world, described, tokenizer, vision)
    eos_ids = _eos_ids(policy, model, tokenizer)
    referring = needs_reference(config)
    adapted = has_adapter(policy.model)
    frozen = _frozen_copy(policy, world, model) if referring and not adapted else None
    splits = [
        group_size(worker.ulysses_sequence_parallel_size, world.size) for worker in (policy.actor, policy.ref)
    ]
    prepared = prepare(
        model,
        policy.model,
        world.device,
        fsdp,
        sequence_parallel=max(splits) if referring and adapted else splits[0],
    )
    if policy.actor.freeze_vision_tower:
        freeze_tower(prepared.body)
    for one in (prepared, frozen):
        if isinstance(one, PolicyModel):
            one.book = data.book
    actor = Actor(
        shard(prepared, world, fsdp, places),
        world,
        policy.actor,
        loss=POLICY_LOSSES[loss_mode(config)],
        samples_per_prompt=policy.rollout.n,
        temperature=policy.rollout.temperature,
        log_prob_batching=_forward_batching(policy.rollout, config.trainer.balance_batch, splits[0]),
        balance=config.trainer.balance_batch,
        total_steps=data.total_steps,
        distillation=_as_loss(config.distillation),
        copy_head=None if teacher is None else teacher.copy_head,
    )
    if not referring:
        return _Policy(actor, None, rollout, eos_ids)
    reference = Reference(
        actor.model if frozen is None else frozen,
        world,
        _forward_batching(policy.ref, config.trainer.balance_batch, splits[1]),
        temperature=policy.rollout.temperature,
        sequence_parallel=splits[1],
        base_of_adapter=adapted,
    )
    return _Policy(actor, reference, rollout, eos_ids)


def _as_loss(given: DistillationConfig) -> DistillationConfig | None:
    return given if given.enabled and not given.rewards_tokens else None


def _frozen_copy(policy: ActorRolloutRefConfig, world: World, model: Any) -> Any:
    if has_no_weights(model):
        return _frozen(policy.ref, policy.model, world)
    dtype = DTYPES[policy.ref.fsdp_config.model_dtype]
    return _frozen(policy.ref, policy.model, world, unsharded_copy(model, dtype, torch.device("cpu")))


def _frozen(ref: RefConfig, options: ModelConfig, world: World, model: Any = None) -> Any:
    """Shard a model that is not trained. If `model` is None, the model is loaded from its folder."""
    fsdp = ref.fsdp_config
    places: ShardPlaces | None = None
    if model is None:
        model, places = outline_causal_lm(options.path, DTYPES[fsdp.model_dtype], options)
    split = group_size(ref.ulysses_sequence_parallel_size, world.size)
    prepared = prepare(model, options, world.device, fsdp, sequence_parallel=split)
    prepared.requires_grad_(False)
    return shard(prepared, world, fsdp, places)


def _teacher_options(config: Config) -> ModelConfig:
    policy = config.actor_rollout_ref.model
    return ModelConfig(
        path=str(config.distillation.teacher_models.teacher_model.model_path),
        trust_remote_code=policy.trust_remote_code,
        use_remove_padding=policy.use_remove_padding,
        enable_gradient_checkpointing=False,
    )


def _open_teacher(config: Config, world: World) -> Teacher | None:
    if not config.distillation.enabled:
        return None
    policy = config.actor_rollout_ref
    split = group_size(policy.ref.ulysses_sequence_parallel_size, world.size)
    return Teacher(
        _frozen(policy.ref, _teacher_options(config), world),
        world,
        _forward_batching(policy.ref, config.trainer.balance_batch, split),
        config.distillation.distillation_loss,
        vocabulary=load_model_config(policy.model.path, policy.model).get_text_config().vocab_size,
        dtype=DTYPES[computing_dtype(policy.ref.fsdp_config)],
        temperature=policy.rollout.temperature,
        sequence_parallel=split,
    )


def _check_teacher(config: Config, tokenizer: Any, say: Callable[[str], None]) -> None:
    """Check that the teacher has the policy's vocabulary, since it receives the policy's token ids."""
    path = str(config.distillation.teacher_models.teacher_model.model_path)
    if not config.distillation.enabled or model_folder(path) is None:
        return
    theirs = load_tokenizer(path, trust_remote_code=config.actor_rollout_ref.model.trust_remote_code)
    ours, known = tokenizer.get_vocab(), theirs.get_vocab()
    if other := sorted(token for token in {*ours, *known} if ours.get(token) != known.get(token)):
        raise ConfigError(
            f"distillation.teacher_models.teacher_model: the vocabulary of '{path}' differs from the "
            f"policy's in {len(other)} tokens; for example, the id of {other[0]!r} is "
            f"{ours.get(other[0], 'missing')} in the policy and {known.get(other[0], 'missing')} in the "
            "teacher. Use a teacher with the policy's tokenizer"
        )
    if theirs.chat_template != tokenizer.chat_template or theirs.eos_token_id != tokenizer.eos_token_id:
        say(
            f"the teacher {path} has another chat template or end-of-response token; it gets "
            "the prompts of the policy unchanged"
        )


def _forward_batching(given: RolloutConfig | RefConfig, balance: bool, sharing: int) -> Batching:
    return Batching.of(
        given.log_prob_micro_batch_size_per_gpu,
        given.log_prob_max_token_len_per_gpu,
        dynamic=given.log_prob_use_dynamic_bsz,
        balance=balance,
        sharing=sharing,
    )


def _open_critic(config: Config, world: World, data: _Data) -> Critic | None:
    if not ESTIMATORS[config.algorithm.adv_estimator].critic:
        return None
    options = config.critic.model
    fsdp = config.critic.fsdp_config
    model, places = outline_value_model(
        options.path, DTYPES[weights_dtype(options, fsdp)], options, say=world.say
    )
    split = group_size(config.critic.ulysses_sequence_parallel_size, world.size)
    prepared = prepare(model, options, world.device, fsdp, sequence_parallel=split)
    prepared.book = data.book
    return Critic(
        shard(prepared, world, fsdp, places),
        world,
        config.critic,
        samples_per_prompt=config.actor_rollout_ref.rollout.n,
        balance=config.trainer.balance_batch,
        total_steps=data.total_steps,
    )


def _kl_controller(config: KlCtrlConfig) -> KlController:
    target = config.target_kl if config.type == "adaptive" else None
    return KlController(config.kl_coef, target, config.horizon)


def _eos_ids(policy: ActorRolloutRefConfig, model: Any, tokenizer: Any) -> list[int]:
    return [] if policy.rollout.ignore_eos else end_token_ids(tokenizer, model.generation_config)
