"""Defines datasets for `prep` and converts their raw records to published files.

    raw records ──to_row──▶ rows ──template, system──▶ ──agent──▶ batches ──steps──▶ files ──screen──▶
        published

The parts that differ between datasets (columns, prompts, ground truths) are in the module of each dataset or
family of datasets.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from rewardkit.checks.findings import Finding
from rewardkit.datasets_prep import DATASETS
from rewardkit.datasets_prep.common import row_forms, steps
from rewardkit.datasets_prep.common.agents import multi_turn, schema_for
from rewardkit.datasets_prep.common.card import card
from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.prompts import read_template, shaped
from rewardkit.datasets_prep.common.readers import BadRows, LeftOutError
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, to_batches
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_hub, open_raw
from rewardkit.datasets_prep.common.steps import in_processes
from rewardkit.datasets_prep.common.verification import Located, UnreadTruths, chosen, scorable
from rewardkit.datasets_prep.common.writer import (
    Beside,
    OnWritten,
    Writing,
    WrittenFile,
    screen_of_this_run,
    write_splits,
)
from rewardkit.errors import InputError
from rewardkit.version import __version__


@dataclass(frozen=True, slots=True)
class RowContext:
    """Context that `to_row` receives in addition to the record."""

    split: str
    """Split of the row."""
    instruction: str
    """Instruction to add to the question, or empty."""
    seed: int = 0
    """Seed for random choices, such as the order of options if the dataset does not define an order."""


ToRow = Callable[[Record, RowContext], Row]
"""Function that converts a record to a row. It raises InputError if the record cannot be used."""


@dataclass(frozen=True, slots=True)
class PrepResult:
    """Result of preparing a dataset."""

    files: dict[str, WrittenFile]
    dropped: int = 0
    """Number of bad rows dropped with `skip_bad`."""
    first_dropped: tuple[str, ...] = ()
    """Error messages of the first few dropped rows."""
    unread: tuple[str, ...] = ()
    """Raw files that were left out, each with the reason."""
    notes: tuple[str, ...] = ()
    """Additional notes for the user, one line each."""
    unused: tuple[str, ...] = ()
    """Unused columns in a user's own data."""
    unread_truths: Mapping[str, Finding] = field(default_factory=dict)
    """By split, rows whose ground truths the maths reward cannot read."""


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Definition of a dataset, with all properties in which datasets differ."""

    name: str
    """Name of the dataset in `rewardkit prep`."""
    hub: Hub
    to_row: ToRow
    instruction: str = ""
    """Default instruction to add to the question."""
    layout: SplitLayout = field(default_factory=SplitLayout)
    repeated: bool = False
    """True if the published dataset repeats rows. Only the first row for each question is kept."""
    expand: Callable[[Record], Iterable[Record]] | None = None
    """Function that returns the records nested in a raw record. The rows are then numbered consecutively."""
    open: Callable[[str | Path, SplitLayout], Source] = open_raw
    """Function that opens the raw data. A dataset replaces the default if its files are not lists of rows."""
    schema: pa.Schema = SCHEMA
    seeded: bool = False
    """True if `to_row` makes random choices, so that the seed belongs to the provenance."""
    tool: str = "code_interpreter"
    """Tool for the rows if `--agent` is set, one of `agents.TOOLS`."""

    def prepare(
        self, out_dir: Path, settings: PrepSettings | None = None, *, progress: OnWritten | None = None
    ) -> PrepResult:
        """Write the dataset to `out_dir`, with one parquet file for each split.

        Raises:
            InputError: The raw data cannot be found or used, or the output folder cannot be written.
            MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
        """
        return prepare_recipe(out_dir, self, settings or PrepSettings(), {}, progress)


def prepare_recipe(
    out_dir: Path,
    recipe: Recipe,
    settings: PrepSettings,
    own: Mapping[str, object],
    progress: OnWritten | None,
) -> PrepResult:
    """Write a dataset to `out_dir`, with one parquet file for each split.

    Args:
        out_dir: Output folder.
        recipe: Definition of the dataset.
        settings: Settings that all datasets share.
        own: Dataset-specific settings, which are recorded in the provenance.
        progress: Progress callback, or None.

    Raises:
        InputError: The raw data cannot be found or used, or the output folder cannot be written.
        MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
    """
    form = None if settings.like is None else row_forms.form_of(recipe.name, settings.like)
    source = named(_open(recipe, settings), settings.split_name)
    bad = BadRows(skip=settings.skip_bad)
    if form is not None:
        batches = row_forms.batches_of(form.make, source, own, bad)
        return publish(
            *(out_dir, recipe.name, batches, settings),
            source=source,
            arguments=own,
            progress=progress,
            bad=bad,
        )
    instruction = recipe.instruction if settings.instruction is None else settings.instruction
    rows: dict[str, Iterable[Located]] = {
        split: _rows(recipe, settings, read(bad), RowContext(split, instruction, settings.seed), bad)
        for split, read in source.splits.items()
    }
    if recipe.repeated:
        rows = without_repeats(rows, bad)
    return publish(
        out_dir,
        recipe.name,
        {
            split: to_batches((row for _, row in chosen(scorable(found, bad))), recipe.schema)
            for split, found in rows.items()
        },
        settings,
        source=source,
        arguments={"instruction": instruction, **own, **({"seed": settings.seed} if recipe.seeded else {})},
        progress=progress,
        schema=recipe.schema,
        tool=recipe.tool,
        bad=bad,
    )


def publish(
    out_dir: Path,
    dataset: str,
    splits: Mapping[str, Iterable[pa.RecordBatch]],
    settings: PrepSettings,
    *,
    source: Source,
    arguments: Mapping[str, object],
    progress: OnWritten | None = None,
    schema: pa.Schema = SCHEMA,
    tool: str = "code_interpreter",
    bad: BadRows | None = None,
    licence: str | None = None,
    beside: tuple[Beside, ...] = (),
) -> PrepResult:
    """Apply the requested steps to the batches of each split and publish the splits with their provenance.

    The provenance records the source, the version and the settings. Paths and times are not recorded, so that
    the same input produces the same bytes on every machine.

    Raises:
        InputError: A step fails, or the files cannot be written.
    """
    template = read_template(settings.template)
    wanted = settings.recorded() | ({"template": template} if template is not None else {})
    # The recorded name includes the release, because plain `verl` may later mean a newer release.
    if settings.like is not None:
        wanted["like"] = row_forms.form_of(dataset, settings.like).name
    provenance = {
        "dataset": dataset,
        "source": dict(source.provenance),
        "rewardkit_version": __version__,
        "arguments": {**arguments, **wanted},
        "seed": arguments.get("seed", settings.seed if settings.shuffle or settings.val_size else None),
        "licence": licence or DATASETS[dataset].licence,
    }
    final = schema_for(schema, settings)
    notes = steps.Notes()
    if settings.card:
        beside = (*beside, partial(card, provenance, source.digests))
    repeats = steps.AskedAgain()
    made = {
        split: repeats.counted(multi_turn(batches, final, tool, settings))
        for split, batches in splits.items()
    }
    screen = screen_of_this_run()
    if screen is not None:
        made = {split: made[split] for split in sorted(made, key=_is_train)}
    truths = UnreadTruths()
    files = write_splits(
        out_dir,
        partial(steps.apply, made, settings, notes),
        Writing(provenance, settings.shard_rows, progress, beside, truths.see),
    )
    bad = bad or BadRows()
    files = {split: files[split] for split in (*splits, *files) if split in files}
    left_out = [f"skipped rows: {n:,} ({why})" for why, n in bad.left_out.most_common()]
    said = (*source.notes, *left_out, *notes.lines(settings))
    if screen is None or "dedup" not in screen.describe():
        said = (*said, *repeats.lines())
    odd = {split: found for split, file in files.items() if (found := truths.finding(split, file.path))}
    return PrepResult(files, bad.dropped, tuple(bad.first), source.unread, said, unread_truths=odd)


def _is_train(split: str) -> bool:
    return split.rpartition("/")[2] == "train"


def named(source: Source, split_name: str | None) -> Source:
    """Return a source with its only split renamed to `split_name`, unless `split_name` is None.

    Raises:
        InputError: The source has several splits.
    """
    if split_name is None:
        return source
    if len(source.splits) > 1:
        raise InputError(
            f"--split-name needs raw data with one split, found {', '.join(source.splits)}; pass one file "
            "with --raw"
        )
    (read,) = source.splits.values()
    return replace(source, splits={split_name: read}, notes=())


def without_repeats(rows: Mapping[str, Iterable[Located]], bad: BadRows) -> dict[str, Iterable[Located]]:
    """Return the rows of all splits without rows that repeat an earlier question. Count the repeats."""
    seen: set[bytes] = set()

    def new(found: Iterable[Located]) -> Iterator[Located]:
        for where, row in found:
            # A digest takes 16 bytes, while the text of a question takes hundreds.
            digest = hashlib.blake2b(row.question.strip().encode("utf-8", "replace"), digest_size=16).digest()
            if digest in seen:
                bad.add(LeftOutError("an earlier row has the same question"))
                continue
            seen.add(digest)
            yield where, row

    return {split: new(found) for split, found in rows.items()}


def _open(recipe: Recipe, settings: PrepSettings) -> Source:
    if settings.raw is None:
        return open_hub(recipe.hub, recipe.layout, settings.revision)
    return recipe.open(settings.raw, recipe.layout)


def _rows(
    recipe: Recipe, settings: PrepSettings, records: Iterable[Record], context: RowContext, bad: BadRows
) -> Iterator[Located]:
    """Yield the usable rows. Bad rows are either counted or stop the run."""
    make = partial(
        _made, recipe.to_row, recipe.expand, context, read_template(settings.template), settings.system
    )
    none_good = True
    made = in_processes(make, records, settings.num_proc)
    for place, found in enumerate(itertools.chain.from_iterable(made)):
        if isinstance(found, InputError):
            bad.add(found)
            continue
        none_good = False
        where, row = found
        yield where, (replace(row, index=place) if recipe.expand else row)
    if none_good and (bad.first or bad.left_out):
        first = bad.first[0] if bad.first else next(iter(bad.left_out))
        raise InputError(f"no row of split '{context.split}' can be used; the first reason: {first}")


def _made(
    to_row: ToRow,
    expand: Callable[[Record], Iterable[Record]] | None,
    context: RowContext,
    template: str | None,
    system: str,
    record: Record,
) -> list[Located | InputError]:
    """Return the rows for a raw record. An unusable row is replaced by an error."""
    made: list[Located | InputError] = []
    try:
        for one in expand(record) if expand else (record,):
            try:
                row = to_row(one, context)
                made.append((one.where, shaped(row, template, context.instruction, system)))
            except InputError as error:
                made.append(error)
    except InputError as error:
        made.append(error)
    return made
