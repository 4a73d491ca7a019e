"""Audits of the data sources in a file of prompts."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rewardkit.audit import Audit, SourceAudit
from rewardkit.audit.answers import AuditRow, row_of
from rewardkit.audit.layers import LAYERS, Findings
from rewardkit.audit.subject import prepare
from rewardkit.checks.forms import form_of
from rewardkit.checks.ground_truths import ships
from rewardkit.checks.items import Item, read_items
from rewardkit.composition.tree import members_of, scored_by
from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

ROWS = 400
"""Number of rows of a data source that are kept for its audit."""
_FIRST_ROWS = 256
"""Number of rows of each file that `audit_first_rows` reads."""


def audit_file(
    path: str | Path,
    make_scorer: Callable[[], Scorer],
    *,
    names: RowNames,
    data_source: str | None = None,
    responses: Mapping[int, Sequence[str]] | None = None,
    seconds: float = 60.0,
    frame: str | None = None,
    seed: int = 0,
    most: int = ROWS,
) -> Audit:
    """Audit the reward of each data source in a file.

    Args:
        path: File with prompts.
        make_scorer: Function that returns a new scorer. Each data source gets its own.
        names: Names of the columns.
        data_source: Data source of every row, which overrides any data source in the file.
        responses: Real responses by row number.
        seconds: Time limit of the whole audit.
        frame: Frame of answers, with `{}` for the answer, or None to find it.
        seed: Seed of the choice of rows and responses.
        most: Maximum number of rows of each data source.

    Raises:
        InputError: The file cannot be read, or no row has a data source.
        UnknownDataSourceError: A data source has no reward.
    """
    ends = time.monotonic() + seconds
    rows = read_rows([path], names, data_source, responses or {}, random.Random(seed), most=most)
    if not rows:
        raise InputError(f"{path} has no row with a data source; pass --data-source")
    found = []
    for number, (source, some) in enumerate(rows.items()):
        limit = max(0.0, ends - time.monotonic()) / (len(rows) - number)
        before = _cpu_s()
        with make_scorer() as scorer:
            scorer.check([source])
            audit = audit_rows(some, scorer, limit, frame, seed)
        found.append(replace(audit, cpu_s=_cpu_s() - before))
    return Audit(str(path), tuple(found))


def audit_first_rows(
    paths: Sequence[str | Path],
    scorer: Scorer,
    *,
    names: RowNames,
    data_sources: Iterable[str],
    seconds: float,
) -> list[SourceAudit]:
    """Audit cheap rewards with the first rows of files, in little time.

    Rewards that ask models or run programs are left out, and rewardkit's own rewards with default options,
    which are known to have no holes.

    Raises:
        InputError: A file cannot be read.
    """
    wanted = [source for source in sorted(data_sources) if _is_quick(source, scorer)]
    if not wanted:
        return []
    rows = read_rows(paths, names, None, {}, random.Random(0), limit=_FIRST_ROWS)
    ends = time.monotonic() + seconds
    found = []
    for number, source in enumerate(wanted):
        limit = max(0.0, ends - time.monotonic()) / (len(wanted) - number)
        if source in rows:
            found.append(audit_rows(rows[source], scorer, limit))
    return found


def _is_quick(source: str, scorer: Scorer) -> bool:
    reward, options = scorer.reward_for(source), scorer.options_for(source)
    rewards = list(scored_by(reward, options))
    if any(isinstance(given, JudgeOptions) for _, given in rewards):
        return False
    if any(one.running.runs in ("model", "sandbox") or one.running.by_group for one, _ in rewards):
        return False
    return bool(members_of(reward)) or not (ships(reward) and options == reward.make_options({}))


def read_rows(
    paths: Sequence[str | Path],
    names: RowNames,
    data_source: str | None,
    responses: Mapping[int, Sequence[str]],
    rng: random.Random,
    *,
    limit: int | None = None,
    most: int = ROWS,
) -> dict[str, list[AuditRow]]:
    """Return random rows of each data source in files, with rows that have responses first.

    A prompt that occurs again is left out.

    Args:
        paths: Files with prompts.
        names: Names of the columns.
        data_source: Data source of every row, which overrides any data source in the files.
        responses: Real responses by row number.
        rng: Generator that chooses the rows.
        limit: Maximum number of rows to read from each file, or None for all rows.
        most: Maximum number of rows of each data source to return.
    """
    kept: dict[str, list[Item]] = {}
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for item in _items(paths, names, data_source, limit):
        if (asked := hash((item.data_source, item.question, item.ground_truth))) in seen:
            continue
        seen.add(asked)
        some = kept.setdefault(item.data_source, [])
        counts[item.data_source] += 1
        place = rng.randrange(counts[item.data_source])
        if len(some) < most:
            some.append(item)
        elif place < most:
            some[place] = item
    found = {}
    for source, items in kept.items():
        rng.shuffle(items)
        items.sort(key=lambda item: item.row not in responses)
        found[source] = [row_of(item, responses.get(item.row, ())) for item in items]
    return found


def _items(
    paths: Sequence[str | Path], names: RowNames, data_source: str | None, limit: int | None
) -> Iterator[Item]:
    for source in find_inputs(paths):
        file = open_rows(source)
        try:
            form = form_of(file, names)
            for rows in read_items(file, form.names, data_source, limit=limit):
                yield from (row for row in rows if isinstance(row, Item) and row.data_source)
        finally:
            file.close()


def audit_rows(
    rows: Sequence[AuditRow], scorer: Scorer, seconds: float, frame: str | None = None, seed: int = 0
) -> SourceAudit:
    """Audit the reward of rows with the same data source, in random order.

    Raises:
        UnknownDataSourceError: The data source has no reward.
    """
    source = rows[0].item.data_source
    if scorer.reward_for(source).name == "code":
        return _audit_tests(source, [row for row in rows if row.solution], scorer, seconds)
    try:
        subject = prepare(rows, scorer, seconds, frame, random.Random(seed))
    except UnknownDataSourceError:
        raise
    except InputError as error:
        return SourceAudit(source, 0, problem=str(error))
    found = Findings()
    for layer in LAYERS:
        if not subject.bench.late:
            layer(subject, found)
    return SourceAudit(
        source,
        len(subject.picked) + len(subject.measured),
        subject.frame,
        chance=found.figures.get("chance"),
        constant=found.figures.get("constant"),
        several=found.figures.get("several"),
        swapped=found.figures.get("swapped"),
        wrong=found.wrong,
        denied=found.denied,
        holes=tuple(found.holes),
        scores=subject.bench.count,
        late=subject.bench.late,
    )


def _audit_tests(source: str, rows: Sequence[AuditRow], scorer: Scorer, seconds: float) -> SourceAudit:
    """Audit the tests of rows with reference programs."""
    if not rows:
        return SourceAudit(
            source, 0, problem="no row has a reference program, to make wrong programs from it"
        )
    # This imports the sandbox, which takes a fifth of a second.
    from rewardkit.audit.programs import find_weak_tests

    found = find_weak_tests([row.sample(row.solution) for row in rows], scorer, seconds=seconds)
    weak = [replace(one, row=rows[one.row].item.row) for one in found.weak]
    return SourceAudit(
        source,
        len(rows),
        weak_rows=tuple(sorted(weak, key=lambda one: one.row)),
        tested_rows=found.rows,
        scores=len(rows) + len(weak),
        late="no time left" in found.left_out,
    )


def _cpu_s() -> float:
    """Return the CPU time of this process and of its ended children, in seconds."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
