"""Two processes that load models into their shards, and what it takes of their memory.

python -m tests.trainer.models.shard_runs OUT FOLDERS...
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.models import sharding
from rewardkit.trainer.models.load import outline_causal_lm
from rewardkit.trainer.models.prepare import prepare


def own_bytes() -> int:
    """This process's memory, without the pages of files that it has mapped: the kernel may take those back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


class Peak(threading.Thread):
    """Watches a process's own memory from its start until `stop`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = own_bytes()
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(0.002):
            self.bytes = max(self.bytes, own_bytes())

    def stop(self) -> int:
        """Return the most there was."""
        self._stopped.set()
        self.join()
        return max(self.bytes, own_bytes())


def measure(rank: int, out: Path, folders: list[str]) -> None:
    """Load models in one of two processes; write the last one's own bytes, largest tensor and peak.

    The first has everything imported that a load imports. The peak is that of loading: gathering weights for
    a forward comes after it, and is the device's memory elsewhere.
    """
    shared = torch.distributed.FileStore(str(out / "store"), 2)
    torch.distributed.init_process_group("gloo", store=shared, rank=rank, world_size=2)
    found = 0
    fill = sharding.fill

    def filled(*given: Any) -> None:
        nonlocal found
        fill(*given)
        found = peak.stop()

    sharding.fill = filled
    with open_world("cpu") as world:
        for folder in folders:
            options, fsdp = ModelConfig(folder), FsdpConfig("float32")
            before = own_bytes()
            peak = Peak()
            peak.start()
            model, places = outline_causal_lm(folder, torch.float32, options)
            sharded: Any = sharding.shard(prepare(model, options, world.device, fsdp), world, fsdp, places)
        own = sum(p.to_local().numel() * 4 for p in sharded.parameters())
        largest = max(p.numel() * 4 for p in sharded.parameters())
    (out / f"rank{rank}.json").write_text(json.dumps([own, largest, found - before]))


def main(out: Path, folders: list[str]) -> int:
    """Fork the processes; the exit code is 1 when one failed."""
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=measure, args=(rank, out, folders), daemon=True) for rank in (0, 1)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return int(any(rank.exitcode for rank in ranks))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
