"""Other trainers' protocols, one file each: a request becomes Samples, Scores become an answer."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from rewardkit.server.protocols import (
    llama_factory,
    model_servers,
    nemo_gym,
    openenv,
    openrlhf,
    ors,
    roll,
    slime,
)
from rewardkit.server.protocols.base import ProtocolContext as ProtocolContext
from rewardkit.server.protocols.base import ScoreSamples as ScoreSamples

ROUTERS: tuple[Callable[[ProtocolContext], APIRouter], ...] = (
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
"""Every protocol: the application mounts what each makes of its context."""
