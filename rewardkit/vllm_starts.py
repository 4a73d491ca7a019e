"""Starts and ends `vllm.LLM` engines, and undoes the changes that vLLM makes to the current process."""

from __future__ import annotations

import gc
import logging
import os
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from rewardkit.errors import MissingDependencyError
from rewardkit.processes import large_imports


def import_vllm(needed: str, otherwise: str = "") -> Any:
    """Import vLLM within `undisturbed`, and return the package.

    Args:
        needed: Beginning of the error message.
        otherwise: End of the error message, after the command that installs vLLM.

    Raises:
        MissingDependencyError: vLLM is not installed.
    """
    try:
        with large_imports():  # not around the start of an engine, which collects garbage
            import vllm

            _ = vllm.LLM, vllm.PoolingParams  # vLLM imports its parts at their first use
    except ImportError as error:
        raise MissingDependencyError(
            f"{needed} ({error}); pip install 'rewardkit[vllm]'{otherwise}"
        ) from None
    return vllm


@contextmanager
def undisturbed(
    cuda: Sequence[torch.device] = (), variables: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Undo the changes that starting vLLM inside this block makes to the process.

    vLLM seeds every random number generator and sets LOCAL_WORLD_SIZE, LD_PRELOAD and other variables for its
    child processes. On a CPU, it replaces `torch.set_num_threads` with a function that does nothing.

    Args:
        cuda: GPUs whose random number generators are restored.
        variables: Environment variables to set in the block.
    """
    environment = dict(os.environ)
    set_num_threads = torch.set_num_threads
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state()
    level = environment.get("VLLM_LOGGING_LEVEL", "ERROR")
    logging.getLogger("vllm").setLevel(level)  # vLLM logs before it reads VLLM_LOGGING_LEVEL
    os.environ.update(
        {
            # The engine runs in this process, so it ends when this process ends.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_LOGGING_LEVEL": level,
            **(variables or {}),
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


def start_llm(model: str, **arguments: Any) -> Any:
    """Start `vllm.LLM`, and prevent the end of the engine from destroying this process's process groups.

    vLLM's finalizer destroys the default process group, even if vLLM has only joined it. If a group already
    exists, the finalizer is removed, and `end_llm` cleans up instead. Call this function within
    `undisturbed`.

    Args:
        model: Model folder or hub ID.
        arguments: Keyword arguments of `vllm.LLM`.
    """
    from vllm import LLM

    joins = torch.distributed.is_initialized()
    llm = LLM(model, **arguments)
    if joins:
        llm.llm_engine.engine_core._finalizer.detach()
    return llm


def end_llm() -> None:
    """Clean up after `start_llm`, so that a later engine can start. Call this after deleting the LLM."""
    from vllm.distributed import parallel_state
    from vllm.model_executor.layers import rotary_embedding

    # Later engines reuse vLLM's tables, even tables that an aborted weight sync left without data.
    rotary_embedding._ROPE_DICT.clear()
    gc.unfreeze()  # without this call, objects that vLLM has frozen would never be freed
    if parallel_state.model_parallel_is_initialized():
        parallel_state.destroy_model_parallel()
        parallel_state.get_world_group().destroy()
        parallel_state._WORLD = None


def no_compiling(eager: bool) -> Any:
    """Return a context manager that disables torch.compile if `eager` is True.

    If torch.compile is not disabled, vLLM compiles small kernels even for an eager model.
    """
    return torch.compiler.set_stance("force_eager") if eager else nullcontext()
