"""Responses on their way to scores: each is decoded and scored from when it ends, beside generation and
forwards."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any

from rewardkit.errors import RewardkitError
from rewardkit.trainer.batch import Batch, PromptRow, ScoredRollout
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rewards import RewardSource, ScoreFuture
from rewardkit.trainer.rollout.base import TurnCosts
from rewardkit.trainer.steps.episodes import Played, episode_metrics
from rewardkit.trainer.steps.parts import place_parts
from rewardkit.trainer.steps.placing import place_scores
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import Sample, Score


class PendingScores:
    """The scores of this process's responses, one for each of `rows`, while they are being computed."""

    def __init__(
        self, source: RewardSource, tokenizer: Any, rows: Sequence[PromptRow], timeout_s: float
    ) -> None:
        """Take responses until `timeout_s` after the last of them came."""
        self.texts = [""] * len(rows)
        self._source = source
        self._tokenizer = tokenizer
        self._rows = rows
        self._timeout_s = timeout_s
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="decoding")  # one: they keep their order
        self._decoded: list[Future[None]] = []
        self._submitted: list[tuple[list[int], ScoreFuture]] = []
        self._held: list[int] = []
        """Rows whose group is not all there yet."""
        self._deadline = monotonic() + timeout_s
        self._error: RewardkitError | None = None
        self._scores: dict[int, Score] = {}
        """Those that nobody has to be asked for."""
        self.episodes: dict[int, Played] = {}
        """Of rows that are episodes."""
        self.costs = TurnCosts()
        """Of their turns."""

    def take(self, responses: dict[int, list[int]]) -> None:
        """Start scoring these responses, token ids by row. Each must come once.

        It returns at once: engines call it between two of their steps.
        """
        self._decoded.append(self._decoder.submit(self._decode, responses))

    def _decode(self, responses: dict[int, list[int]]) -> None:
        texts = self._tokenizer.batch_decode(list(responses.values()), skip_special_tokens=True)
        self._take(dict(zip(responses, texts, strict=True)))

    def take_episode(self, row: int, played: Played) -> None:
        """Start scoring the last turn of an episode; it must come once."""
        self.episodes[row] = played
        known = played.known_score
        if known is None:
            self._take({row: played.answer})
        else:
            self.texts[row] = played.answer
            self._scores[row] = known

    def _take(self, texts: dict[int, str]) -> None:
        for i, text in texts.items():
            self.texts[i] = text
        self._deadline = monotonic() + self._timeout_s
        try:
            self._submit([i for i in texts if not self._by_group(i)])
            self._held += [i for i in texts if self._by_group(i)]
        except RewardkitError as error:  # the other processes hear of it in `wait`
            self._error = error

    def _by_group(self, row: int) -> bool:
        """Whether a row's reward has to see the whole group, which comes a few responses at a time."""
        return self._source.scores_by_group(self._rows[row].data_source)

    def _submit(self, rows: list[int]) -> None:
        if rows:
            samples = [_sample(self._rows[i], self.texts[i], self.episodes.get(i)) for i in rows]
            self._submitted.append((rows, self._source.submit(samples)))

    def wait(self, world: World) -> list[ScoredRollout]:
        """Return the rows, in order, with their texts and scores. All processes raise the error of one."""
        scores = dict(self._scores)
        try:
            self._end_decoding()
            if self._error is None:
                self._submit(sorted(self._held))
            for places, future in self._submitted if self._error is None else ():
                found = future.wait(max(0.0, self._deadline - monotonic()))
                scores.update(zip(places, found, strict=True))
        except RewardkitError as error:
            self._error = error
        first = world.first_error(self._error)
        if first is not None:
            raise first
        return [self._scored(i, scores[i]) for i in range(len(self._rows))]

    def _end_decoding(self) -> None:
        self._decoder.shutdown()
        for one in self._decoded:
            one.result()  # raises what decoding raised

    def _scored(self, row: int, score: Score) -> ScoredRollout:
        played = self.episodes.get(row)
        columns = None if played is None else played.columns()
        return ScoredRollout(self._rows[row], self.texts[row], score, columns)


def start_scoring(run: TrainingRun, rows: Sequence[PromptRow]) -> PendingScores:
    """Return what takes the responses to `rows`, one for each."""
    return PendingScores(run.rewards, run.tokenizer, rows, run.config.reward.timeout_s)


def collect_scores(
    run: TrainingRun, batch: Batch, pending: PendingScores
) -> tuple[list[ScoredRollout], dict[str, float]]:
    """Wait for the scores and place them in the batch; return them, and the metrics of `place_scores`.

    With agents those of `episode_metrics` too.
    """
    scored = pending.wait(run.world)
    scores = [each.score for each in scored]
    metrics = place_scores(batch, scores, run.world, run.config.reward)
    place_parts(batch, scores, run.world, run.config)
    if run.agents is not None:
        played = [pending.episodes[i] for i in range(len(scored))]
        metrics |= episode_metrics(played, pending.costs, run.world)
    return scored, metrics


def _sample(row: PromptRow, text: str, played: Played | None) -> Sample:
    extra = row.extra_info if played is None else {**row.extra_info, **played.facts()}
    return Sample(row.data_source, text, row.ground_truth, row.prompt, extra)
