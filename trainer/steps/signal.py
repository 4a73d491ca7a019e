"""Where the advantages of a step come from; `rewardkit gradient` shows the same for a file of rollouts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rewardkit.evaluation.gradient import IN_GROUPS, OVER_ALL, signal
from rewardkit.evaluation.ledger import ledger
from rewardkit.evaluation.scored import ScoredResponse, grouped
from rewardkit.trainer.batch import Batch, ScoredRollout, policy_lengths
from rewardkit.trainer.config.root import AlgorithmConfig
from rewardkit.trainer.training_run import TrainingRun


def signal_metrics(
    run: TrainingRun, batch: Batch, scored: Sequence[ScoredRollout], kept: Collection[int] | None = None
) -> dict[str, float]:
    """Return shares of the summed |advantage| of all processes' responses, per data source.

    Args:
        scored: the rows of `batch`, in order.
        kept: the groups that are trained on; None: all.

    Returns:
        `signal/<data_source>/nobody_right`, `mixed` and `everybody_right`, from groups of that kind;
        `part/<name>`, by component of the score; `long_quarter`, from the longest responses. Under the run's
        estimator, or GRPO where that is none of `offline.gradient`. Nothing where prompts get one
        response, or where the advantages come from rewards of turns. Always `ledger/...`: see `_ledger`.
    """
    places = zip(batch["groups"].tolist(), policy_lengths(batch).tolist(), scored, strict=True)
    mine = [(group, _plain(group, length, one)) for group, length, one in places]
    everywhere = [one for share in run.world.gather(mine) for one in share]
    learned = [one for group, one in everywhere if kept is None or group in kept]
    metrics = _ledger(run, [one for _, one in everywhere], learned)
    if not _compared(run):
        return metrics
    estimator = _estimator(run.config.algorithm)
    for source, its in signal(grouped(learned)).items():
        shares = its.estimators[estimator]
        named = {name: getattr(shares, name) for name in ("nobody_right", "mixed", "everybody_right")}
        named |= {f"part/{name}": share for name, share in shares.parts.items()}
        named["long_quarter"] = shares.long_quarter
        metrics |= {f"signal/{source}/{name}": float(share) for name, share in named.items()}
    return metrics


def _compared(run: TrainingRun) -> bool:
    """Whether the advantages are those of a response's score among the others of its group."""
    return run.config.actor_rollout_ref.rollout.n > 1 and run.config.reward.mode == "trajectory"


def _ledger(
    run: TrainingRun, drawn: Sequence[ScoredResponse], learned: Sequence[ScoredResponse]
) -> dict[str, float]:
    """Return the figures of `evaluation/ledger.py` as `ledger/<name>`: failures of all that was drawn, the
    others of what is learned from; of single responses and of rewards of turns no share of the gradient."""
    names = ["right", "equal", "nobody_right", "format", "length"] if _compared(run) else ["right"]
    of_learned = ledger(grouped(learned), _estimator(run.config.algorithm))
    of_drawn = ledger(grouped(drawn), _estimator(run.config.algorithm)) if drawn != learned else of_learned
    found = {name: getattr(of_learned, name) for name in names} | {"failed": of_drawn.failed}
    if _compared(run):
        found["failures"] = of_drawn.failures
    return {f"ledger/{name}": float(value) for name, value in found.items() if value is not None}


def _estimator(algorithm: AlgorithmConfig) -> str:
    name = algorithm.adv_estimator
    if name == "grpo" and not algorithm.norm_adv_by_std_in_grpo:
        return "dr_grpo"
    return name if name in (*IN_GROUPS, OVER_ALL) else "grpo"


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
