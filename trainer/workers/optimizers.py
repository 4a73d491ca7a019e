"""Creates the optimizer that `optim.optimizer` names, with its own arguments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from rewardkit.errors import ConfigError, did_you_mean, reason_of
from rewardkit.trainer.config.workers import OptimConfig


def check_optimizer(key: str, config: OptimConfig) -> None:
    """Check the optimizer's name and the names of its arguments.

    Args:
        key: Setting of `config`, such as `actor_rollout_ref.actor.optim`.

    Raises:
        ConfigError: The module cannot be imported, or does not contain the optimizer, or the optimizer does
            not have one of the arguments.
    """
    kind = _kind(key, config)
    known = _parameters(kind)
    for name in config.override_optimizer_config or {}:
        if name not in known:
            raise ConfigError(
                f"{key}.override_optimizer_config: {config.optimizer} has no argument {name}"
                f"{did_you_mean(name, known)}; its arguments are {', '.join(known)}"
            )


def make_optimizer(named: Iterable[tuple[str, nn.Parameter]], config: OptimConfig) -> torch.optim.Optimizer:
    """Create the optimizer for those of the parameters that are trainable.

    Parameters whose name contains one of `no_weight_decay` are in a group of their own without weight decay.

    Raises:
        ConfigError: The optimizer rejects an argument or the parameters.
    """
    kind = _kind("optim", config)
    known = _parameters(kind)
    wanted = {"lr": config.lr, "betas": config.betas, "weight_decay": config.weight_decay}
    # A fused kernel avoids DTensor's dispatch, which would cost more than the arithmetic.
    wanted |= {"fused": True} if kind is torch.optim.AdamW else {}
    given = {name: value for name, value in wanted.items() if name in known}
    given |= {name: _plain(value) for name, value in (config.override_optimizer_config or {}).items()}
    decayed: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in named:
        if parameter.requires_grad:
            excluded = any(part in name for part in config.no_weight_decay)
            (others if excluded else decayed).append(parameter)
    groups: list[dict[str, Any]] = [{"params": decayed}] if decayed else []
    groups += [{"params": others, "weight_decay": 0.0}] if others else []
    try:
        made: torch.optim.Optimizer = kind(groups, **given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"optim.optimizer={config.optimizer}: {reason_of(error)}") from None
    return made


def _kind(key: str, config: OptimConfig) -> Any:
    module = config.optimizer_impl
    try:
        found = getattr(importlib.import_module(module), config.optimizer, None)
    except ImportError as error:
        raise ConfigError(f"{key}.optimizer_impl={module} cannot be imported: {reason_of(error)}") from None
    if not (inspect.isclass(found) and issubclass(found, torch.optim.Optimizer)):
        raise ConfigError(
            f"{key}.optimizer={config.optimizer} is not an optimizer in {module}, the value of "
            f"{key}.optimizer_impl"
        )
    return found


def _parameters(kind: Any) -> Mapping[str, inspect.Parameter]:
    named = dict(inspect.signature(kind).parameters)
    named.pop("params", None)
    return named


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
