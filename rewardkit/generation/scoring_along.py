"""Scores each response as soon as it is finished, while other responses are still being generated.

`answer_prompts.py` generates the responses, and `rewardkit.logs.samples` reads the rows.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.files.records import Records
from rewardkit.generation.episodes import episode_values
from rewardkit.generation.types import Completion
from rewardkit.logs.layout import ReadOptions, RowLayout
from rewardkit.logs.samples import SampleBatch, to_batch
from rewardkit.logs.scored_rows import carried_fields, renamed_names
from rewardkit.offline.columns import carried_columns, carried_values, score_columns
from rewardkit.offline.report import Report
from rewardkit.pictures import media_columns
from rewardkit.registry import REGISTRY
from rewardkit.row_reports import episode_facts, known_score
from rewardkit.rows import RowNames
from rewardkit.scoring.pending import Pending
from rewardkit.scoring.scorer import Scorer
from rewardkit.tables import names_in, type_of
from rewardkit.types import Sample, Score

_NO_RESPONSE_YET = "\0response"


class ScoringAlong:
    """Scorer for `n` responses to each prompt, which runs while responses are generated."""

    def __init__(self, scorer: Scorer, table: pa.Table, options: ReadOptions, n: int) -> None:
        """Read the ground truths and check the rewards before the first response is generated.

        Args:
            scorer: Scorer that scores the responses.
            table: Table of prompts.
            options: Settings for reading the table.
            n: Number of responses to each prompt.

        Raises:
            InputError: The table has no column with ground truths, or the data source is not specified.
            UnknownDataSourceError: A data source has no reward.
        """
        self._layout = _layout_of(table, options)
        prompts = _samples_to_answer(table, self._layout)
        sources = {one.data_source for one in prompts.samples if one.known is None}
        scorer.check(sources)
        self._scorer = scorer
        self._prompts = prompts
        self._n = n
        self._by_group = {one for one in sources if scorer.reward_for(one).running.by_group}
        self._held: dict[int, dict[int, Sample]] = {}
        """Responses that are held back because their reward scores all responses to a prompt together."""
        self._pending: dict[tuple[int, int], Pending] = {}

    def take(self, one: Completion) -> None:
        """Start scoring a finished response."""
        if one.error is not None:
            return
        prompt = self._prompts.samples[one.row]
        said = {} if one.episode is None else episode_values(one.episode)
        sample = msgspec.structs.replace(
            prompt,
            response=one.text or "",
            extra_info={**prompt.extra_info, **episode_facts(said)},
            known=prompt.known or known_score({"finish_reason": one.finish_reason, **said}),
        )
        if sample.data_source not in self._by_group:
            self._pending[one.row, one.sample] = self._scorer.submit([sample])
            return
        group = self._held.setdefault(one.row, {})
        group[one.sample] = sample
        if len(group) == self._n:
            self._pending[one.row, 0] = self._scorer.submit([group[i] for i in range(self._n)])
            del self._held[one.row]

    def into(self, table: pa.Table) -> tuple[pa.Table, Report]:
        """Wait for all scores. Return the table with score columns added, and the totals.

        The columns are the ones that `score` writes, in lists of `n`.

        Raises:
            InputError: The table already has a column with one of the names.
        """
        report = Report()
        scores: list[Score] = []
        for row, sample in enumerate(self._prompts.samples):
            mine = self._scores_of(row)
            report.add([sample] * self._n, mine)
            scores += mine
        lengths = [self._n] * len(table)
        layout = replace(self._layout, names=replace(self._layout.names, response="responses"), many=True)
        carried = list(filter(layout.to_add.__contains__, carried_fields(layout.response_name)))
        samples = [sample for sample in self._prompts.samples for _ in range(self._n)]
        values = carried_values(carried, samples, None, lengths)
        added = carried_columns(values, many=True)
        table = table.rename_columns(renamed_names(table.schema.names, carried))
        for field, column in zip(added.schema, added.columns, strict=True):
            table = table.append_column(field, column)
        columns = score_columns(scores, lengths)
        for name in columns.schema.names:
            if name in table.schema.names:
                raise InputError(
                    f"the prompt file already has a column '{name}', which --score writes; remove or rename "
                    "the column"
                )
            table = table.append_column(columns.schema.field(name), columns.column(name))
        return table, report

    def _scores_of(self, row: int) -> list[Score]:
        pending = (self._pending.get((row, i)) for i in range(self._n))
        return [score for one in pending if one is not None for score in one.wait()]


def sources_to_answer(table: pa.Table, options: ReadOptions) -> set[str]:
    """Return the data sources in a table of prompts.

    Raises:
        InputError: The table has no column with ground truths, or the data source is not specified.
    """
    return {one.data_source for one in _samples_to_answer(table, _layout_of(table, options)).usable}


def _layout_of(table: pa.Table, options: ReadOptions) -> RowLayout:
    found = names_in(table.schema)
    names = RowNames(
        options.names.data_source or found.data_source,
        _NO_RESPONSE_YET,
        options.names.ground_truth or found.ground_truth,
        options.names.prompt or found.prompt,
        found.extra_info,
        group=found.group,
    )
    if options.join is None:
        _check(table, names, options.data_source)
    media = tuple(media_columns(table.schema.names))
    return RowLayout(None, names, options.data_source, many=False, join=options.join, media=media)


def _samples_to_answer(table: pa.Table, layout: RowLayout) -> SampleBatch:
    """Return a sample with an empty response for each row in a table of prompts."""
    table = table.append_column(_NO_RESPONSE_YET, pa.array([""] * len(table)))
    batch = to_batch(Records(0, len(table), table.combine_chunks()), layout)
    if layout.join is not None and not batch.usable:
        raise InputError(f"--join: no row can be scored with this file; row 0: {batch.bad[0]}")
    return batch


def _check(table: pa.Table, names: RowNames, data_source: str | None) -> None:
    has = ", ".join(table.schema.names)
    wanted = {"ground_truth": (names.ground_truth, "--ground-truth-key")}
    if data_source is None:
        wanted["data_source"] = (names.data_source, "--data-source")
    if not _needs_ground_truth(table, names, data_source):
        del wanted["ground_truth"]
    for what, (name, option) in wanted.items():
        if name is None or type_of(table.schema, name) is None:
            raise InputError(
                f"--score requires a column '{name or what}', but the prompt file does not have one; pass "
                f"{option} (columns: {has})"
            )


def _needs_ground_truth(table: pa.Table, names: RowNames, data_source: str | None) -> bool:
    if data_source is None and names.data_source in table.schema.names and len(table):
        data_source = table.column(names.data_source)[0].as_py()
    return data_source is None or REGISTRY.needs_ground_truth(data_source)
