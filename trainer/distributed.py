"""The process group, seen by the rest of the trainer as a `World`: who am I, sum this, fail together.

One process is a world of size 1 with a real (gloo) group, so that there is one code path.
"""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

TIMEOUT = datetime.timedelta(minutes=30)


@dataclass(frozen=True)
class World:
    """This process among all of them."""

    rank: int
    size: int
    device: torch.device
    group: Any = None
    """The process group that is spoken through; None: the default one."""

    @property
    def is_main(self) -> bool:
        """True in the one process that prints and writes."""
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """Return `values` summed over all processes, elementwise."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def max(self, values: Tensor) -> Tensor:
        """Return the elementwise maximum over all processes."""
        return self._reduce(values, dist.ReduceOp.MAX)

    def _reduce(self, values: Tensor, op: Any) -> Tensor:
        total = values.detach().to(self.device, copy=True)
        if self.size > 1:
            dist.all_reduce(total, op=op, group=self.group)
        return total

    def gather(self, item: Any) -> list[Any]:
        """Return every process's `item`, in order of rank."""
        if self.size == 1:
            return [item]
        items: list[Any] = [None] * self.size
        dist.all_gather_object(items, item, group=self.group)
        return items

    def first_error(self, error: Exception | None) -> Exception | None:
        """Return the error of the lowest rank that has one: the same answer in every process.

        What one process alone raised would leave the others waiting in their next collective.
        """
        return next((e for e in self.gather(error) if e is not None), None)

    def shard(self, items: Sequence[Any]) -> list[Any]:
        """Return this process's share: every `size`-th item.

        Strided, so that the first k items of all shares together are the first k * size of the whole: a
        mini-batch holds the same prompts whatever the world size.
        """
        return list(items[self.rank :: self.size])


def gathered(tensor: Tensor) -> Tensor:
    """Return a sharded tensor whole, on the device of its mesh; others as they are. All must call it."""
    if not isinstance(tensor, DTensor):
        return tensor
    here: Any = tensor.to(tensor.device_mesh.device_type)  # offloaded shards are elsewhere
    whole: Tensor = here.full_tensor()
    return whole


def started_by_torchrun() -> bool:
    """True in a process of torchrun, or of whatever else sets RANK and WORLD_SIZE."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE"))


def device_of(setting: str) -> torch.device:
    """Return what this process computes on where `trainer.device` is `auto`, `cuda` or `cpu`."""
    use_cuda = torch.cuda.is_available() if setting == "auto" else setting == "cuda"
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if use_cuda else torch.device("cpu")


@contextmanager
def open_world(device: str) -> Iterator[World]:
    """Join the process group that torchrun's environment describes, or make one of a single process.

    The group is left at the end, but not on an error: the other processes may wait in a collective, and it
    is for torchrun to end them. One that was there before is used and kept.
    """
    local = device_of(device)
    use_cuda = local.type == "cuda"
    if use_cuda:
        torch.cuda.set_device(local)
    joins = not dist.is_initialized()
    if joins:
        backend = "cpu:gloo,cuda:nccl" if use_cuda else "gloo"
        if started_by_torchrun():
            dist.init_process_group(backend, timeout=TIMEOUT)
        else:
            address = f"tcp://127.0.0.1:{free_port()}"
            dist.init_process_group(backend, init_method=address, rank=0, world_size=1)
    yield World(dist.get_rank(), dist.get_world_size(), local)
    if joins:
        dist.destroy_process_group()


def free_port() -> int:
    """Return a TCP port of this machine that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
