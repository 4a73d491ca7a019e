"""HH-RLHF (Bai et al. 2022, arXiv:2204.05862) as Dahoas/full-hh-rlhf publishes it, in three forms.

Raw columns: `prompt`, a dialogue that ends in "Assistant:"; `chosen` and `rejected`, two ways to go on; and
`response`, which is `chosen` again. Forms, one folder each: `sft` (prompt, response), `rm` (prompt, chosen,
rejected) and `rl` (rows of the common schema, to be judged by a reward model).
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa

from rewardkit.datasets_prep.prepare import Prepared, Raw, SkipBad, check_count, publish
from rewardkit.datasets_prep.schema import SCHEMA, AnyRow, Row, TextRow, text_schema
from rewardkit.datasets_prep.sources import BadRows, Hub, Record, Source, open_source
from rewardkit.datasets_prep.writer import Progress, WrittenFile
from rewardkit.errors import InputError, did_you_mean

DATA_SOURCE = "Dahoas/full-hh-rlhf"
HUB = Hub(DATA_SOURCE, None, ("train", "test"), "the parquet files of data/")
FORMS = ("sft", "rm", "rl")
FormName = Literal["all", "sft", "rm", "rl"]

_HELD_OUT = 4
"""Without a published test split, every fourth prompt is held out for testing the reward model."""

_TURN = re.compile(r"(?:^|\n\n)(Human|Assistant):")
_ROLES = {"Human": "user", "Assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Pair:
    """One raw record."""

    index: int
    prompt: str
    chosen: str
    rejected: str
    messages: tuple[dict[str, str], ...]
    """The prompt as a chat that ends with the user's turn."""


MakeRows = Callable[[Pair, str], list[AnyRow]]
"""Makes the rows of a pair of a split."""


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    split: Annotated[FormName, "Which form to write."] = "all",
    chosen_only: Annotated[bool, "Leave the rejected answers out of sft, where verl has them too."] = False,
    one_message: Annotated[
        bool, "In rl, keep the dialogue as one user message, as verl does, not as turns."
    ] = False,
    limit: Annotated[int | None, "Keep only the first pairs of each raw split."] = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write HH-RLHF to `out_dir`/sft, /rm and /rl, each with the splits that are published.

    If only `train` is there, the reward model's test.parquet gets a quarter of its prompts.

    Raises:
        InputError: no such form, the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    if split != "all" and split not in FORMS:
        known = ("all", *FORMS)
        raise InputError(
            f"no split '{split}'; expected one of {', '.join(known)}{did_you_mean(split, known)}"
        )
    check_count("limit", limit)
    source = open_source(raw, HUB)
    arguments = {
        "chosen_only": chosen_only,
        "one_message": one_message,
        "limit": limit,
        "skip_bad": skip_bad,
    }
    forms = FORMS if split == "all" else (split,)
    bad = {form: BadRows(skip=skip_bad) for form in forms}
    files: dict[str, WrittenFile] = {}
    for form in forms:
        written = publish(
            out_dir / form,
            "full_hh_rlhf",
            _splits(form, source, bad[form], limit, _maker(form, chosen_only, one_message)),
            source=source.provenance,
            arguments={"form": form, **arguments},
            progress=_named(form, progress),
            schema=_schema(form),
        )
        files |= {f"{form}/{name}": file for name, file in written.items()}
    dropped = bad[forms[0]]  # every form drops the same rows
    return Prepared(files, dropped.dropped, tuple(dropped.first))


def turns(dialogue: str) -> tuple[dict[str, str], ...]:
    """Return a dialogue of "Human:" and "Assistant:" paragraphs as messages, ending with the user's.

    A text without such paragraphs is one user message; turns of one speaker in a row are one message.

    Raises:
        ValueError: text before the first speaker, or the last words are not the user's.
    """
    before, *parts = _TURN.split(dialogue)
    if not parts:
        return ({"role": "user", "content": dialogue.strip()},)
    if before.strip():
        raise ValueError("text before the first speaker")
    messages: list[dict[str, str]] = []
    for speaker, said in zip(parts[::2], parts[1::2], strict=True):
        role, content = _ROLES[speaker], said.strip()
        if not content:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{content}"
        else:
            messages.append({"role": role, "content": content})
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("the last words are not the human's")
    return tuple(messages)


def _splits(
    form: str, source: Source, bad: BadRows, limit: int | None, make: MakeRows
) -> dict[str, Iterable[AnyRow]]:
    def read(raw_split: str, bad: BadRows) -> Iterator[Pair]:
        return itertools.islice(_pairs(source.splits[raw_split](bad), bad), limit)

    pairs = {name: read(name, bad) for name in source.splits}
    if form == "rm" and "test" not in pairs:
        # Read a second time, with its bad rows counted already.
        pairs["test"] = filter(_held_out(True), read("train", BadRows(skip=bad.skip)))
        pairs["train"] = filter(_held_out(False), pairs["train"])
    return {split: _rows(of_split, split, make) for split, of_split in pairs.items()}


def _rows(pairs: Iterable[Pair], split: str, make: MakeRows) -> Iterator[AnyRow]:
    return (row for pair in pairs for row in make(pair, split))


def _held_out(wanted: bool) -> Callable[[Pair], bool]:
    """Choose the pairs of every fourth prompt, or the others: no prompt is on both sides."""
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
    prompt, chosen, rejected = (record.text(name) for name in ("prompt", "chosen", "rejected"))
    try:
        return Pair(record.index, prompt, chosen, rejected, turns(prompt))
    except ValueError as error:
        raise InputError(f"{record.where}: 'prompt' is no dialogue: {error}") from None


def _maker(form: str, chosen_only: bool, one_message: bool) -> MakeRows:
    def sft(pair: Pair, split: str) -> list[AnyRow]:
        responses = (pair.chosen,) if chosen_only else (pair.chosen, pair.rejected)
        return [TextRow({"prompt": pair.prompt, "response": response}) for response in responses]

    def rm(pair: Pair, split: str) -> list[AnyRow]:
        return [TextRow({"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected})]

    def rl(pair: Pair, split: str) -> list[AnyRow]:
        chosen = pair.chosen.strip()
        return [
            Row(
                data_source=DATA_SOURCE,
                prompt=({"role": "user", "content": pair.prompt},) if one_message else pair.messages,
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


def _named(form: str, progress: Progress | None) -> Progress | None:
    return None if progress is None else lambda split, rows: progress(f"{form}/{split}", rows)
