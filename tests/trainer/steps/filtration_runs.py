"""Two processes that draw their responses anew together.

python -m tests.trainer.steps.filtration_runs OUT
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World, open_world
from rewardkit.trainer.steps.filtration import filtered


def drawn(world: World, numbers: list[int]) -> list[int]:
    """Return which of these responses, scored by their numbers, a process learns from."""
    index = torch.tensor(numbers)
    scores = torch.zeros((len(numbers), 2))
    scores[:, 1] = index.float()
    tensors = {"token_level_scores": scores, "scored": index >= 0, "seeds": index + 100, "x": index}
    given = ["data.train_files=x", "actor_rollout_ref.model.path=x", "algorithm.use_pf_ppo=true"]
    run: Any = SimpleNamespace(config=load_config(None, given), world=world)
    found: list[int] = filtered(run, Batch(tensors, []))["x"].tolist()
    return found


def work(rank: int, out: Path) -> None:
    """Draw in one of two processes, which have the responses in turns."""
    shared = torch.distributed.FileStore(str(out / "store"), 2)
    torch.distributed.init_process_group("gloo", store=shared, rank=rank, world_size=2)
    with open_world("cpu") as world:
        (out / f"rank{rank}.json").write_text(json.dumps(drawn(world, list(range(rank, 8, 2)))))


def main(out: Path) -> int:
    """Fork the processes; the exit code is 1 when one failed."""
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=work, args=(rank, out), daemon=True) for rank in (0, 1)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return int(any(rank.exitcode for rank in ranks))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
