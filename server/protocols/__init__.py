"""Protocols of other trainers, one per file. Each converts requests to Samples, and Scores to responses."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from rewardkit.extensions import FUNCTION, Table
from rewardkit.server.protocols import (
    model_servers,
    nemo_gym,
    openenv,
    openrlhf,
    ors,
)
from rewardkit.server.protocols.base import ProtocolContext as ProtocolContext

Router = Callable[[ProtocolContext], APIRouter]

ROUTERS: Table[Router] = Table(
    "protocols",
    FUNCTION,
    {
        "openrlhf": openrlhf.router,
        "nemo_gym": nemo_gym.router,
        "vllm": model_servers.vllm_router,
        "sglang": model_servers.sglang_router,
        "ors": ors.router,
        "openenv": openenv.router,
    },
)
"""Functions that create a protocol's router, by protocol name. The application mounts all routers."""
