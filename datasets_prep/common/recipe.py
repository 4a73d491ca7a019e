"""What a dataset is to `prep`, and the one way from its raw records to published files.

    raw records ──to_row──▶ rows ──template, system──▶ ──agent──▶ batches ──steps──▶ files ──screen──▶
    published

The parts that differ (columns, prompts, ground truths) live in one file per dataset or family.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

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
from rewardkit.datasets_prep.common.verification import Located, chosen, scorable
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
    """What `to_row` knows beside the record."""

    split: str
    """The split that the row goes to."""
    instruction: str
    """What to say beside the question; may be empty."""
    seed: int = 0
    """For what is drawn, such as the order of options that a set gives none to."""


ToRow = Callable[[Record, RowContext], Row]
"""Makes the row of a record; raises InputError for a record that cannot be used."""


@dataclass(frozen=True, slots=True)
class PrepResult:
    """What one run made."""

    files: dict[str, WrittenFile]
    dropped: int = 0
    """Bad rows left out under `skip_bad`."""
    first_dropped: tuple[str, ...] = ()
    """Why, for the first few."""
    unread: tuple[str, ...] = ()
    """Raw files that were left out, each with the reason."""
    notes: tuple[str, ...] = ()
    """What else the user should know, one line each."""
    unused: tuple[str, ...] = ()
    """Columns of a user's own data that went nowhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """How one dataset is prepared: everything in which it differs from the others."""

    name: str
    """As `rewardkit prep` knows it."""
    hub: Hub
    to_row: ToRow
    instruction: str = ""
    """What its prompts say beside the question."""
    layout: SplitLayout = field(default_factory=SplitLayout)
    repeated: bool = False
    """The set is published with its rows many times over; the first of each is kept."""
    expand: Callable[[Record], Iterable[Record]] | None = None
    """Makes the records of a raw one, where a file nests them; they are counted through."""
    open: Callable[[str | Path, SplitLayout], Source] = open_raw
    """Finds the raw data, where it is more than files of rows."""
    schema: pa.Schema = SCHEMA
    tool: str = "code_interpreter"
    """The tool that rows get under `--agent`; one of `agents.TOOLS`."""

    def prepare(
        self, out_dir: Path, settings: PrepSettings | None = None, *, progress: OnWritten | None = None
    ) -> PrepResult:
        """Write the set to `out_dir`, one parquet file for each split.

        Raises:
            InputError: the raw data cannot be found or used, or the folder cannot be written.
            MissingDependencyError: no `raw`, and the package `datasets` is not installed.
        """
        return prepare_recipe(out_dir, self, settings or PrepSettings(), {}, progress)


def prepare_recipe(
    out_dir: Path,
    recipe: Recipe,
    settings: PrepSettings,
    own: Mapping[str, object],
    progress: OnWritten | None,
) -> PrepResult:
    """Prepare a set; `own` are the settings that it alone has, for the provenance.

    Raises:
        InputError: as of `Recipe.prepare`.
        MissingDependencyError: as there.
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
        arguments={"instruction": instruction, **own},
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
    """Take batches of each split through the steps, and publish them with their provenance.

    The provenance says what they were made from, by which version, and how. Paths and times stay out of it,
    so that the same input gives the same bytes anywhere.

    Raises:
        InputError: as of the steps and the writer.
    """
    template = read_template(settings.template)
    wanted = settings.recorded() | ({"template": template} if template is not None else {})
    if settings.like is not None:  # the release too, which may not be the newest one later
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
    files = write_splits(
        out_dir,
        partial(steps.apply, made, settings, notes),
        Writing(provenance, settings.shard_rows, progress, beside),
    )
    bad = bad or BadRows()
    files = {split: files[split] for split in (*splits, *files) if split in files}
    left_out = [f"skipped rows: {n:,} ({why})" for why, n in bad.left_out.most_common()]
    said = (*source.notes, *left_out, *notes.lines(settings))
    if screen is None or "dedup" not in screen.describe():
        said = (*said, *repeats.lines())
    return PrepResult(files, bad.dropped, tuple(bad.first), source.unread, said)


def _is_train(split: str) -> bool:
    return split.rpartition("/")[2] == "train"


def named(source: Source, split_name: str | None) -> Source:
    """Return a source whose one split has the name that the user wants.

    Raises:
        InputError: it has several.
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
    """Return the rows of all splits without those whose question came before, which are counted."""
    seen: set[bytes] = set()

    def new(found: Iterable[Located]) -> Iterator[Located]:
        for where, row in found:
            # A digest for each question rather than its text: 16 bytes instead of hundreds.
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
    """The good rows; the bad ones are counted, or stop the run."""
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
    """The rows of one raw record, or why there is none."""
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
