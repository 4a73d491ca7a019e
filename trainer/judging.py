"""Responses on their way to scores: each is judged from when it ends, beside whatever else is going on."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

from rewardkit.errors import RewardkitError
from rewardkit.trainer.batch import Batch, Judged, Row
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rewards import OnTheWay, RewardSource, place_scores
from rewardkit.trainer.setup import Parts
from rewardkit.types import Sample, Score


class Judging:
    """The scores of this process's responses, one for each of `rows`."""

    def __init__(self, source: RewardSource, tokenizer: Any, rows: Sequence[Row], timeout_s: float) -> None:
        """Take responses until `timeout_s` after the last of them came."""
        self.texts = [""] * len(rows)
        self._source, self._tokenizer, self._rows, self._timeout_s = source, tokenizer, rows, timeout_s
        self._pending: list[tuple[list[int], OnTheWay]] = []
        self._deadline = monotonic() + timeout_s
        self._error: RewardkitError | None = None

    def take(self, responses: dict[int, list[int]]) -> None:
        """Have responses, token ids by row, judged from now on. Each must come once."""
        texts = self._tokenizer.batch_decode(list(responses.values()), skip_special_tokens=True)
        for i, text in zip(responses, texts, strict=True):
            self.texts[i] = text
        self._deadline = monotonic() + self._timeout_s
        try:
            samples = [_sample(self._rows[i], self.texts[i]) for i in responses]
            self._pending.append((list(responses), self._source.submit(samples)))
        except RewardkitError as error:  # the other processes hear of it in `wait`
            self._error = error

    def wait(self, world: World) -> list[Judged]:
        """Return the rows, in order, with their texts and scores. All processes raise the error of one."""
        scores: dict[int, Score] = {}
        try:
            for places, pending in self._pending if self._error is None else ():
                found = pending.wait(max(0.0, self._deadline - monotonic()))
                scores.update(zip(places, found, strict=True))
        except RewardkitError as error:
            self._error = error
        first = world.first_error(self._error)
        if first is not None:
            raise first
        return [(row, self.texts[i], scores[i]) for i, row in enumerate(self._rows)]


def begin_judging(parts: Parts, rows: Sequence[Row]) -> Judging:
    """Return what takes the responses to `rows`, one for each."""
    return Judging(parts.rewards, parts.tokenizer, rows, parts.config.reward.timeout_s)


def finish_judging(parts: Parts, batch: Batch, judging: Judging) -> tuple[list[Judged], dict[str, float]]:
    """Wait for the scores and place them in the batch; return them, and the metrics of `place_scores`."""
    judged = judging.wait(parts.world)
    return judged, place_scores(batch, [score for _, _, score in judged], parts.world, parts.config.reward)


def _sample(row: Row, text: str) -> Sample:
    return Sample(row.data_source, text, row.ground_truth, row.prompt, row.extra_info)
