"""Reports why responses in a step could not be scored: the most frequent reasons, with advice."""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.evaluation.reasons import Reason, frequent_reasons
from rewardkit.trainer.batch import ScoredRollout
from rewardkit.trainer.config.root import RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import Status

REMEDIES: dict[Status, str] = {
    "error": (
        "Remove its cause. If the reward raises an exception only because the response is wrong, set "
        "reward.options.SOURCE.on_exception=0"
    ),
    "timeout": "Make the reward faster, or raise its time limit and reward.timeout_s",
    "invalid": "Correct the rows, which `rewardkit check` finds",
}
"""Advice for responses that could not be scored, by status."""
_SHOWN = 3


def failure_reasons(scored: Sequence[ScoredRollout], world: World) -> tuple[list[Reason], int]:
    """Return why responses in all processes could not be scored, and the number of all responses.

    The reasons, such as `error, gsm8k@11 on gsm8k: ValueError: ...`, are ordered by frequency. Only the main
    process gets them.
    """
    mine = [
        f"{one.score.status}, {one.score.scorer or 'before scoring'} on {one.row.data_source}: "
        f"{one.score.detail}"
        for one in scored
        if not one.score.ok
    ]
    everywhere = world.to_main((mine, len(scored)))
    found = frequent_reasons(((None, why) for details, _ in everywhere for why in details), _SHOWN)
    return found, sum(n for _, n in everywhere)


def warn_of_failures(run: TrainingRun, scored: Sequence[ScoredRollout], where: str) -> list[str]:
    """Print the most frequent failure and its remedy, unless the last such warning had the same reason.

    Returns:
        Lines such as `3 of 8: error, gsm8k@11 on gsm8k: ValueError: ...`, the most frequent first.
    """
    reasons, total = failure_reasons(scored, run.world)
    lines = [f"{reason.count} of {total}: {reason.example}" for reason in reasons]
    if reasons and reasons[0].text != run.failure_shown:
        run.failure_shown = reasons[0].text
        remedy = next(what for status, what in REMEDIES.items() if reasons[0].text.startswith(status))
        run.logger.warn(f"{where}: responses could not be scored; most frequent, {lines[0]}. {remedy}")
    return lines


def alarm_texts(failed: Sequence[str], zeros: Sequence[str], config: RewardConfig) -> dict[str, str]:
    """Return the texts that alarms about a step may quote (see `Alarms.texts`).

    Args:
        failed: Lines about responses that could not be scored.
        zeros: Lines about responses that are not right.
        config: Settings of the rewards.
    """
    value = f"reward.on_error=value trains them with the score {config.error_value:g}"
    masked = "they are masked, and the other responses may be a biased sample"
    texts = {"failures/handling": value if config.on_error == "value" else masked}
    if failed:
        texts["failures/why"] = failed[0]
    if zeros:
        texts["zeros/why"] = zeros[0]
    return texts
