"""Converts your own jsonl, csv, json or parquet files, or a dataset from the hub, without any code.

Use `--prompt-key` and `--answer-key` to name the columns with the question and the answer. The question can
be a string or a chat.

Use `--context-key`, `--choices-key` and `--images-key` to add other columns to the question, such as a
passage, the options of a multiple-choice question, or images. Unused columns are listed at the end. Use
`--keep` to keep them as metadata.

Use `--map TARGET=COLUMN|STEP|...` if a value must be extracted from a column. The targets are question,
ground_truth, and answer (a complete correct response). The steps are last_number, after('####'), boxed,
letter and json('a.b.0').

You can also write these settings in a YAML file and pass the file with `--mapping`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import yaml

from rewardkit.datasets_prep.common.layout import SplitLayout, find_files
from rewardkit.datasets_prep.common.prompts import read_template
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.recipe import PrepResult, named, publish
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, described, open_hub
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.datasets_prep.custom.blocks import FIRST_ROWS, RowBlock, file_blocks, first_rows, record_blocks
from rewardkit.datasets_prep.custom.columns import Wording, batches
from rewardkit.datasets_prep.custom.mapping import Columns, columns_of, read_mapping
from rewardkit.errors import InputError
from rewardkit.files.publishing import published

LAYOUT = SplitLayout(
    {"train": "train", "test": "test", "validation": "validation", "valid": "validation", "dev": "validation"}
)


def prepare(
    out_dir: Path,
    settings: PrepSettings | None = None,
    *,
    data_source: Annotated[
        str | None, "Name of the data source. If no reward exists for this name, also pass --reward."
    ] = None,
    data_source_key: Annotated[
        str | None, "Column with the data source, if the rows have different data sources."
    ] = None,
    reward: Annotated[str | None, "Reward that scores the rows, such as math, gsm8k or choice."] = None,
    reward_of: Annotated[
        tuple[str, ...],
        "Reward for one value of --data-source-key, as SOURCE=REWARD. May be repeated.",
    ] = (),
    prompt_key: Annotated[str | None, "Column with the question."] = None,
    answer_key: Annotated[str | None, "Column with the answer or a worked solution."] = None,
    map: Annotated[
        tuple[str, ...], "Extract a value from a column, as TARGET=COLUMN|STEP|... May be repeated."
    ] = (),
    context_key: Annotated[
        tuple[str, ...], "Column to put before the question, such as a passage. May be repeated."
    ] = (),
    choices_key: Annotated[
        tuple[str, ...],
        "Column with the options of a multiple-choice question. Repeat it if each option has its own column.",
    ] = (),
    images_key: Annotated[str | None, "Column with the images that belong to the question."] = None,
    keep: Annotated[tuple[str, ...], "Column to keep as metadata. May be repeated."] = (),
    mapping: Annotated[Path | None, "YAML file with these settings."] = None,
    ability: Annotated[str | None, "Value for the column ability, such as math."] = None,
    licence: Annotated[str | None, "Licence of the data, to record with the output."] = None,
    hub: Annotated[str | None, "Name of a dataset on the hub, to use instead of --raw."] = None,
    config: Annotated[str | None, "Configuration of the hub dataset."] = None,
    hub_splits: Annotated[tuple[str, ...], "Split of the hub dataset. May be repeated."] = ("train",),
    progress: OnWritten | None = None,
) -> PrepResult:
    """Write a user's rows to `out_dir`, with one parquet file for each split.

    If the data source has a new name, its reward is recorded in `rewards.yaml` next to the files.

    Raises:
        InputError: The mapping does not fit the data, the data cannot be used, or the files cannot be
            written.
        UnknownDataSourceError: No reward is registered for the rows.
        MissingDependencyError: `hub` is set and the package `datasets` is not installed.
    """
    said = read_mapping(
        mapping,
        {
            "data_source": data_source,
            "data_source_key": data_source_key,
            "reward": reward,
            "reward_of": reward_of,
            "prompt_key": prompt_key,
            "answer_key": answer_key,
            "map": map,
            "context_key": context_key,
            "choices_key": choices_key,
            "images_key": images_key,
            "keep": keep,
            "ability": ability,
            "licence": licence,
        },
    )
    return _prepare(out_dir, settings or PrepSettings(), said, (hub, config, hub_splits), progress)


def _prepare(
    out_dir: Path,
    settings: PrepSettings,
    said: Mapping[str, Any],
    hub: tuple[str | None, str | None, tuple[str, ...]],
    progress: OnWritten | None,
) -> PrepResult:
    bad = BadRows(skip=settings.skip_bad)
    wording = Wording(
        settings.system,
        settings.instruction or "",
        read_template(settings.template),
    )
    name, config, splits = hub
    first, readers, source = _from_hub(name, config, splits, settings) if name else _from_files(settings, bad)
    columns = columns_of(said, first, wording.template)
    made = publish(
        out_dir,
        "custom",
        {
            split: batches(read(columns.roots), columns, wording, split, bad)
            for split, read in readers.items()
        },
        settings,
        source=source,
        arguments={"instruction": wording.instruction, **columns.described},
        progress=progress,
        schema=columns.schema,
        bad=bad,
        licence=columns.licence or "unknown",
        beside=(partial(_rewards_file, columns),),
    )
    odd = columns.sources.overlooked(columns.mix or "")
    notes = (*columns.parts.said, *made.notes, *([odd] if odd else []))
    return replace(made, notes=notes, unused=tuple(sorted(columns.unused)))


_Readers = dict[str, Callable[[tuple[str, ...]], Iterator[RowBlock]]]
"""Functions that read the requested columns in blocks, by split."""


_First = Sequence[Mapping[str, Any]]


def _from_files(settings: PrepSettings, bad: BadRows) -> tuple[_First, _Readers, Source]:
    if settings.raw is None:
        raise InputError("no data given: pass --raw FILE_OR_FOLDER or --hub NAME")
    found = find_files(settings.raw, LAYOUT)
    files = [file for of_split in found.splits.values() for file in of_split]
    nameless = ", ".join(found.nameless[:3])
    note = f"the name of {nameless} has no split; using {LAYOUT.alone} (--split-name sets another)"
    source = Source(
        dict.fromkeys(found.splits, _nothing),
        unread=found.unread,
        notes=(note,) if nameless and settings.split_name is None else (),
        **described(files),
    )
    source = named(source, settings.split_name)
    readers: _Readers = {
        split: partial(file_blocks, of_split, bad)
        for split, of_split in zip(source.splits, found.splits.values(), strict=True)
    }
    return first_rows(files[0]), readers, source


def _from_hub(
    name: str, config: str | None, splits: tuple[str, ...], settings: PrepSettings
) -> tuple[_First, _Readers, Source]:
    if settings.raw is not None:
        raise InputError("--raw and --hub cannot be combined; pass only one of them")
    source = open_hub(Hub(name, config, splits, "its files"), LAYOUT, settings.revision)
    source = named(source, settings.split_name)
    first = [r.values for r in islice(next(iter(source.splits.values()))(BadRows()), FIRST_ROWS)]
    if not first:
        raise InputError(f"{name} has no rows")
    readers: _Readers = {
        split: partial(_hub_blocks, read, f"{name} {split}") for split, read in source.splits.items()
    }
    return first, readers, source


def _hub_blocks(
    read: Callable[[BadRows], Iterator[Record]], label: str, roots: tuple[str, ...]
) -> Iterator[RowBlock]:
    return record_blocks(read(BadRows()), roots, label)


def _nothing(bad: BadRows) -> Iterator[Record]:
    return iter(())


def _rewards_file(columns: Columns, folder: Path, files: Mapping[str, list[Path]]) -> None:
    """Write `rewards.yaml` with the rewards for new data sources, if there are any."""
    composed = columns.sources.composed
    if composed:
        said = composed[0] if len(composed) == 1 else composed
        with published(folder / "rewards.yaml") as file:
            file.write(yaml.safe_dump(said, sort_keys=False).encode())
