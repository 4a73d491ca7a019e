"""Undoes the changes that vLLM makes to a process when it starts."""

from __future__ import annotations

import logging
import os
import random
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn


@contextmanager
def undisturbed(cuda: Sequence[torch.device]) -> Iterator[None]:
    """Restore the state of this process after vLLM has started in the block.

    vLLM seeds every random number generator and sets LOCAL_WORLD_SIZE, LD_PRELOAD and other variables for its
    child processes. On a CPU, it replaces `torch.set_num_threads` with a function that does nothing.
    """
    environment = dict(os.environ)
    set_num_threads = torch.set_num_threads
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state()
    level = environment.get("VLLM_LOGGING_LEVEL", "ERROR")
    logging.getLogger("vllm").setLevel(level)  # vLLM logs before it reads VLLM_LOGGING_LEVEL
    os.environ.update(
        {
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_LOGGING_LEVEL": level,
            # Set torchrun's variables in case torchrun did not start this process. The process group already
            # exists, so no port is opened.
            "RANK": str(dist.get_rank()),
            "WORLD_SIZE": str(dist.get_world_size()),
            "LOCAL_RANK": environment.get("LOCAL_RANK", "0"),
            "MASTER_ADDR": environment.get("MASTER_ADDR", "127.0.0.1"),
            "MASTER_PORT": environment.get("MASTER_PORT", "0"),
        }
    )
    try:
        with torch.random.fork_rng(cuda), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch warns about calls in vLLM
            yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        torch.set_num_threads = set_num_threads
        torch.set_num_threads(threads)
        random.setstate(states[0])
        np.random.set_state(states[1])


def no_compiling(eager: bool) -> Any:
    """Return a context manager that disables torch.compile if `eager` is True.

    Otherwise, vLLM would still compile small kernels.
    """
    return torch.compiler.set_stance("force_eager") if eager else nullcontext()


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
    """Limit the changes that vLLM makes to a model's classes in the block to vLLM's own instances.

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
