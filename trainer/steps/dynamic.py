"""Implements DAPO's dynamic sampling (Yu et al. 2025, arXiv:2503.14476, section 3.2).

Prompts whose responses all have the same outcome are replaced, because they contribute no gradient. With
`order=ready`, `feed.py` replaces each prompt as soon as its responses are scored (`DifferingGroups`).
Otherwise, each step generates further batches until it is full.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from rewardkit.errors import ScoringError
from rewardkit.trainer.batch import Batch, ScoredRollout, join
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import NOTED_BATCHES, note_replaced
from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.steps.dumps import record
from rewardkit.trainer.steps.generation import DrawnGroup, generate, next_batch
from rewardkit.trainer.steps.scoring import collect_scores, put_scores, refuse_failures
from rewardkit.trainer.steps.signal import outcome_metrics
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import Score

AVERAGES = ("agent/", "reward/turns/")


def sample_dynamically(run: TrainingRun, step: int, clock: Clock) -> tuple[Batch, dict[str, float]]:
    """Return a scored batch in which the responses to each prompt differ in outcome.

    Whole batches are generated from further prompts until the result is full. The result contains the first
    groups whose responses differ, in the order of the prompts, so the choice does not depend on the number of
    processes.

    Raises:
        ScoringError: `max_num_gen_batches` batches contained too few differing groups.
    """
    wanted, n = run.config.data.train_batch_size, run.config.actor_rollout_ref.rollout.n
    generated, told = 0, NOTED_BATCHES
    drawn: list[Batch] = []
    scored: list[ScoredRollout] = []
    found: list[int] = []
    metrics: Counter[str] = Counter()
    averages: dict[str, float] = {}
    while len(found) < wanted:
        _refuse_further(run, len(drawn), len(found), wanted)
        if len(drawn) == told:
            note_replaced(run.world, step, generated - len(found))
            told *= 2
        with clock("gen"):
            if drawn:
                batch, further = generate(run, run.feed.loader.take(), step, first=len(drawn) * wanted)
                pending = [further]
            else:
                batch, pending = next_batch(run, step)
        with clock("reward"):
            here, of_batch = collect_scores(run, batch, pending)
        # Counts and times are summed. Shares and means are taken from the last batch.
        averages = {name: value for name, value in of_batch.items() if name.startswith(AVERAGES)}
        metrics.update({name: value for name, value in of_batch.items() if name not in averages})
        scored += here
        if run.feed.selects:
            found += range(wanted)  # the groups of the step come before those that were rejected
        else:
            mine = _differing(run.config, batch, here)
            found += sorted(group for share in run.world.gather(mine) for group in share)
        generated += sum(run.world.gather(len(batch) // n))
        drawn.append(batch)
    of_parts = record(run, scored, step)
    # With `order=ready`, the number of prompts is rarely a multiple of the batch size.
    counts = {
        "training/filter_groups/num_gen_batches": generated / wanted,
        "training/filter_groups/dropped_groups": float(generated - len(found)),
    }
    whole = join(drawn)
    of_outcomes = outcome_metrics(run, whole, scored, set(found[:wanted]))
    more = averages | of_outcomes | of_parts | counts
    return deal(whole, found[:wanted], run.world), dict(metrics) | more


def differing_groups(groups: Tensor, outcomes: Sequence[float], scored: Tensor) -> list[int]:
    """Return the groups whose scored responses differ in outcome. All arguments are (B,)."""
    seen: dict[int, set[float]] = {}
    for group, outcome, ok in zip(groups.tolist(), outcomes, scored.tolist(), strict=True):
        if ok:
            seen.setdefault(group, set()).add(outcome)
    return [group for group, values in seen.items() if len(values) > 1]


def deal(batch: Batch, order: Sequence[int], world: World) -> Batch:
    """Send the k-th group in `order` to process k % size, as `World.shard` does with prompts.

    Groups in `batch` that are not in `order` are dropped. `len(order)` must be divisible by the world size.
    """
    place = {group: k for k, group in enumerate(order)}
    targets = torch.tensor([place[g] % world.size if g in place else -1 for g in batch["groups"].tolist()])
    share = [batch.select((targets == rank).nonzero().squeeze(1)) for rank in range(world.size)]
    sent = [piece.to(torch.device("cpu")) if rank != world.rank else None for rank, piece in enumerate(share)]
    received = [pieces[world.rank] for pieces in world.gather(sent)]
    mine = join([share[world.rank], *(piece.to(world.device) for piece in received if piece is not None)])
    places = torch.tensor([place[g] for g in mine["groups"].tolist()])
    return mine.select(places.argsort(stable=True))


def _refuse_further(run: TrainingRun, drawn: int, found: int, wanted: int) -> None:
    asked = run.config.algorithm.filter_groups
    if drawn and drawn == asked.max_num_gen_batches:
        raise ScoringError(
            f"expected {wanted} prompts whose responses differ in {asked.metric}, found {found} in "
            f"{drawn} batches; raise algorithm.filter_groups.max_num_gen_batches (0: no limit), or "
            "train on prompts that the policy sometimes solves"
        )


class DifferingGroups:
    """Function that waits for a group's scores and returns True if its responses differ in outcome.

    Several threads may call it at once.
    """

    def __init__(self, config: Config, world: World) -> None:
        self._config = config
        self._alone = World(0, 1, world.device)
        self._most_failed = config.data.train_batch_size
        self._failed = 0
        """Number of consecutive groups of which no response could be scored."""
        self._lock = threading.Lock()

    def __call__(self, drawn: DrawnGroup) -> bool:
        """Return True if a step can train on a group.

        Raises:
            ScoringError: A response could not be scored and `reward.on_error` is `raise`, or no response in
                as many groups as a step has could be scored.
            RewardkitError: Scoring failed.
        """
        batch, pending = drawn
        scored = pending.wait()
        scores = [each.score for each in scored]
        with self._lock:
            self._failed = 0 if any(score.ok for score in scores) else self._failed + 1
            nothing = self._failed >= self._most_failed
        on_error = self._config.reward.on_error
        if nothing or on_error == "raise":
            refuse_failures(scores, self._alone, on_error)
        copy = Batch(dict(batch.tensors), batch.rows)
        copy["groups"] = torch.zeros(len(batch), dtype=torch.int64)
        put_scores(copy, scores, self._alone, self._config.reward)
        return bool(_differing(self._config, copy, scored))


def _differing(config: Config, batch: Batch, scored: Sequence[ScoredRollout]) -> list[int]:
    """Return the groups in a batch whose responses differ in `filter_groups.metric`."""
    metric = config.algorithm.filter_groups.metric
    if metric == "reward" and config.reward.mode != "trajectory":
        outcomes: list[float] = batch["token_level_scores"].sum(dim=1).tolist()
    else:
        outcomes = [_outcome(each.score, metric) for each in scored]
    return differing_groups(batch["groups"], outcomes, batch["scored"])


def _outcome(score: Score, metric: str) -> float:
    return score.score if metric == "reward" or score.correct is None else float(score.correct)
