"""Drawing the responses that a step learns from anew, by their scores; see `algorithms/filtration.py`."""

from __future__ import annotations

import torch

from rewardkit.trainer.algorithms.filtration import draw
from rewardkit.trainer.batch import Batch, join
from rewardkit.trainer.training_run import TrainingRun


def filtered(run: TrainingRun, batch: Batch) -> Batch:
    """Return as many responses, drawn from those of all processes; the batch itself where none is asked for.

    Scores are those of the rewards, without the KL. Which are drawn depends on the step's own seeds alone.
    """
    algorithm = run.config.algorithm
    if not algorithm.use_pf_ppo:
        return batch
    world = run.world
    mine = (batch["token_level_scores"].sum(dim=1).cpu(), batch["scored"].bool().cpu(), batch["seeds"].cpu())
    scores, scored, seeds = (torch.cat(share) for share in zip(*world.gather(mine), strict=True))
    order = seeds.argsort(stable=True)  # one that does not depend on the number of processes
    how = algorithm.pf_ppo
    seed = int(seeds.min())
    drawn = order[draw(scores[order], scored[order], how.reweight_method, how.weight_pow, seed)]
    return _deal(run, batch, [drawn[rank :: world.size] for rank in range(world.size)])


def _deal(run: TrainingRun, batch: Batch, wanted: list[torch.Tensor]) -> Batch:
    """Give each process the responses it is to learn from, by their numbers over all processes."""
    world = run.world
    size = len(batch)
    home = slice(world.rank * size, (world.rank + 1) * size)
    numbers = [rows[(rows >= home.start) & (rows < home.stop)] - home.start for rows in wanted]
    cpu = torch.device("cpu")
    sent = [batch.select(own).to(cpu) if k != world.rank else None for k, own in enumerate(numbers)]
    received = [pieces[world.rank] for pieces in world.gather(sent)]
    received[world.rank] = batch.select(numbers[world.rank])
    pieces = [piece.to(world.device) for piece in received if piece is not None and len(piece)]
    mine = wanted[world.rank]
    # The pieces stand in the order of the processes, and in each in the order that they were drawn in.
    return join(pieces).select((mine // size).argsort(stable=True).argsort())
