"""What an engine must leave in a process as it found it."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist


@contextmanager
def left_as_found() -> Iterator[None]:
    """Check that the block leaves Python's generator, environment and threads alone, and threads settable.

    A process group that was there before, as in training, still works afterwards.
    """
    opened = not dist.is_initialized()
    if opened:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    before = _state()
    yield
    assert _state() == before
    gc.unfreeze()
    gc.collect()  # what the engine does when it is forgotten, it does now
    dist.barrier()
    if opened:
        dist.destroy_process_group()
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)


def _state() -> Any:
    return random.getstate(), dict(os.environ), torch.get_num_threads()
