"""Alarms that use the metrics of each step to detect that a run is not learning its task.

The rules are listed in `RULES`. The settings `trainer.alarms.<rule>` define their thresholds, and
`trainer.alarm` selects the action to take when a rule applies. The metrics `ledger/...` are computed in
`steps/signal.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import RewardkitError
from rewardkit.evaluation.overoptimization import PREFIX, TruthCurves
from rewardkit.trainer.config.root import AlarmsConfig, TrainerConfig


class AlarmError(RewardkitError, RuntimeError):
    """An alarm was raised while `trainer.alarm` is `stop`. The step is saved, so a restart would not help."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class AlarmRule:
    """A rule that applies if one of `metrics` is at or beyond the threshold for `steps` consecutive steps."""

    name: str
    metrics: tuple[str, ...]
    steps: int
    why: tuple[str, ...]
    """Parts of the sentence that explains the alarm. `{value}` is the metric beyond the threshold, and
    `{m[<name>]}` is any other metric of the step, or a text in `Alarms.texts`. A part is omitted if the step
    lacks the metric."""
    what_to_do: str
    below: bool = False
    """True if the rule applies to values at or below the threshold."""


RULES = (
    AlarmRule(
        "failures",
        ("ledger/failed",),
        1,
        (
            "{value:.0%} of the responses could not be scored",
            "; {m[failures/handling]}",
            "; with zeros instead, {m[ledger/failures]:.0%} of the gradient would come from them",
            "; most frequent failure, {m[failures/why]}",
        ),
        "Remove the cause: correct a reward that raises exceptions or, if an exception only means that the "
        "response is wrong, set reward.options.SOURCE.on_exception=0; after timeouts, raise "
        "reward.timeout_s; for invalid rows, use `rewardkit check`",
    ),
    AlarmRule(
        "equal_rewards",
        ("ledger/equal", "actor/rows_left_out"),
        3,
        (
            "the responses to each prompt have equal rewards, so there is nothing to learn from",
            "; their mean is {m[critic/score/mean]:.3g}",
            ", and {m[ledger/right]:.0%} are right",
            "; most frequent reason why they are not, {m[zeros/why]}",
        ),
        "If all are right, the prompts are too easy; if none is, they are too hard or the "
        "reward is wrong: `rewardkit explain` shows how a response is scored",
    ),
    AlarmRule(
        "correction",
        ("rollout_corr/rollout_is_ratio_fraction_high", "rollout_corr/rollout_rs_masked_fraction"),
        1,
        (
            (
                "the rollout correction clips or rejects {value:.0%} of the tokens: the rollout "
                "engine and the policy give different probabilities"
            ),
        ),
        "See `training/rollout_actor_kl`; use the same dtype for both, or newer weights",
    ),
    AlarmRule(
        "skipped_updates",
        ("actor/skipped_updates", "critic/skipped_updates", "train/skipped_updates"),
        3,
        ("{value:.0f} updates of the step were skipped, because their gradients were not finite",),
        "Check the model for weights that are not finite, lower the learning rate, or train in float32",
    ),
    AlarmRule(
        "truncated",
        ("response_length/clip_ratio",),
        3,
        ("{value:.0%} of the responses have the full response length, so they may be truncated",),
        "Raise data.max_response_length, or set algorithm.mask_truncated_completions=true",
    ),
    AlarmRule(
        "entropy",
        ("actor/entropy",),
        3,
        ("the entropy is {value:.2g} nats per token: the responses to a prompt are nearly the same",),
        "Raise clip_ratio_high or entropy_coeff of actor_rollout_ref.actor, or resume from an older step",
        below=True,
    ),
    AlarmRule(
        "format",
        ("ledger/format",),
        3,
        (
            (
                "{value:.0%} of |advantage| is between responses that are equally right: the model "
                "learns format, length or style, not the task"
            ),
            " ({m[ledger/right]:.1%} of the responses are right)",
        ),
        "Lower the reward for format, set algorithm.norm_adv_by_std_in_grpo=false, or use "
        "easier prompts; `rewardkit gradient` shows which part of the reward causes this",
    ),
    AlarmRule(
        "masked",
        ("feed/masked_tokens",),
        3,
        ("{value:.0%} of the tokens of a step are too old and therefore masked",),
        "Raise trainer.max_staleness, lower trainer.pipeline_depth, or set trainer.late=wait",
    ),
    AlarmRule(
        "trained_length",
        ("feed/length_bias",),
        3,
        (
            "the mean length of the responses that are trained on differs by {value:.0%} from that of all "
            "responses",
            " ({m[feed/dropped]:.0f} groups were dropped in this step)",
        ),
        "Set trainer.late=wait or mask, or raise trainer.max_staleness",
    ),
    AlarmRule(
        "length",
        ("ledger/length",),
        3,
        (
            (
                "length explains {value:.0%} of the variance of the advantages among responses that "
                "are equally right"
            ),
        ),
        "Read the longest and the shortest responses on the run's page: the reward may depend on length",
    ),
    AlarmRule(
        "overoptimization",
        (f"{PREFIX}fall",),
        1,
        (
            (
                "the score rises, but the validation with another reward has fallen by {value:.2g} standard "
                "deviations: the policy exploits errors of the reward"
            ),
            (
                "; after step {m[overoptimization/since]:.0f}, {m[overoptimization/name]} fell from "
                "{m[overoptimization/truth_before]:.3g} to {m[overoptimization/truth_now]:.3g}, and the "
                "score rose from {m[overoptimization/score_before]:.3g} to "
                "{m[overoptimization/score_now]:.3g}"
            ),
        ),
        "Use an earlier checkpoint, raise algorithm.kl_ctrl.kl_coef or "
        "actor_rollout_ref.actor.kl_loss_coef, or train the reward model on the policy's responses",
    ),
)


class Alarms:
    """Alarms for a run, which compare the metrics of each step with the rules."""

    def __init__(self, config: TrainerConfig) -> None:
        """Create alarms with the thresholds in `trainer.alarms`. A null threshold disables its rule."""
        self._stop = config.alarm == "stop"
        on = config.alarm in ("warn", "stop")
        self._limits = _limits(config.alarms) if on else {}
        self.beyond = dict.fromkeys(self._limits, 0)
        """Number of consecutive steps at or beyond the threshold, by rule name. Saved in checkpoints."""
        self.truths = TruthCurves()
        """Scores and validations for the rule `overoptimization`. Saved in checkpoints."""
        self.texts: dict[str, str] = {}
        """Texts on the current step, by name, which complete the messages: `failures/why` and
        `failures/handling` on responses that could not be scored, and `zeros/why` on those that are not
        right."""

    def look(self, metrics: Mapping[str, float]) -> dict[str, str]:
        """Return a message, by rule name, for each rule that starts to apply in this step.

        If `trainer.alarm` is `stop`, return a message for every rule that applies.
        """
        begun = {}
        self.truths.add(metrics)
        metrics = {**metrics, **self.truths.metrics()}
        named = {**metrics, **self.texts, f"{PREFIX}name": self.truths.fallen}
        for rule, limit in ((rule, self._limits[rule.name]) for rule in RULES if rule.name in self._limits):
            value = _beyond(rule, limit, metrics)
            self.beyond[rule.name] = 0 if value is None else self.beyond[rule.name] + 1
            if value is None or self.beyond[rule.name] < rule.steps:
                continue
            if self._stop or self.beyond[rule.name] == rule.steps:
                begun[rule.name] = _line(rule, limit, value, named)
        return begun

    def metrics(self) -> dict[str, float]:
        """Return the metric `alarm/<rule>`, with the value 1, for each rule that currently applies.

        If a truth has fallen while the score rose, the result also has the metrics of this fall.
        """
        return {f"alarm/{rule.name}": 1.0 for rule in RULES if self._holds(rule)} | self.truths.metrics()

    def _holds(self, rule: AlarmRule) -> bool:
        return self.beyond.get(rule.name, 0) >= rule.steps

    def end_run(self, begun: Mapping[str, str]) -> bool:
        """Return True if the run must stop because of these alarms."""
        return self._stop and bool(begun)

    def error(self, begun: Mapping[str, str]) -> AlarmError:
        """Return the error that ends the run, with the first alarm and advice on how to resume."""
        name, line = next(iter(begun.items()))
        return AlarmError(
            f"alarm {line}. The step is saved: resume with trainer.alarm=warn, or with "
            f"trainer.alarms.{name}=null to disable this rule"
        )


def _limits(given: AlarmsConfig) -> dict[str, float]:
    limits = {rule.name: getattr(given, rule.name) for rule in RULES}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _beyond(rule: AlarmRule, limit: float, metrics: Mapping[str, float]) -> float | None:
    """Return the first of the rule's metrics that is at or beyond the threshold, or None if no metric is.

    For an upper threshold, a value of 0 never counts.
    """
    beyond = (v for v in _values(rule, metrics) if (v <= limit if rule.below else v >= limit and v > 0))
    return next(beyond, None)


def _values(rule: AlarmRule, metrics: Mapping[str, float]) -> Iterator[float]:
    return (metrics[name] for name in rule.metrics if name in metrics)


def _line(rule: AlarmRule, limit: float, value: float, metrics: Mapping[str, Any]) -> str:
    why = "".join(_filled(piece, value, metrics) for piece in rule.why)
    steps = f" for {rule.steps} steps" if rule.steps > 1 else ""
    side = "at most" if rule.below else "at least"
    return f"{rule.name}: {why} (the rule: {side} {limit:g}{steps}). {rule.what_to_do}"


def _filled(piece: str, value: float, metrics: Mapping[str, Any]) -> str:
    try:
        return piece.format(value=value, m=metrics)
    except KeyError:
        return ""
