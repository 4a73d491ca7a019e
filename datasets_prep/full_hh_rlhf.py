"""HH-RLHF (Bai et al. 2022, arXiv:2204.05862) as published by Dahoas and by Anthropic.

Raw files: the parquet files in `data/` from Dahoas/full-hh-rlhf, or the files `{harmless-base, helpful-base,
helpful-online, helpful-rejection-sampled}/{train, test}.jsonl.gz` from Anthropic. The folder
`red-team-attempts` is skipped.

Raw columns from Dahoas: `prompt`, a dialogue that ends with "Assistant:", two answers `chosen` and
`rejected`, and `response`, a copy of `chosen`.

Raw columns from Anthropic: `chosen` and `rejected`. Both are whole dialogues that differ in the last turn.
Pairs that differ earlier are bad rows.

The output has one folder per form: `sft` (prompt, response), `rm` (prompt, chosen, rejected) and `rl`
(prompts in the common schema, to train on with a reward model).
"""

from __future__ import annotations

import hashlib
import itertools
import re
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

LAYOUT = SplitLayout(ignore=("red-team",))
FORMS = ("sft", "rm", "rl")
FormName = Literal["all", "sft", "rm", "rl"]

_HELD_OUT = 4
"""Interval of held-out prompts: without a published test split, every fourth prompt tests the reward
model."""

_TURN = re.compile(r"(?:^|\n\n)(Human|Assistant):")
_ASSISTANT = "\n\nAssistant:"
_ROLES = {"Human": "user", "Assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Raw record: a prompt with a chosen and a rejected answer."""

    index: int
    prompt: str
    chosen: str
    rejected: str
    messages: tuple[dict[str, str], ...]
    """The prompt as a chat that ends with the user's turn."""


MakeRows = Callable[[Pair, str], list[AnyRow]]
"""Function from a pair and the name of its split to the pair's rows."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Published form of the dataset."""

    name: str
    hub: Hub
    """Dataset on the hub. Its name is also the data source."""

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
        """Write HH-RLHF to `out_dir`/sft, /rm and /rl, each with the published splits.

        If the raw data has only the split `train`, a quarter of its prompts are moved to the reward model's
        test.parquet. A limit counts pairs.

        Raises:
            InputError: The form does not exist, the raw data cannot be found or used, or the folder cannot be
                written.
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
            replace(settings, limit=None),  # the limit counts pairs and is already applied
            source=source,
            arguments={"chosen_only": chosen_only, "one_message": one_message, "limit": settings.limit},
            progress=progress,
            bad=bad[forms[0]],  # every form drops the same rows
        )


def turns(dialogue: str) -> tuple[dict[str, str], ...]:
    """Return a dialogue of "Human:" and "Assistant:" paragraphs as messages that end with a user message.

    A text without these paragraphs becomes one user message. Successive turns of one speaker are merged.

    Raises:
        ValueError: There is text before the first speaker, or the last message is not a user message.
    """
    before, *parts = _TURN.split(dialogue)
    if not parts:
        return ({"role": "user", "content": dialogue.strip()},)
    if before.strip():
        raise ValueError("there is text before the first turn")
    messages: list[dict[str, str]] = []
    for speaker, said in zip(parts[::2], parts[1::2], strict=True):
        role = _ROLES[speaker]
        content = said.strip()
        if not content:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{content}"
        else:
            messages.append({"role": role, "content": content})
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("the last turn before the answer is not a human turn")
    return tuple(messages)


def _splits(
    form: str, source: Source, bad: BadRows, limit: int | None, make: MakeRows
) -> dict[str, Iterable[AnyRow]]:
    def read(raw_split: str, bad: BadRows) -> Iterator[Pair]:
        return itertools.islice(_pairs(source.splits[raw_split](bad), bad), limit)

    pairs = {name: read(name, bad) for name in source.splits}
    if form == "rm" and "test" not in pairs:
        # Publishing writes `train` first and counts its bad rows. This second pass must not count them again.
        pairs["test"] = filter(_held_out(True), read("train", BadRows(skip=bad.skip)))
        pairs["train"] = filter(_held_out(False), pairs["train"])
    return {split: _rows(of_split, split, make) for split, of_split in pairs.items()}


def _rows(pairs: Iterable[Pair], split: str, make: MakeRows) -> Iterator[AnyRow]:
    return (row for pair in pairs for row in make(pair, split))


def _held_out(wanted: bool) -> Callable[[Pair], bool]:
    """Return a filter that accepts the pairs of every fourth prompt, or all other pairs if not `wanted`.

    All pairs of a prompt are on the same side.
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
        return Pair(record.index, prompt, chosen, rejected, turns(prompt))
    except ValueError as error:
        raise InputError(f"{record.where}: {place} is not a dialogue: {error}") from None


def _parted(record: Record, chosen: str, rejected: str) -> tuple[str, str, str]:
    """Return the common prompt of two complete dialogues, and the last turn of each dialogue."""
    prompt, marker, last = chosen.rpartition(_ASSISTANT)
    other, _, other_last = rejected.rpartition(_ASSISTANT)
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
