"""Other trainers' protocols, one file each: a request becomes Samples, Scores become an answer."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from rewardkit.extensions import Table
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

Router = Callable[[ProtocolContext], APIRouter]

ROUTERS: Table[Router] = Table(
    "protocols",
    object,
    {
        "openrlhf": openrlhf.router,
        "slime": slime.router,
        "llama_factory": llama_factory.router,
        "nemo_gym": nemo_gym.router,
        "roll": roll.router,
        "vllm": model_servers.vllm_router,
        "sglang": model_servers.sglang_router,
        "ors": ors.router,
        "openenv": openenv.router,
    },
)
"""Every protocol by name: the application mounts the router that each makes of its context."""
