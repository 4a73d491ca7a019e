"""Computes metrics on the sources of advantages in a step.

`rewardkit gradient` computes the same metrics from rollout files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from rewardkit.evaluation.gradient import IN_GROUPS, OVER_ALL, signal_under
from rewardkit.evaluation.ledger import Pairs, ledger, shares_of
from rewardkit.evaluation.overoptimization import SCORE
from rewardkit.evaluation.scored import Groups, ScoredResponse, grouped
from rewardkit.trainer.algorithms.reductions import masked_row_means
from rewardkit.trainer.batch import Batch, ScoredRollout, policy_lengths
from rewardkit.trainer.config.root import AlgorithmConfig
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import UNDECIDED


def outcome_metrics(
    run: TrainingRun, batch: Batch, scored: Sequence[ScoredRollout], kept: Collection[int] | None = None
) -> dict[str, float]:
    """Return metrics that depend only on the scores of responses in all processes, not on advantages.

    Args:
        scored: Scored rows of `batch`, in order.
        kept: Groups that are trained on, or None for all groups.

    Returns:
        `ledger/failed`, `signal/<data_source>/undecided` if the reward reports undecided answers and, for the
        kept groups, `ledger/right`. If scores are compared in groups, the result also has `ledger/equal`. If
        the estimator is also in `evaluation.gradient`, the result has `ledger/failures` and, for each
        component of the score, `signal/<data_source>/part/<name>`. If rewards do not decide correctness, the
        result has their mean score, `overoptimization/score`, and `run.scorers_without_verdict` names them.
    """
    places = zip(batch["groups"].tolist(), policy_lengths(batch).tolist(), scored, strict=True)
    mine = [(group, _plain(group, length, one), one.score.scorer) for group, length, one in places]
    everywhere = [one for share in run.world.gather(mine) for one in share]
    drawn = grouped(one for _, one, _ in everywhere)
    learned = grouped(one for group, one, _ in everywhere if kept is None or group in kept)
    estimator = _known(run.config.algorithm)
    compared = run.config.actor_rollout_ref.rollout.n > 1 and run.config.reward.mode == "trajectory"
    of_drawn, of_learned = ledger(drawn, estimator or "grpo"), ledger(learned, estimator or "grpo")
    found = {"failed": of_drawn.failed, "right": of_learned.right}
    if compared:
        found["equal"] = of_learned.equal
    if compared and estimator is not None:
        found["failures"] = of_drawn.failures
    metrics = {f"ledger/{name}": float(value) for name, value in found.items() if value is not None}
    metrics |= _undecided(drawn)
    undecided = [(one.score, scorer) for _, one, scorer in everywhere if one.ok and one.correct is None]
    if undecided:
        run.scorers_without_verdict.update(scorer for _, scorer in undecided)
        metrics[SCORE] = fmean(score or 0.0 for score, _ in undecided)
    if not compared or estimator is None:
        return metrics
    for source, prompts in sorted(learned.items()):
        parts = signal_under(estimator, list(prompts.values())).parts
        metrics |= {f"signal/{source}/part/{name}": float(share) for name, share in parts.items()}
    return metrics


def _undecided(groups: Groups) -> dict[str, float]:
    """Return the share of responses whose answer could not be read or compared, for each data source."""
    found = {}
    for source, prompts in sorted(groups.items()):
        said = [one.parts[UNDECIDED] for group in prompts.values() for one in group if UNDECIDED in one.parts]
        if said:
            found[f"signal/{source}/undecided"] = sum(said) / len(said)
    return found


class _Learned(NamedTuple):
    """Data on one response that is trained on, in a form that can be sent to other processes."""

    data_source: str
    group: int
    correct: bool | None
    length: int
    advantage: float
    """Mean advantage over the policy's tokens."""
    size: float
    """Mean absolute advantage over the policy's tokens."""


def signal_metrics(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Return shares of the advantages in the batches of all processes.

    Returns:
        For each data source, shares of the sum over responses of the mean |advantage| of their tokens.
        `signal/<data_source>/nobody_right`, `mixed` and `everybody_right` are the shares of groups of that
        kind. `long_quarter` is the share of the longest responses, with each response weighted by its length.
        `ledger/nobody_right`, `format` and `length` are shares over all data sources. The result is empty if
        each prompt has only one response.
    """
    if run.config.actor_rollout_ref.rollout.n == 1:
        return {}
    everywhere = [one for share in run.world.gather(list(_learned(batch))) for one in share]
    by_source: dict[str, dict[int, list[_Learned]]] = defaultdict(lambda: defaultdict(list))
    for one in everywhere:
        by_source[one.data_source][one.group].append(one)
    metrics: dict[str, float] = {}
    for source, groups in sorted(by_source.items()):
        metrics |= {f"signal/{source}/{name}": share for name, share in _shares(groups.values()).items()}
    shares = shares_of(_pairs([group for groups in by_source.values() for group in groups.values()]))
    found = zip(shares._fields, shares, strict=True)
    return metrics | {f"ledger/{name}": float(value) for name, value in found if value is not None}


def _learned(batch: Batch) -> Iterator[_Learned]:
    mask = batch["response_mask"]
    kept = batch["scored"].bool() & mask.bool().any(dim=1)
    mean = masked_row_means(batch["advantages"], mask)
    size = masked_row_means(batch["advantages"].abs(), mask)
    columns = (kept, batch["groups"], batch["correct"], policy_lengths(batch), mean, size)
    rows = zip(batch.rows, *(column.tolist() for column in columns), strict=True)
    for row, is_kept, group, correct, length, advantage, absolute in rows:
        if is_kept:
            decided = None if correct != correct else bool(correct)
            yield _Learned(row.data_source, group, decided, int(length), advantage, absolute)


def _shares(groups: Collection[Sequence[_Learned]]) -> dict[str, float]:
    sums = {"nobody_right": 0.0, "mixed": 0.0, "everybody_right": 0.0}
    for group in groups:
        right = sum(one.correct is True for one in group)
        kind = "nobody_right" if not right else "everybody_right" if right == len(group) else "mixed"
        sums[kind] += sum(one.size for one in group)
    total = sum(sums.values())
    by_length = sorted((one.length, one.size) for group in groups for one in group)
    weighted = [length * size for length, size in by_length]
    longest, whole = sum(weighted[len(weighted) * 3 // 4 :]), sum(weighted)
    shares = {name: value / total if total else 0.0 for name, value in sums.items()}
    return shares | {"long_quarter": longest / whole if whole else 0.0}


def _pairs(groups: Sequence[Sequence[_Learned]]) -> Pairs:
    return [([_as_response(one) for one in group], [one.advantage for one in group]) for group in groups]


def _as_response(one: _Learned) -> ScoredResponse:
    return ScoredResponse(
        data_source=one.data_source,
        prompt=str(one.group),
        status="ok",
        score=None,
        correct=one.correct,
        extracted=None,
        parts={},
        length=one.length,
        truncated=None,
    )


def _known(algorithm: AlgorithmConfig) -> str | None:
    """Return the estimator's name in the module `evaluation.gradient`, or None if that module does not
    support the estimator."""
    name = algorithm.adv_estimator
    if name == "grpo" and not algorithm.norm_adv_by_std_in_grpo:
        return "dr_grpo"
    return name if name in (*IN_GROUPS, OVER_ALL) else None


def _plain(group: int, length: int, scored: ScoredRollout) -> ScoredResponse:
    score = scored.score
    return ScoredResponse(
        data_source=scored.row.data_source,
        prompt=str(group),
        status=score.status,
        score=score.score if score.ok else None,
        correct=score.correct if score.ok else None,
        extracted=None,
        parts=score.parts,
        length=length,
        truncated=None,
    )
