"""Divides the work on a model among processes, rows among groups and each row's tokens within a group.

Outside the workers, every process has its own rows. In the workers, a group computes its rows together.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import group_size
from rewardkit.trainer.distributed import World


@dataclass(frozen=True, slots=True)
class Parallel:
    """Groups that divide the work on one model, as seen by this process."""

    world: World
    """All processes."""
    data: World
    """This process and the corresponding process in each other group, which compute different rows."""
    sequence: World
    """This process's group, whose processes compute different tokens of the same rows."""

    @classmethod
    def of(cls, world: World, size: int = 1) -> Parallel:
        """Create groups of `size` processes with consecutive ranks. All processes must call this method."""
        if size == 1:
            return cls(world, world, World(0, 1, world.device))
        shape = (world.size // size, size)
        mesh = init_device_mesh(world.device.type, shape, mesh_dim_names=("data", "sequence"))
        data, sequence = (
            World(mesh.get_local_rank(name), mesh[name].size(), world.device, mesh.get_group(name))
            for name in ("data", "sequence")
        )
        return cls(world, data, sequence)

    @property
    def sharing(self) -> World | None:
        """Return the processes that share each row's tokens, or None if tokens are not shared."""
        return self.sequence if self.sequence.size > 1 else None

    def together(self, batch: Batch) -> Batch:
        """Return the rows from all processes in the group, interleaved (all first rows, all second, etc.)."""
        if self.sequence.size == 1:
            return batch
        return Batch({name: self._gathered(tensor) for name, tensor in batch.tensors.items()}, [])

    def own(self, values: Tensor) -> Tensor:
        """Return the values for this process's own rows, given the values for all rows in its group."""
        return values[self.sequence.rank :: self.sequence.size]

    def _gathered(self, tensor: Tensor) -> Tensor:
        each = [
            torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self.sequence.size)
        ]
        dist.all_gather(each, tensor.contiguous(), group=self.sequence.group)
        return torch.stack(each, dim=1).flatten(0, 1)


def parallel_to(model: nn.Module, world: World, asked: int) -> Parallel:
    """Return the division of the work on `model` among processes.

    Raises:
        ConfigError: The processes would share rows, but the model does not keep packed sequences apart.
    """
    size = group_size(asked, world.size)
    if size > 1 and getattr(model, "packing", "off") != "flat":
        raise ConfigError(
            "ulysses_sequence_parallel_size above 1 needs packed rows: set use_remove_padding=true, and use "
            "a model that keeps packed sequences apart"
        )
    return Parallel.of(world, size)
