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
(prompts in the common schema, for training with a reward model). In all three, the prompt is the same list of
messages, so that one chat template renders them alike. `--like verl` writes the dialogues as text, as verl's
script does.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.readers import BadRows, LeftOutError
from rewardkit.datasets_prep.common.recipe import PrepResult, publish
from rewardkit.datasets_prep.common.row_forms import FormedRow, MakeRow, form_of, formed_batches
from rewardkit.datasets_prep.common.schema import (
    MESSAGES,
    SCHEMA,
    AnyRow,
    Messages,
    Row,
    TextRow,
    to_batches,
)
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_source
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.errors import InputError, did_you_mean
from rewardkit.messages import ASSISTANT_TURN, dialogue_turns

LAYOUT = SplitLayout(ignore=("red-team",))
FORMS = ("sft", "rm", "rl")
FormName = Literal["all", "sft", "rm", "rl"]
_SCHEMAS = {
    "sft": pa.schema([("prompt", MESSAGES), ("response", pa.string())]),
    "rm": pa.schema([("prompt", MESSAGES), ("chosen", MESSAGES), ("rejected", MESSAGES)]),
    "rl": SCHEMA,
}

_HELD_OUT = 4
"""Interval between held-out prompts. Without a published test split, every fourth prompt is used to test the
reward model."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Prompt with a chosen and a rejected answer."""

    record: Record
    prompt: str
    """Dialogue before the answers, as published."""
    chosen: str
    rejected: str
    messages: Messages
    """Prompt as a chat that ends with a user message."""


MakeRows = Callable[[Pair, str], list[AnyRow]]
"""Function that creates the rows for a pair. The second argument is the name of the pair's split."""
ReadPairs = Callable[[BadRows], Iterator[Pair]]
"""Function that reads the pairs of a split from the start, and counts the unusable records."""


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
        like = form_of(self.name, settings.like).make if settings.like else None
        source = open_source(settings.raw, self.hub, LAYOUT, settings.revision)
        forms = FORMS if split == "all" else (split,)
        bad = {form: BadRows(skip=settings.skip_bad) for form in forms}
        splits: dict[str, Iterable[pa.RecordBatch]] = {}
        for form in forms:
            make = _maker(form, self.hub.name, chosen_only, settings.system)
            for name, pairs in _splits(form, source, settings.limit, like is None).items():
                splits[f"{form}/{name}"] = (
                    to_batches(_rows(pairs(bad[form]), name, make), _SCHEMAS[form])
                    if like is None
                    else formed_batches(partial(_formed, like, form, pairs, name, chosen_only), bad[form])
                )
        return publish(
            out_dir,
            self.name,
            splits,
            replace(settings, limit=None),  # `_splits` has already limited the pairs.
            source=source,
            arguments={"chosen_only": chosen_only, "limit": settings.limit},
            progress=progress,
            bad=bad[forms[0]],  # Every form has the same bad rows.
        )


def _splits(form: str, source: Source, limit: int | None, distinct: bool) -> dict[str, ReadPairs]:
    def reader(raw_split: str) -> ReadPairs:
        return lambda bad: itertools.islice(_pairs(source.splits[raw_split](bad), bad, distinct), limit)

    pairs = {name: reader(name) for name in source.splits}
    if form == "rm" and "test" not in pairs:
        whole = pairs["train"]
        pairs["train"] = lambda bad: filter(_held_out(False), whole(bad))
        # Both splits read the same raw rows. Bad rows are counted only while `train` is read.
        pairs["test"] = lambda bad: filter(_held_out(True), whole(BadRows(skip=bad.skip)))
    return pairs


def _rows(pairs: Iterable[Pair], split: str, make: MakeRows) -> Iterator[AnyRow]:
    return (row for pair in pairs for row in make(pair, split))


def _formed(
    make: MakeRow, form: str, pairs: ReadPairs, split: str, chosen_only: bool, bad: BadRows
) -> Iterator[FormedRow]:
    """Yield rows in the format of another project's script.

    The script receives the form and the name of the answer's column.
    """
    columns = ("chosen", "rejected") if form == "sft" and not chosen_only else ("chosen",)
    for pair in pairs(bad):
        for column in columns:
            yield make(pair.record, split, {"form": form, "answer": column})


def _held_out(wanted: bool) -> Callable[[Pair], bool]:
    """Return a filter that accepts the pairs of every fourth prompt if `wanted`, or else all other pairs.

    Pairs with the same prompt are either all accepted or all rejected.
    """
    place: dict[bytes, int] = {}

    def choose(pair: Pair) -> bool:
        digest = hashlib.blake2b(pair.prompt.encode(), digest_size=16).digest()
        return (place.setdefault(digest, len(place)) % _HELD_OUT == _HELD_OUT - 1) is wanted

    return choose


def _pairs(records: Iterable[Record], bad: BadRows, distinct: bool) -> Iterator[Pair]:
    for record in records:
        try:
            pair = _pair(record)
            if distinct and pair.chosen.strip() == pair.rejected.strip():
                raise LeftOutError("chosen and rejected are the same")
            yield pair
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
        return Pair(record, prompt, chosen, rejected, dialogue_turns(prompt))
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


def _maker(form: str, data_source: str, chosen_only: bool, system: str) -> MakeRows:
    def asked(pair: Pair) -> Messages:
        return ({"role": "system", "content": system}, *pair.messages) if system else pair.messages

    def sft(pair: Pair, split: str) -> list[AnyRow]:
        responses = (pair.chosen,) if chosen_only else (pair.chosen, pair.rejected)
        return [TextRow({"prompt": asked(pair), "response": said.strip()}) for said in responses]

    def rm(pair: Pair, split: str) -> list[AnyRow]:
        answers = {"chosen": _answer(pair.chosen), "rejected": _answer(pair.rejected)}
        return [TextRow({"prompt": asked(pair), **answers})]

    def rl(pair: Pair, split: str) -> list[AnyRow]:
        chosen = pair.chosen.strip()
        return [
            Row(
                data_source=data_source,
                prompt=asked(pair),
                ability="alignment",
                ground_truth=chosen,
                split=split,
                index=pair.record.index,
                question=pair.prompt,
                answer=chosen,
                style="model",
            )
        ]

    return {"sft": sft, "rm": rm, "rl": rl}[form]


def _answer(text: str) -> Messages:
    return ({"role": "assistant", "content": text.strip()},)


FULL = Preferences(
    "full_hh_rlhf", Hub("Dahoas/full-hh-rlhf", None, ("train", "test"), "the parquet files of data/")
)
ANTHROPIC = Preferences(
    "hh-rlhf",
    Hub("Anthropic/hh-rlhf", None, ("train", "test"), "the folders with train.jsonl.gz and test.jsonl.gz"),
)
prepare = FULL.prepare
