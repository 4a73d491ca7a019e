"""Where the advantages of a step come from, as `rewardkit gradient` shows it of a file of rollouts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rewardkit.evaluation.gradient import IN_GROUPS, OVER_ALL, signal
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
        response, or where the advantages come from rewards of turns.
    """
    if run.config.actor_rollout_ref.rollout.n == 1 or run.config.reward.mode != "trajectory":
        return {}
    lengths = policy_lengths(batch).tolist()
    places = zip(batch["groups"].tolist(), lengths, scored, strict=True)
    mine = [_plain(group, length, one) for group, length, one in places if kept is None or group in kept]
    groups = grouped(one for share in run.world.gather(mine) for one in share)
    estimator = _estimator(run.config.algorithm)
    found: dict[str, float] = {}
    for source, its in signal(groups).items():
        shares = its.estimators[estimator]
        named = {name: getattr(shares, name) for name in ("nobody_right", "mixed", "everybody_right")}
        named |= {f"part/{name}": share for name, share in shares.parts.items()}
        named["long_quarter"] = shares.long_quarter
        found |= {f"signal/{source}/{name}": float(share) for name, share in named.items()}
    return found


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
