"""Changes that vLLM makes in a process when it starts there, and how they are undone."""

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
    """Let vLLM start, and take back what it does to the process.

    It seeds every generator, sets LOCAL_WORLD_SIZE, LD_PRELOAD and others for its children, and on a CPU
    replaces `torch.set_num_threads` by a function that does nothing.
    """
    environment = dict(os.environ)
    set_num_threads = torch.set_num_threads
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state()
    level = environment.get("VLLM_LOGGING_LEVEL", "ERROR")
    logging.getLogger("vllm").setLevel(level)  # it speaks before it has read its own setting
    os.environ.update(
        {
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_LOGGING_LEVEL": level,
            # What torchrun sets, for a process that it did not start. The group is there: no port is opened.
            "RANK": str(dist.get_rank()),
            "WORLD_SIZE": str(dist.get_world_size()),
            "LOCAL_RANK": environment.get("LOCAL_RANK", "0"),
            "MASTER_ADDR": environment.get("MASTER_ADDR", "127.0.0.1"),
            "MASTER_PORT": environment.get("MASTER_PORT", "0"),
        }
    )
    try:
        with torch.random.fork_rng(cuda), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of torch, about vLLM
            yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        torch.set_num_threads = set_num_threads
        torch.set_num_threads(threads)
        random.setstate(states[0])
        np.random.set_state(states[1])


def no_compiling(eager: bool) -> Any:
    """Run vLLM's small compiled kernels as they are too, where nothing shall be compiled."""
    return torch.compiler.set_stance("force_eager") if eager else nullcontext()


@contextmanager
def own_shared_memory() -> Iterator[None]:
    """Give the memory that processes of an engine share on a CPU a name of its own. All processes enter.

    vLLM names it alike in every run that torchrun starts: a second run on the machine, or one after a run
    that was killed and has left its files in /dev/shm, could not start (vLLM 0.32).
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
    """Let vLLM change the classes of a model in the block, and keep the change to vLLM's own instances.

    An architecture that vLLM has no code for runs on that of transformers, whose class vLLM then rewrites:
    the policy, of the same class, would fail in its next forward, and no other model of it could be made.
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
