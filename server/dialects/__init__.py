"""Other trainers' protocols, one file each: a request becomes Samples, Scores become an answer."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from rewardkit.server.dialects import (
    llama_factory,
    model_servers,
    nemo_gym,
    openenv,
    openrlhf,
    ors,
    roll,
    slime,
)
from rewardkit.server.dialects.base import DialectContext as DialectContext
from rewardkit.server.dialects.base import ScoreSamples as ScoreSamples

ROUTERS: tuple[Callable[[DialectContext], APIRouter], ...] = (
    openrlhf.router,
    slime.router,
    llama_factory.router,
    nemo_gym.router,
    roll.router,
    model_servers.vllm_router,
    model_servers.sglang_router,
    ors.router,
    openenv.router,
)
"""Every dialect: the application mounts what each makes of its context."""
