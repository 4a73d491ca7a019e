"""The trainer's interface to the process group: a `World` with ranks, reductions and error propagation.

A single process is a world of size 1 with a real (gloo) group, so all runs use the same code.
"""

from __future__ import annotations

import datetime
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.tensor import DTensor

from rewardkit.errors import RewardkitError

T = TypeVar("T")

TIMEOUT = datetime.timedelta(minutes=30)
"""Time limit for a collective operation."""
JOIN_TIMEOUT = datetime.timedelta(minutes=5)
"""Time limit for all processes to join the run."""
_TOLD_AFTER_S = 30.0
_SHARED_STORE = (
    "torchrun shares one store between restarts, so restarted machines wait for each other; "
    "set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 on every machine (docs/launch.md)"
)


@dataclass(frozen=True)
class World:
    """This process's rank and device, with operations across all processes of the run."""

    rank: int
    size: int
    device: torch.device
    group: Any = None
    """Process group for the collectives, or None for the default group."""

    @property
    def is_main(self) -> bool:
        """True in the process of rank 0, which prints messages and writes files."""
        return self.rank == 0

    def say(self, line: str) -> None:
        """Print a line to stderr, in the main process only."""
        if self.is_main:
            print(line, file=sys.stderr)

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
        """Return the `item` of every process, in order of rank."""
        if self.size == 1:
            return [item]
        items: list[Any] = [None] * self.size
        dist.all_gather_object(items, item, group=self.group)
        return items

    def to_main(self, item: Any) -> list[Any]:
        """Return the `item` of every process, in order of rank, or an empty list outside the main process."""
        if self.size == 1:
            return [item]
        items: list[Any] | None = [None] * self.size if self.is_main else None
        dist.gather_object(item, items, dst=0, group=self.group)
        return items or []

    def first_error(self, error: Exception | None) -> Exception | None:
        """Return the error from the lowest rank with an error, or None. All processes get the same result.

        If only one process raised its error, the others would wait for it in their next collective.
        """
        return next((e for e in self.gather(error) if e is not None), None)

    def spread(self, work: Callable[[int], T], number: int) -> list[T]:
        """Return `work(i)` for each i below `number`. Each process computes a share and gets all results.

        Raises:
            Exception: `work` failed in one of the processes. All processes raise its exception.
        """
        mine: list[T] = []
        error: Exception | None = None
        try:
            mine += [work(i) for i in range(self.rank, number, self.size)]
        except Exception as raised:
            error = raised
        error = self.first_error(error)
        if error is not None:
            raise error
        shares = self.gather(mine)
        return [shares[i % self.size][i // self.size] for i in range(number)]

    def shard(self, items: Sequence[Any]) -> list[Any]:
        """Return this process's share of the items: every `size`-th item, starting at its rank.

        The first k items of all shares together are the first k * size items, so a mini-batch contains the
        same prompts for any world size.
        """
        return list(items[self.rank :: self.size])


def gathered(tensor: Tensor) -> Tensor:
    """Gather a sharded tensor on the device of its mesh. Any other tensor is returned unchanged.

    All processes must call this function.
    """
    if not isinstance(tensor, DTensor):
        return tensor
    here: Any = tensor.to(tensor.device_mesh.device_type)  # offloaded shards are in host memory
    whole: Tensor = here.full_tensor()
    return whole


def started_by_torchrun() -> bool:
    """Return True if torchrun, or another launcher that sets RANK and WORLD_SIZE, started this process."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE"))


def device_of(setting: str) -> torch.device:
    """Return this process's device, given the setting `trainer.device` (`auto`, `cuda` or `cpu`)."""
    use_cuda = torch.cuda.is_available() if setting == "auto" else setting == "cuda"
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if use_cuda else torch.device("cpu")


@contextmanager
def open_world(device: str) -> Iterator[World]:
    """Join the process group described by torchrun's environment, or create a group with one process.

    The group is destroyed at the end of the block, but not after an error, since other processes may be
    waiting in a collective until torchrun stops them. If a group already exists, it is used and kept.
    """
    local = device_of(device)
    use_cuda = local.type == "cuda"
    if use_cuda:
        torch.cuda.set_device(local)
        # cuDNN's attention builds a plan for each new length, which takes longer than the attention itself.
        # vLLM disables it as well.
        torch.backends.cuda.enable_cudnn_sdp(False)
    joins = not dist.is_initialized()
    if joins:
        backend = "cpu:gloo,cuda:nccl" if use_cuda else "gloo"
        if started_by_torchrun():
            store, rank, size = _met_by_all()
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        else:
            address = f"tcp://127.0.0.1:{free_port()}"
            dist.init_process_group(backend, init_method=address, rank=0, world_size=1)
    yield World(dist.get_rank(), dist.get_world_size(), local)
    if joins:
        dist.destroy_process_group()


def _met_by_all() -> tuple[Any, int, int]:
    """Connect to the store given in torchrun's environment, and wait until all processes have joined it.

    Returns:
        The shared store, the rank of this process, and the number of processes.

    Raises:
        RewardkitError: Process 0 cannot be reached, or some processes did not join. The message
            lists these processes.
    """
    given = os.environ
    rank, size = int(given["RANK"]), int(given["WORLD_SIZE"])
    host, port = given["MASTER_ADDR"], int(given["MASTER_PORT"])
    agents = given.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if agents and rank == 0 and int(given.get("GROUP_WORLD_SIZE", 1)) > 1:
        print(_SHARED_STORE, file=sys.stderr, flush=True)
    try:
        store: Any = TCPStore(
            host, port, size, rank == 0 and not agents, JOIN_TIMEOUT, wait_for_workers=False
        )
        if agents:  # torchrun's agent keeps its store across restarts
            store = PrefixStore(f"attempt {given.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
        store.set(f"here/{rank}", socket.gethostname())
        _await_all(store, rank, size)
    except dist.DistError as error:
        why = str(error).partition("\n")[0]
        raise RewardkitError(f"process {rank} cannot reach process 0 at {host}:{port}: {why}") from None
    return store, rank, size


def _await_all(store: Any, rank: int, size: int) -> None:
    began = time.monotonic()
    told_at = began + _TOLD_AFTER_S
    while missing := [other for other in range(size) if not store.check([f"here/{other}"])]:
        ranks = ", ".join(map(str, missing[:16]))
        who = f"{len(missing)} of {size} processes have not joined the run (rank {ranks})"
        now = time.monotonic()
        if now - began >= JOIN_TIMEOUT.total_seconds():
            raise RewardkitError(
                f"{who} after {JOIN_TIMEOUT.total_seconds():g} s; see the output of these processes"
            )
        if rank == 0 and now >= told_at:
            told_at = now + _TOLD_AFTER_S
            print(f"waiting: {who}", file=sys.stderr, flush=True)
        time.sleep(0.1)


def free_port() -> int:
    """Return a free TCP port on this machine."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
