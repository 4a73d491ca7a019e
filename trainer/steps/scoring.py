"""Scores responses, and writes the scores into the batch.

Each response is decoded and scored as soon as it ends, while other responses are still being generated. A
score is placed on the last token of its response or turn, and responses that could not be scored are masked.
`rewards.py` computes the rewards.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple
from time import monotonic
from typing import Any

import torch
from torch import Tensor

from rewardkit.errors import RewardkitError, ScoringError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.batch import Batch, PromptRow, ScoredRollout, last_tokens
from rewardkit.trainer.config.root import Config, RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.rewards import RewardSource, ScoreFuture, part_of, why_no_parts
from rewardkit.trainer.rollout.base import TurnCosts
from rewardkit.trainer.steps.episodes import Played, episode_metrics
from rewardkit.trainer.steps.failures import REMEDIES
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import STATUSES, Sample, Score, failure


class PendingScores:
    """Pending scores for this process's responses, one for each row."""

    def __init__(
        self, source: RewardSource, tokenizer: Any, rows: Sequence[PromptRow], timeout_s: float
    ) -> None:
        """Create pending scores for `rows`, which time out `timeout_s` seconds after the last response."""
        self.texts = [""] * len(rows)
        self._source = source
        self._tokenizer = tokenizer
        self._rows = rows
        self._timeout_s = timeout_s
        # A single thread preserves the order.
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="decoding")
        self._decoded: list[Future[None]] = []
        self._submitted: list[tuple[list[int], ScoreFuture]] = []
        self._held: list[int] = []
        """Indices of rows whose group is not complete yet."""
        self._deadline = monotonic() + timeout_s
        self._error: RewardkitError | None = None
        self._ended: list[ScoredRollout] | None = None
        """Result of `wait`, once it has returned."""
        self._scores: dict[int, Score] = {}
        """Scores that are known without calling a reward, by row."""
        self.episodes: dict[int, Played] = {}
        """Episodes by row."""
        self.costs = TurnCosts()
        """Costs of the episodes' turns."""

    def take(self, responses: dict[int, list[int]]) -> None:
        """Start scoring responses, given as token ids by row.

        Each row must be passed exactly once. Engines call this method between two steps, so it returns
        immediately.
        """
        self._decoded.append(self._decoder.submit(self._decode, responses))

    def _decode(self, responses: dict[int, list[int]]) -> None:
        texts = self._tokenizer.batch_decode(list(responses.values()), skip_special_tokens=True)
        self._take(dict(zip(responses, texts, strict=True)))

    def take_episode(self, row: int, played: Played) -> None:
        """Start scoring the last turn in an episode. Each row must be passed exactly once."""
        self.episodes[row] = played
        known = played.known_score
        if known is None:
            self._take({row: played.answer})
        else:
            self.texts[row] = played.answer
            self._scores[row] = known

    def take_failed(self, reasons: Mapping[int, str]) -> None:
        """Record, by row, why responses could not be generated."""
        self._scores |= {row: failure("error", why) for row, why in reasons.items()}

    def _take(self, texts: dict[int, str]) -> None:
        for i, text in texts.items():
            self.texts[i] = text
        self._deadline = monotonic() + self._timeout_s
        try:
            self._submit([i for i in texts if not self._by_group(i)])
            self._held += [i for i in texts if self._by_group(i)]
        except RewardkitError as error:  # `wait` raises the error later.
            self._error = error

    def _by_group(self, row: int) -> bool:
        """Return True if a row's reward needs all responses in the group at once."""
        return self._source.scores_by_group(self._rows[row].data_source)

    def _submit(self, rows: list[int]) -> None:
        if rows:
            samples = [_sample(self._rows[i], self.texts[i], self.episodes.get(i)) for i in rows]
            self._submitted.append((rows, self._source.submit(samples)))

    def wait(self) -> list[ScoredRollout]:
        """Wait for all scores, and return the rows in order with their texts and scores.

        Raises:
            RewardkitError: Scoring failed. Other processes may not have failed.
        """
        if self._ended is None:
            self._ended = self._wait()
        return self._ended

    def _wait(self) -> list[ScoredRollout]:
        scores = dict(self._scores)
        self._end_decoding()
        if self._error is not None:
            raise self._error
        self._submit(sorted(self._held))
        for places, future in self._submitted:
            found = future.wait(max(0.0, self._deadline - monotonic()))
            scores.update(zip(places, found, strict=True))
        return [self._scored(i, scores[i]) for i in range(len(self._rows))]

    def _end_decoding(self) -> None:
        self._decoder.shutdown()
        for one in self._decoded:
            one.result()  # This call raises errors from decoding.

    def _scored(self, row: int, score: Score) -> ScoredRollout:
        played = self.episodes.get(row)
        columns = None if played is None else played.columns()
        return ScoredRollout(self._rows[row], self.texts[row], score, columns)


def _sample(row: PromptRow, text: str, played: Played | None) -> Sample:
    extra = row.extra_info if played is None else {**row.extra_info, **played.facts()}
    return Sample(row.data_source, text, row.ground_truth, row.prompt, extra)


def start_scoring(run: TrainingRun, rows: Sequence[PromptRow]) -> PendingScores:
    """Return an object that scores one response for each row."""
    return PendingScores(run.rewards, run.tokenizer, rows, run.config.reward.timeout_s)


def wait_for_scores(pending: Sequence[PendingScores], world: World) -> list[ScoredRollout]:
    """Wait for the scores of this process's responses. An error in one process is raised in all processes."""
    scored: list[ScoredRollout] = []
    error: RewardkitError | None = None
    try:
        scored = [one for each in pending for one in each.wait()]
    except RewardkitError as failed:
        error = failed
    first = world.first_error(error)
    if first is not None:
        raise first
    return scored


def collect_scores(
    run: TrainingRun, batch: Batch, pending: Sequence[PendingScores]
) -> tuple[list[ScoredRollout], dict[str, float]]:
    """Wait for the scores, and add them to the batch. Return the scored responses and metrics.

    The metrics are from `place_scores` and, with agents, also from `episode_metrics`.

    Args:
        pending: Scores for the rows of the batch, in order.
    """
    scored = wait_for_scores(pending, run.world)
    scores = [each.score for each in scored]
    metrics = place_scores(batch, scores, run.world, run.config.reward)
    place_parts(batch, scores, run.world, run.config)
    if run.agents is not None:
        played = [each.episodes[i] for each in pending for i in range(len(each.texts))]
        costs = TurnCosts(*map(sum, zip(*(astuple(each.costs) for each in pending), strict=True)))
        metrics |= episode_metrics(played, costs, run.world)
    return scored, metrics


def place_scores(
    batch: Batch, scores: Sequence[Score], world: World, config: RewardConfig
) -> dict[str, float]:
    """Place each score on the policy's last token in the response, and mask responses without a score.

    This function sets `token_level_scores`, `scored` and `correct`. A response with a status other than `ok`
    gets `reward.error_value` if `reward.on_error` is `value`. Otherwise, its `response_mask` is cleared. The
    mask is also cleared for an episode without tokens from the policy. `place_turn_rewards` describes rewards
    for turns.

    Returns:
        Metrics over all processes: `reward/failed/<status>` for each status that occurred,
        `timing_s/reward_scoring` for the scoring time of all responses together, and
        `timing_s/reward_slowest` for the longest scoring time of a response.

    Raises:
        ScoringError: A sample failed and `on_error` is `raise`, or all samples failed.
    """
    refuse_failures(scores, world, config.on_error)
    return put_scores(batch, scores, world, config) | _scoring_metrics(scores, world)


def put_scores(batch: Batch, scores: Sequence[Score], world: World, config: RewardConfig) -> dict[str, float]:
    """Do what `place_scores` does, even if no sample could be scored. Return the metrics of turns."""
    turns, metrics = place_turn_rewards(batch, world, config)
    mask = batch["response_mask"]
    values = [float(s.score) if s.ok else config.error_value for s in scores]
    placed = torch.zeros_like(mask)
    weight = {"trajectory": 1.0, "turn": 0.0, "mixed": config.trajectory_weight}[config.mode]
    placed[torch.arange(len(batch), device=mask.device), last_tokens(mask)] = weight * torch.tensor(
        values, device=mask.device
    )
    kept = torch.tensor([s.ok or config.on_error == "value" for s in scores], device=mask.device)
    kept = kept & mask.bool().any(dim=1)
    batch["token_level_scores"] = placed * kept.unsqueeze(1)
    batch["response_mask"] = mask * kept.unsqueeze(1)
    batch["scored"] = kept
    batch["correct"] = torch.tensor(
        [math.nan if not s.ok or s.correct is None else float(s.correct) for s in scores],
        dtype=torch.float64,
        device=mask.device,
    )
    if turns is not None:
        batch["trajectory_scores"] = batch["token_level_scores"]
        batch["token_level_scores"] = batch["token_level_scores"] + turns * kept.unsqueeze(1)
    return metrics


def place_turn_rewards(
    batch: Batch, world: World, config: RewardConfig
) -> tuple[Tensor | None, dict[str, float]]:
    """Return the weighted rewards for turns, (B, T), each on its turn's last token, or None without turns.

    A turn without a reward gets `reward.error_value` if `reward.on_error` is `value`. Otherwise, its tokens
    are removed from the loss (`response_mask` is cleared), and the rest of the episode is kept.

    Returns:
        The rewards, and the metrics `reward/turns/mean`, `max` and `min`, and `reward/turns_failed` if any
        turn failed.

    Raises:
        ScoringError: A turn failed and `on_error` is `raise`.
    """
    if "turns" not in batch.tensors:
        return None, {}
    if config.mode == "trajectory":
        return torch.zeros_like(batch["response_mask"]), {}
    given = batch["turn_rewards"]
    failed = given.isnan()
    number = int(world.sum(failed.sum()))
    if number and config.on_error == "raise":
        raise ScoringError(
            f"{number} turn{'s' * (number > 1)} could not be scored; set reward.on_error=mask to mask such "
            "turns"
        )
    if config.on_error == "mask":
        turns = batch["turns"]
        width = int(turns.max()) + 1 if turns.numel() else 1
        of_turn = given.new_zeros((len(given), width)).scatter_add(1, turns, failed.to(given.dtype))
        batch["response_mask"] = batch["response_mask"] * (of_turn.gather(1, turns) == 0)
    values = given.nan_to_num(nan=config.error_value if config.on_error == "value" else 0.0)
    ends = _turn_ends(batch["turns"]) & ~failed
    metrics = summarize({"reward/turns": values[ends]}, world)
    weight = config.turn_weight if config.mode == "mixed" else 1.0
    return weight * values, metrics | ({"reward/turns_failed": float(number)} if number else {})


def _turn_ends(turns: Tensor) -> Tensor:
    """Return a mask of the last tokens of turns, (B, T) bool. Observations separate turns."""
    after = torch.cat([turns[:, 1:], torch.zeros_like(turns[:, :1])], dim=1)
    return (turns > 0) & (after != turns)


def _scoring_metrics(scores: Sequence[Score], world: World) -> dict[str, float]:
    counts = Counter(s.status for s in scores)
    seconds = [s.seconds for s in scores]
    sums = torch.tensor([*(float(counts[s]) for s in STATUSES), sum(seconds)], dtype=torch.float64)
    *totals, scoring_s = world.sum(sums).tolist()
    slowest = world.max(torch.tensor(max(seconds, default=0.0), dtype=torch.float64)).item()
    failed = {f"reward/failed/{s}": n for s, n in zip(STATUSES, totals, strict=True) if n and s != "ok"}
    return failed | {"timing_s/reward_scoring": scoring_s, "timing_s/reward_slowest": slowest}


def refuse_failures(scores: Sequence[Score], world: World, on_error: str) -> None:
    """Raise ScoringError if a sample failed and `on_error` is `raise`, or if all samples failed."""
    failed = next((s for s in scores if not s.ok), None)
    summary = (sum(s.ok for s in scores), len(scores), failed)
    everywhere = world.gather(summary)
    first = next((f for _, _, f in everywhere if f is not None), None)
    n_ok, n = (sum(summary[i] for summary in everywhere) for i in (0, 1))
    if first is None or (on_error != "raise" and n_ok):
        return
    why = f"{first.scorer or 'the reward'} gave status '{first.status}': {first.detail}"
    remedy = REMEDIES[first.status]
    if n_ok:
        raise ScoringError(
            f"{n - n_ok} of {n} responses could not be scored; {why}. {remedy}, or set "
            "reward.on_error=mask to mask such responses"
        )
    raise ScoringError(f"none of the {n} responses could be scored; {why}. {remedy}")


def place_parts(batch: Batch, scores: Sequence[Score], world: World, config: Config) -> None:
    """Set `score_parts`, (B, K), if the estimator compares the parts of the scores separately.

    A response that was not scored gets `reward.error_value` for each part, which is used only if `on_error`
    is `value`.

    Raises:
        ScoringError: A score lacks one of `algorithm.gdpo_reward_keys`.
    """
    if not ESTIMATORS[config.algorithm.adv_estimator].parts:
        return
    keys = config.algorithm.gdpo_reward_keys or []
    lacking = [why for score in scores if score.ok and (why := why_no_parts(score, keys))]
    first = world.first_error(ScoringError(lacking[0]) if lacking else None)
    if first is not None:
        raise first
    failed = config.reward.error_value
    rows = [[part_of(score, key) if score.ok else failed for key in keys] for score in scores]
    batch["score_parts"] = torch.tensor(rows, dtype=torch.float64, device=batch["response_mask"].device)
