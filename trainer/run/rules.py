"""Tables of rules for settings.

A rule refuses a combination of settings, or reports a setting that is replaced or ignored.

Rules that need more than a condition and a message are in `checks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.divergences import DIVERGENCES
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.config.root import (
    Config,
    RunConfig,
    TrainerConfig,
    corrects_rollouts,
    loss_mode,
    masks_late,
    max_depth,
    needs_reference,
    step_order,
    trains_on_old,
)
from rewardkit.trainer.config.workers import ModelConfig, has_adapter
from rewardkit.trainer.models.vision import model_type

Rule = tuple[Callable[[Any], object], str]
"""Condition on a config, and a message in which `{c.data.seed}` stands for the value of that setting."""


def needing_packages(models: Callable[[Any], Sequence[ModelConfig]]) -> tuple[Rule, ...]:
    """Return rules that refuse a config whose models need optional packages that are not installed."""
    return (
        (
            lambda c: any(map(has_adapter, models(c))) and find_spec("peft") is None,
            "LoRA (lora_rank, lora_adapter_path) needs peft: pip install peft",
        ),
        (
            lambda c: any(model.use_liger for model in models(c)) and find_spec("liger_kernel") is None,
            "use_liger=true needs liger-kernel: pip install liger-kernel",
        ),
        (
            lambda c: (
                any(model.quantization_config for model in models(c)) and find_spec("bitsandbytes") is None
            ),
            "quantization_config needs bitsandbytes: pip install bitsandbytes",
        ),
    )


def _uses_scores(config: Config) -> bool:
    """Return True if the loss contains advantages from scores, which distillation can replace."""
    given = config.distillation
    return not given.enabled or given.distillation_loss.use_task_rewards


REFUSED: tuple[Rule, ...] = (
    *needing_packages(lambda c: (c.actor_rollout_ref.model, c.critic.model)),
    (
        lambda c: c.actor_rollout_ref.rollout.prompt_length < c.data.max_prompt_length,
        "actor_rollout_ref.rollout.prompt_length={c.actor_rollout_ref.rollout.prompt_length} is below "
        "data.max_prompt_length={c.data.max_prompt_length}; leave prompt_length unset to use the same value",
    ),
    (
        lambda c: loss_mode(c) == "dro" and not c.actor_rollout_ref.actor.policy_loss.dro_beta,
        (
            "policy_loss.loss_mode=dro requires actor_rollout_ref.actor.policy_loss.dro_beta, the weight of "
            "the squared log-ratio, such as 0.5"
        ),
    ),
    (
        lambda c: c.algorithm.filter_groups.enable and c.actor_rollout_ref.rollout.n == 1,
        "algorithm.filter_groups compares the responses to one prompt; set "
        "actor_rollout_ref.rollout.n above 1",
    ),
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].groups
            and c.actor_rollout_ref.rollout.n == 1
            and _uses_scores(c)
        ),
        "algorithm.adv_estimator={c.algorithm.adv_estimator} compares the responses to one prompt, but "
        "actor_rollout_ref.rollout.n is 1, so there is nothing to compare; set n above 1, such as "
        "actor_rollout_ref.rollout.n=8, or algorithm.adv_estimator=reinforce_plus_plus, which needs one "
        "response",
    ),
    (
        lambda c: c.algorithm.gdpo_reward_keys and not ESTIMATORS[c.algorithm.adv_estimator].parts,
        "algorithm.gdpo_reward_keys requires algorithm.adv_estimator=gdpo; set the estimator, or unset the "
        "keys",
    ),
    (
        lambda c: ESTIMATORS[c.algorithm.adv_estimator].parts and not c.algorithm.gdpo_reward_keys,
        "algorithm.adv_estimator={c.algorithm.adv_estimator} compares parts of the scores; list these parts "
        "in algorithm.gdpo_reward_keys=[a,b] (`rewardkit explain` shows the parts of a score)",
    ),
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].parts
            and c.algorithm.gdpo_reward_weights is not None
            and len(c.algorithm.gdpo_reward_weights) != len(c.algorithm.gdpo_reward_keys or [])
        ),
        "algorithm.gdpo_reward_weights={c.algorithm.gdpo_reward_weights} must have one weight for each of "
        "algorithm.gdpo_reward_keys={c.algorithm.gdpo_reward_keys}",
    ),
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].parts
            and (
                c.algorithm.use_kl_in_reward
                or c.reward_model.overlong_buffer.enable
                or c.reward.mode != "trajectory"
            )
        ),
        (
            "algorithm.adv_estimator={c.algorithm.adv_estimator} compares only parts of the "
            "scores, so algorithm.use_kl_in_reward, reward_model.overlong_buffer and "
            "reward.mode={c.reward.mode} would have no effect; unset these settings"
        ),
    ),
    (
        lambda c: (
            c.algorithm.turn_advantages == "per_turn" and not ESTIMATORS[c.algorithm.adv_estimator].by_turns
        ),
        "algorithm.turn_advantages=per_turn does not work with "
        "algorithm.adv_estimator={c.algorithm.adv_estimator}; use grpo, rloo, opo or "
        "reinforce_plus_plus_baseline (gae and reinforce_plus_plus use the rewards of turns without this "
        "setting)",
    ),
    (
        lambda c: c.algorithm.turn_advantages == "per_turn" and c.reward.mode == "trajectory",
        "algorithm.turn_advantages=per_turn compares rewards of turns; set reward.mode=turn or mixed",
    ),
    (
        lambda c: corrects_rollouts(c) and not c.actor_rollout_ref.rollout.calculate_log_probs,
        "algorithm.rollout_correction reads the rollout engine's log-probabilities; set "
        "actor_rollout_ref.rollout.calculate_log_probs=true",
    ),
    (
        lambda c: corrects_rollouts(c) and c.actor_rollout_ref.rollout.restricted,
        "algorithm.rollout_correction compares the policy's log-probabilities with the rollout engine's, "
        "which are higher if top_p or top_k leaves out tokens; set actor_rollout_ref.rollout.top_p=1 and "
        "top_k=-1, or train without a correction (algorithm.rollout_correction.bypass_mode=false, and no "
        "rollout_is or rollout_rs)",
    ),
    (
        lambda c: (
            c.reward_model.overlong_buffer.enable
            and not 0 < c.reward_model.overlong_buffer.len <= c.data.max_response_length
        ),
        "reward_model.overlong_buffer.len must be from 1 to "
        "data.max_response_length={c.data.max_response_length}, found {c.reward_model.overlong_buffer.len}",
    ),
    (
        lambda c: (
            (c.trainer.val_before_train or c.trainer.val_only or c.trainer.test_freq > 0)
            and not c.data.val_files
        ),
        "validation requires data.val_files; set data.val_files, or disable validation with "
        "trainer.val_before_train=false and trainer.test_freq=-1",
    ),
    (
        lambda c: c.actor_rollout_ref.ref.sync_steps and has_adapter(c.actor_rollout_ref.model),
        "actor_rollout_ref.ref.sync_steps={c.actor_rollout_ref.ref.sync_steps} needs a reference with its "
        "own weights, but with LoRA the reference is the policy without its adapter; unset sync_steps",
    ),
    (
        lambda c: c.trainer.mode != "sync" and c.actor_rollout_ref.rollout.name != "vllm_server",
        (
            "trainer.mode={c.trainer.mode} generates while the policy is trained, which requires vLLM "
            "servers; set actor_rollout_ref.rollout.name=vllm_server (docs/rollouts.md)"
        ),
    ),
    (
        lambda c: (
            step_order(c.trainer) == "strict" and c.trainer.pipeline_depth not in (None, max_depth(c.trainer))
        ),
        "trainer.pipeline_depth={c.trainer.pipeline_depth} requires trainer.order=ready; with strict order, "
        "trainer.max_staleness is the depth",
    ),
    (
        lambda c: c.trainer.weight_sync_steps > 1 and c.trainer.mode != "async",
        "trainer.weight_sync_steps={c.trainer.weight_sync_steps} requires trainer.mode=async",
    ),
    (
        lambda c: c.trainer.weight_sync_steps > 1 and max_depth(c.trainer) < 0,
        "trainer.weight_sync_steps={c.trainer.weight_sync_steps} makes responses older than "
        "trainer.max_staleness={c.trainer.max_staleness}; set it to at least weight_sync_steps - 1",
    ),
    (
        lambda c: any(
            freq > 0 and freq % c.trainer.weight_sync_steps
            for freq in (c.trainer.save_freq, c.trainer.test_freq)
        ),
        "trainer.save_freq={c.trainer.save_freq} and trainer.test_freq={c.trainer.test_freq} must be "
        "multiples of trainer.weight_sync_steps={c.trainer.weight_sync_steps}, because the servers have the "
        "policy's weights only after these steps",
    ),
    (
        lambda c: step_order(c.trainer) == "ready" and (c.trainer.pipeline_depth or 0) > max_depth(c.trainer),
        "trainer.pipeline_depth={c.trainer.pipeline_depth} must not exceed "
        "trainer.max_staleness={c.trainer.max_staleness} - (trainer.weight_sync_steps - 1)",
    ),
    (
        lambda c: c.trainer.order == "ready" and c.trainer.mode != "async",
        "trainer.order=ready requires trainer.mode=async",
    ),
    (
        lambda c: masks_late(c) and c.actor_rollout_ref.rollout.lora_sync == "adapter",
        "trainer.late=mask excludes whole responses with actor_rollout_ref.rollout.lora_sync=adapter, "
        "because each turn keeps the weights that it started with; set lora_sync=merge",
    ),
    (
        lambda c: c.distillation.enabled and not c.distillation.teacher_models.teacher_model.model_path,
        "distillation.enabled=true requires distillation.teacher_models.teacher_model.model_path",
    ),
    (
        lambda c: (
            c.distillation.enabled
            and not c.distillation.distillation_loss.use_policy_gradient
            and PENALTIES.get(c.distillation.distillation_loss.loss_mode) is PENALTIES["k1"]
        ),
        "distillation.distillation_loss.loss_mode={c.distillation.distillation_loss.loss_mode} as a loss has "
        "a gradient of 0 on average; set distillation.distillation_loss.use_policy_gradient=true",
    ),
    (
        lambda c: c.distillation.rewards_tokens and c.distillation.distillation_loss.loss_mode in DIVERGENCES,
        "distillation.distillation_loss.loss_mode={c.distillation.distillation_loss.loss_mode} does not "
        "depend on the sampled token, so it has a gradient of 0 on average as a reward; set "
        "distillation.distillation_loss.use_policy_gradient=false, or loss_mode=k1",
    ),
    (
        lambda c: c.custom_reward_function.path and c.reward.url,
        "custom_reward_function.path and reward.url cannot be combined; set only one of them",
    ),
    (
        lambda c: c.reward.options and c.reward.url,
        "reward.options works only for local rewards; with reward.url, set the options on the server",
    ),
    (
        lambda c: c.reward.compositions and c.reward.url,
        "reward.compositions works only for local rewards; with reward.url, pass --rewards to the server",
    ),
    (
        lambda c: c.reward.compositions and c.custom_reward_function.path,
        "reward.compositions has no effect, because custom_reward_function.path scores all rows; set only "
        "one of them",
    ),
    (
        lambda c: c.custom_reward_function.reward_kwargs and not c.custom_reward_function.path,
        "custom_reward_function.reward_kwargs has no effect without custom_reward_function.path",
    ),
    (
        lambda c: c.reward_model.enable and not (c.reward_model.model.path or c.reward_model.url),
        "reward_model.enable=true requires reward_model.model.path (a sequence classification model) or "
        "reward_model.url",
    ),
    (
        lambda c: c.reward_model.enable and c.reward.url,
        "reward_model.enable and reward.url cannot be combined; set only one of them",
    ),
    (
        lambda c: c.reward_model.enable and c.custom_reward_function.path,
        "custom_reward_function.path and reward_model.enable cannot be combined, because each scores all "
        "rows; set only one of them",
    ),
)

_PICTURES = "rows with pictures are not supported with"
WITH_PICTURES: tuple[Rule, ...] = (
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].critic
            and model_type(c.critic.model.path) != model_type(c.actor_rollout_ref.model.path)
        ),
        f"{_PICTURES} a critic of another model type; set critic.model.path to a model of the policy's type",
    ),
    (lambda c: c.distillation.enabled, f"{_PICTURES} distillation; set distillation.enabled=false"),
)
"""Combinations of settings that are refused if a prompt has pictures.

These rules are checked when the rows are read.
"""
SAID: tuple[Rule, ...] = (
    (
        lambda c: c.algorithm.use_kl_in_reward and c.actor_rollout_ref.actor.use_kl_loss,
        "algorithm.use_kl_in_reward and actor_rollout_ref.actor.use_kl_loss are both set, so the KL to the "
        "reference policy is used both in the rewards and in the loss",
    ),
    (
        lambda c: c.actor_rollout_ref.ref.sync_steps and not needs_reference(c),
        "actor_rollout_ref.ref.sync_steps={c.actor_rollout_ref.ref.sync_steps} has no effect without "
        "algorithm.use_kl_in_reward or actor_rollout_ref.actor.use_kl_loss",
    ),
    (
        lambda c: trains_on_old(c.trainer) and not _corrects_old_weights(c),
        (
            "trainer.mode={c.trainer.mode} trains on tokens that were generated with older weights, and "
            "these settings do not correct for this; leave out algorithm.rollout_correction and "
            "actor_rollout_ref.actor.policy_loss.loss_mode to use the defaults, which do"
        ),
    ),
    (
        lambda c: c.trainer.mode != "async" and c.trainer.max_staleness != TrainerConfig.max_staleness,
        (
            "trainer.max_staleness={c.trainer.max_staleness} has no effect with "
            "trainer.mode={c.trainer.mode}, only with trainer.mode=async"
        ),
    ),
    (
        lambda c: step_order(c.trainer) == "strict" and c.trainer.late != TrainerConfig.late,
        "trainer.late={c.trainer.late} has no effect with trainer.order=strict, only with "
        "trainer.order=ready",
    ),
    (
        lambda c: c.reward_model.model.path and not c.reward_model.enable,
        "reward_model.model.path={c.reward_model.model.path} has no effect until reward_model.enable=true",
    ),
    (
        lambda c: c.distillation.teacher_models.teacher_model.model_path and not c.distillation.enabled,
        "distillation.teacher_models.teacher_model.model_path has no effect until distillation.enabled=true",
    ),
    (
        lambda c: any(
            one.strategy == "fsdp" for one in (c.actor_rollout_ref.actor, c.actor_rollout_ref.ref, c.critic)
        ),
        "strategy=fsdp uses FSDP2, which gives the same results; FSDP1 is not supported",
    ),
)
"""Rules for notes on settings that have an unexpected effect or no effect."""


def _corrects_old_weights(config: Config) -> bool:
    """Return True if the loss accounts for weights that changed after generation. `gpg` has no ratio."""
    asked = config.algorithm.rollout_correction
    has_ratio = loss_mode(config) != "gpg"
    return bool(asked.rollout_is or asked.rollout_rs or (corrects_rollouts(config) and has_ratio))


def check_rules(config: RunConfig, rules: Sequence[Rule]) -> None:
    """Raise ConfigError with the message of the first rule whose condition is true."""
    for broken, message in rules:
        if broken(config):
            raise ConfigError(message.format(c=config))
