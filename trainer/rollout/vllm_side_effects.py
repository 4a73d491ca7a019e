"""Isolates a vLLM engine's classes, memory and ranks from the training run in the same process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch import nn


def torchrun_variables() -> dict[str, str]:
    """Return the environment variables that torchrun would set, in case torchrun did not start this process.

    The process group already exists, so no port is opened.
    """
    return {
        "RANK": str(dist.get_rank()),
        "WORLD_SIZE": str(dist.get_world_size()),
        "LOCAL_RANK": os.environ.get("LOCAL_RANK", "0"),
        "MASTER_ADDR": os.environ.get("MASTER_ADDR", "127.0.0.1"),
        "MASTER_PORT": os.environ.get("MASTER_PORT", "0"),
    }


@contextmanager
def own_shared_memory() -> Iterator[None]:
    """Use a unique name, within the block, for the memory that an engine's processes share on a CPU.

    All processes must enter the block together. vLLM 0.32 uses the same name in every run that torchrun
    starts. Without a unique name, a run could not start next to another run on the same machine, or after a
    killed run that left its files in /dev/shm.
    """
    from vllm.distributed.device_communicators.cpu_communicator import _CPUSHMDistributed

    own = [secrets.token_hex(4)]
    dist.broadcast_object_list(own, src=0)
    name = _CPUSHMDistributed.make_group_name
    _CPUSHMDistributed.make_group_name = staticmethod(lambda group: f"{own[0]}-{name(group).lstrip('/')}")
    try:
        yield
    finally:
        _CPUSHMDistributed.make_group_name = staticmethod(name)


@contextmanager
def own_classes(model: nn.Module) -> Iterator[None]:
    """Confine the changes that vLLM makes to a model's classes during the block to vLLM's own instances.

    If vLLM does not implement an architecture, it uses the class from transformers and modifies that class.
    Without this restriction, the next forward pass of the policy, which has the same class, would fail, and
    no other model of that class could be created.
    """
    before = {kind: (kind.__init__, kind.__call__) for kind in {type(module) for module in model.modules()}}
    yield
    for kind, (init, call) in before.items():
        if kind.__call__ is not call:
            kind.__init__ = init  # type: ignore[method-assign]
            kind.__call__ = _by_owner(kind.__call__, call)  # type: ignore[method-assign]


def _by_owner(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (theirs if hasattr(self, "do_not_compile") else ours)(self, *args, **kwargs)

    return call
