"""HH-RLHF (Bai et al. 2022, arXiv:2204.05862) contains dialogues with a preferred and a rejected answer. The
versions from Dahoas and from Anthropic are supported.

Raw files: the parquet files in `data/` from Dahoas/full-hh-rlhf, or the files `{harmless-base, helpful-base,
helpful-online, helpful-rejection-sampled}/{train, test}.jsonl.gz` from Anthropic/hh-rlhf. The folder
`red-team-attempts` is skipped.

Raw columns from Dahoas: `prompt` (a dialogue that ends with "Assistant:"), `chosen` and `rejected` (two
answers) and `response` (a copy of `chosen`).

Raw columns from Anthropic: `chosen` and `rejected`. Both are complete dialogues that differ only in the last
turn. A pair that differs earlier is a bad row.

The output has one folder per form: `sft` (prompt, response), `rm` (prompt, chosen, rejected) and `rl`
(prompts in the common schema, for training with a reward model).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.recipe import PrepResult, publish
from rewardkit.datasets_prep.common.schema import SCHEMA, AnyRow, Row, TextRow, text_schema, to_batches
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_source
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.errors import InputError, did_you_mean
from rewardkit.messages import ASSISTANT_TURN, dialogue_turns

LAYOUT = SplitLayout(ignore=("red-team",))
FORMS = ("sft", "rm", "rl")
FormName = Literal["all", "sft", "rm", "rl"]

_HELD_OUT = 4
"""Interval between held-out prompts. Without a published test split, every fourth prompt is used to test the
reward model."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Prompt with a chosen and a rejected answer."""

    index: int
    prompt: str
    chosen: str
    rejected: str
    messages: tuple[dict[str, str], ...]
    """Prompt as a chat that ends with a user message."""


MakeRows = Callable[[Pair, str], list[AnyRow]]
"""Function that creates the rows for a pair. The second argument is the name of the pair's split."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """A published version of the dataset."""

    name: str
    hub: Hub
    """Dataset on the hub, whose name is also the data source."""

    def prepare(
        self,
        out_dir: Path,
        settings: PrepSettings | None = None,
        *,
        split: Annotated[FormName, "Form to write."] = "all",
        chosen_only: Annotated[
            bool,
            "Write only the chosen answers to sft. By default, rejected answers are included, as in verl.",
        ] = False,
        one_message: Annotated[
            bool, "In rl, write the dialogue as a single user message, as verl does, instead of turns."
        ] = False,
        progress: OnWritten | None = None,
    ) -> PrepResult:
        """Write HH-RLHF to the folders sft, rm and rl in `out_dir`, each with the published splits.

        If the raw data has no split `test`, a quarter of the prompts in `rm` are moved from train.parquet to
        test.parquet. A limit applies to pairs, not rows.

        Raises:
            InputError: The form is unknown, the raw data cannot be found or used, or the output folder cannot
                be written.
            MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
        """
        if split != "all" and split not in FORMS:
            known = ("all", *FORMS)
            raise InputError(
                f"unknown split '{split}'; expected one of {', '.join(known)}{did_you_mean(split, known)}"
            )
        settings = settings or PrepSettings()
        settings.refuse(self.name, "instruction", "template", "agent", "interaction", "split_name")
        source = open_source(settings.raw, self.hub, LAYOUT, settings.revision)
        forms = FORMS if split == "all" else (split,)
        bad = {form: BadRows(skip=settings.skip_bad) for form in forms}
        splits: dict[str, Iterable[pa.RecordBatch]] = {}
        for form in forms:
            make = _maker(form, self.hub.name, chosen_only, one_message, settings.system)
            for name, rows in _splits(form, source, bad[form], settings.limit, make).items():
                splits[f"{form}/{name}"] = to_batches(rows, _schema(form))
        return publish(
            out_dir,
            self.name,
            splits,
            replace(settings, limit=None),  # the limit has already been applied to the pairs
            source=source,
            arguments={"chosen_only": chosen_only, "one_message": one_message, "limit": settings.limit},
            progress=progress,
            bad=bad[forms[0]],  # the bad rows are the same for every form
        )


def _splits(
    form: str, source: Source, bad: BadRows, limit: int | None, make: MakeRows
) -> dict[str, Iterable[AnyRow]]:
    def read(raw_split: str, bad: BadRows) -> Iterator[Pair]:
        return itertools.islice(_pairs(source.splits[raw_split](bad), bad), limit)

    pairs = {name: read(name, bad) for name in source.splits}
    if form == "rm" and "test" not in pairs:
        # `train` is written first, and its bad rows are counted then. The second pass over the same pairs
        # must not count them again.
        pairs["test"] = filter(_held_out(True), read("train", BadRows(skip=bad.skip)))
        pairs["train"] = filter(_held_out(False), pairs["train"])
    return {split: _rows(of_split, split, make) for split, of_split in pairs.items()}


def _rows(pairs: Iterable[Pair], split: str, make: MakeRows) -> Iterator[AnyRow]:
    return (row for pair in pairs for row in make(pair, split))


def _held_out(wanted: bool) -> Callable[[Pair], bool]:
    """Return a filter that accepts the pairs for every fourth prompt, or all other pairs if not `wanted`.

    Pairs with the same prompt are either all accepted or all rejected.
    """
    place: dict[bytes, int] = {}

    def choose(pair: Pair) -> bool:
        digest = hashlib.blake2b(pair.prompt.encode(), digest_size=16).digest()
        return (place.setdefault(digest, len(place)) % _HELD_OUT == _HELD_OUT - 1) is wanted

    return choose


def _pairs(records: Iterable[Record], bad: BadRows) -> Iterator[Pair]:
    for record in records:
        try:
            yield _pair(record)
        except InputError as error:
            bad.add(error)


def _pair(record: Record) -> Pair:
    chosen, rejected = record.text("chosen"), record.text("rejected")
    if "prompt" in record.values or "response" in record.values:
        prompt, place = record.text("prompt"), "'prompt'"
    else:
        prompt, chosen, rejected = _parted(record, chosen, rejected)
        place = "'chosen', up to the last answer,"
    try:
        return Pair(record.index, prompt, chosen, rejected, dialogue_turns(prompt))
    except ValueError as error:
        raise InputError(f"{record.where}: {place} is not a dialogue: {error}") from None


def _parted(record: Record, chosen: str, rejected: str) -> tuple[str, str, str]:
    """Split two complete dialogues into their common prompt and the last turn of each dialogue."""
    prompt, marker, last = chosen.rpartition(ASSISTANT_TURN)
    other, _, other_last = rejected.rpartition(ASSISTANT_TURN)
    if not marker:
        raise InputError(f"{record.where}: 'chosen' has no assistant turn")
    if prompt != other:
        raise InputError(f"{record.where}: 'chosen' and 'rejected' differ before the last answer")
    for name, text in (("chosen", last), ("rejected", other_last)):
        if not text.strip() or "\n\nHuman:" in text:
            raise InputError(f"{record.where}: '{name}' does not end with an assistant message")
    return prompt + marker, last, other_last


def _maker(form: str, data_source: str, chosen_only: bool, one_message: bool, system: str) -> MakeRows:
    def sft(pair: Pair, split: str) -> list[AnyRow]:
        responses = (pair.chosen,) if chosen_only else (pair.chosen, pair.rejected)
        return [TextRow({"prompt": pair.prompt, "response": response}) for response in responses]

    def rm(pair: Pair, split: str) -> list[AnyRow]:
        return [TextRow({"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected})]

    def rl(pair: Pair, split: str) -> list[AnyRow]:
        chosen = pair.chosen.strip()
        messages = ({"role": "user", "content": pair.prompt},) if one_message else pair.messages
        return [
            Row(
                data_source=data_source,
                prompt=({"role": "system", "content": system}, *messages) if system else messages,
                ability="alignment",
                ground_truth=chosen,
                split=split,
                index=pair.index,
                question=pair.prompt,
                answer=chosen,
                style="model",
            )
        ]

    return {"sft": sft, "rm": rm, "rl": rl}[form]


def _schema(form: str) -> pa.Schema:
    columns = {"sft": ("prompt", "response"), "rm": ("prompt", "chosen", "rejected")}
    return text_schema(*columns[form]) if form in columns else SCHEMA


FULL = Preferences(
    "full_hh_rlhf", Hub("Dahoas/full-hh-rlhf", None, ("train", "test"), "the parquet files of data/")
)
ANTHROPIC = Preferences(
    "hh-rlhf",
    Hub("Anthropic/hh-rlhf", None, ("train", "test"), "the folders with train.jsonl.gz and test.jsonl.gz"),
)
prepare = FULL.prepare
