"""Checks of the first rows of files before a model is loaded or many rows are scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rewardkit.checks.contents import Known, check_contents
from rewardkit.checks.findings import Finding, Findings
from rewardkit.checks.forms import check_columns, form_of
from rewardkit.checks.ground_truths import check_ground_truths
from rewardkit.checks.items import Item, read_items
from rewardkit.errors import InputError
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import STDIN, Input, find_inputs
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.logs.samples import to_batch
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

AS_FOUND = RowNames()
"""Default names, with which columns are found by their usual names."""
ROWS = 256
"""Number of rows to check in each file."""
_SCORED = 32
"""Number of rows whose ground truths are checked. It is small because some rewards start a process for each
check."""


def look_at_prompts(
    paths: Iterable[str | Path],
    names: RowNames = AS_FOUND,
    scorer: Scorer | None = None,
    *,
    data_source: str | None = None,
) -> list[Finding]:
    """Return findings about the first rows in files with prompts. URLs and standard input are left out.

    Agents, tools and interactions are not checked, since a run resolves them for all rows.

    Args:
        paths: Files with prompts.
        names: Names of columns. None selects the first column with one of the known names.
        scorer: Scorer for checking data sources and ground truths, or None to skip these checks.
        data_source: Data source of every row, which overrides any data source in the file.

    Raises:
        InputError: A file cannot be read, or does not contain prompts.
    """
    findings = Findings()
    known = Known(REGISTRY, any_source=scorer is None)
    for source in near_inputs(paths):
        file = open_rows(source)
        try:
            form = form_of(file, names)
            check_columns(file, form, findings, data_source=data_source)
            for rows in read_items(file, form.names, data_source, limit=ROWS):
                items = [row for row in rows if isinstance(row, Item)]
                for item in items:
                    check_contents(item, form, source.path, known, findings)
                if scorer is not None:
                    check_ground_truths(items[:_SCORED], source.path, scorer, findings)
        finally:
            file.close()
    return [finding for finding in findings if finding.level != "note"]


def look_at_responses(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer) -> list[Finding]:
    """Return findings about unusable ground truths in the first rows of files with responses.

    URLs, standard input and unreadable files are left out. Scoring reports unreadable files.
    """
    findings = Findings()
    for source in near_inputs(paths):
        try:
            check_ground_truths(_first_items(source, options), source.path, scorer, findings)
        except InputError:
            continue
    return list(findings)


def near_inputs(paths: Iterable[str | Path]) -> list[Input]:
    """Return the inputs that are local files. Standard input can be read only once, and URLs are slow."""
    return [s for s in find_inputs(paths) if s.path != STDIN and "://" not in s.path]


def _first_items(source: Input, options: ReadOptions) -> Sequence[Item]:
    with opened(source, options) as (file, layout):
        records = next(file.chunks())
        batch = to_batch(records.first(_SCORED), layout)
        return [
            Item(row, sample.data_source, sample.prompt, sample.ground_truth, sample.extra_info)
            for i, (row, sample) in enumerate(zip(batch.rows, batch.samples, strict=True))
            if i not in batch.bad
        ]
