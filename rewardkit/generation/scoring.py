"""Scores each response as soon as it ends, while others are still generated.

Generation is in `run.py`, the reading of rows in `rewardkit.logs.samples`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.files.records import Records
from rewardkit.generation.types import Completion, EpisodeRecord
from rewardkit.logs.layout import ReadOptions, RowLayout
from rewardkit.logs.samples import SampleBatch, to_batch
from rewardkit.offline.columns import score_columns
from rewardkit.offline.report import Report
from rewardkit.rows import RowNames
from rewardkit.scoring.pending import Pending
from rewardkit.scoring.scorer import Scorer
from rewardkit.tables import names_in, type_of
from rewardkit.types import Sample, Score, failure

_NO_RESPONSE_YET = "\0response"


class ScoringAlong:
    """Scores `n` responses to each prompt while they are generated."""

    def __init__(self, scorer: Scorer, prompts: SampleBatch, n: int) -> None:
        """Prepare for scoring; no response is needed yet.

        Args:
            prompts: As `samples_to_answer` returns them.
            n: Responses to each prompt.

        Raises:
            UnknownDataSourceError: a data source has no reward.
        """
        sources = {one.data_source for i, one in enumerate(prompts.samples) if i not in prompts.bad}
        scorer.check(sources)
        self._scorer = scorer
        self._prompts = prompts
        self._n = n
        self._by_group = {one for one in sources if scorer.reward_for(one).by_group}
        self._held: dict[int, dict[int, Sample]] = {}
        """Responses of rows whose reward has to see all of them at once."""
        self._pending: dict[tuple[int, int], Pending] = {}
        self._failed: dict[tuple[int, int], Score] = {}
        """Of episodes that nothing can be said of."""

    def take(self, one: Completion) -> None:
        """Start scoring a response that has ended."""
        if one.error is not None or one.row in self._prompts.bad:
            return
        episode = one.episode
        if episode is not None and episode.status != "ok":
            why = f"the episode ended with {episode.ended}: {episode.detail or ''}".removesuffix(": ")
            self._failed[one.row, one.sample] = failure(episode.status, why)
            self._group_ends(one.row)
            return
        prompt = self._prompts.samples[one.row]
        extra = prompt.extra_info if episode is None else {**prompt.extra_info, **_of_episode(episode)}
        sample = Sample(prompt.data_source, one.text or "", prompt.ground_truth, prompt.prompt, extra)
        if sample.data_source not in self._by_group:
            self._pending[one.row, one.sample] = self._scorer.submit([sample])
            return
        self._held.setdefault(one.row, {})[one.sample] = sample
        self._group_ends(one.row)

    def _group_ends(self, row: int) -> None:
        """Start scoring the group of a row if all its responses have ended."""
        group = self._held.get(row, {})
        failed = sum((row, i) in self._failed for i in range(self._n))
        if group and len(group) + failed == self._n:
            self._pending[row, min(group)] = self._scorer.submit([group[i] for i in sorted(group)])
            del self._held[row]

    def into(self, table: pa.Table) -> tuple[pa.Table, Report]:
        """Wait for all scores. Return the rows with columns of scores, lists of `n`, and the totals.

        Raises:
            InputError: the rows already have a column of one of these names.
        """
        report = Report()
        scores: list[Score] = []
        for row, sample in enumerate(self._prompts.samples):
            mine = self._scores_of(row)
            report.add([sample] * self._n, mine)
            scores += mine
        columns = score_columns(scores, [self._n] * len(table))
        for name in columns.schema.names:
            if name in table.schema.names:
                raise InputError(
                    f"the prompt file already has a column '{name}', which --score writes; remove or rename "
                    "the column"
                )
            table = table.append_column(columns.schema.field(name), columns.column(name))
        return table, report

    def _scores_of(self, row: int) -> list[Score]:
        if row in self._prompts.bad:
            return [failure("invalid", self._prompts.bad[row])] * self._n
        pending = (self._pending.get((row, i)) for i in range(self._n))
        scores = iter([score for one in pending if one is not None for score in one.wait()])
        return [self._failed.get((row, i)) or next(scores) for i in range(self._n)]


def _of_episode(episode: EpisodeRecord) -> dict[str, Any]:
    """Return the fields of `extra_info` by which a reward sees an episode."""
    return {
        "num_turns": len(episode.turns),
        "turn_rewards": episode.turn_rewards,
        "tool_rewards": episode.tool_rewards,
        "interaction_score": episode.interaction_score,
    }


def samples_to_answer(table: pa.Table, options: ReadOptions) -> SampleBatch:
    """Return a sample for each row of a table of prompts, with an empty response.

    Raises:
        InputError: the table has no column of ground truths, or nothing says the data source.
    """
    found = names_in(table.schema)
    names = RowNames(
        options.names.data_source or found.data_source,
        _NO_RESPONSE_YET,
        options.names.ground_truth or found.ground_truth,
        options.names.prompt or found.prompt,
        found.extra_info,
    )
    if options.join is None:
        _check(table, names, options.data_source)
    table = table.append_column(_NO_RESPONSE_YET, pa.array([""] * len(table)))
    layout = RowLayout(None, names, options.data_source, many=False, join=options.join)
    return to_batch(Records(0, len(table), table.combine_chunks()), layout)


def _check(table: pa.Table, names: RowNames, data_source: str | None) -> None:
    has = ", ".join(table.schema.names)
    wanted = {"ground_truth": (names.ground_truth, "--ground-truth-key")}
    if data_source is None:
        wanted["data_source"] = (names.data_source, "--data-source")
    for what, (name, option) in wanted.items():
        if name is None or type_of(table.schema, name) is None:
            raise InputError(
                f"--score requires a column '{name or what}', but the prompt file does not have one; pass "
                f"{option} (columns: {has})"
            )
