"""Converts pairs of answers, or labelled answers, to tokens.

A reward model reads the tokens that it will read when it scores responses (`rewards/model/encode.py`).
Preference optimisation reads the tokens that SFT would train on (`sft/data.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError, InputError
from rewardkit.logs.pairs import LabelledAnswer, Pair, PairNames, answers_in, pairs_in
from rewardkit.rewards.model.encode import ModelEncoder, UnreadableError
from rewardkit.trainer.data import file_list
from rewardkit.trainer.distributed import World
from rewardkit.trainer.pairs.config import PairDataConfig
from rewardkit.trainer.sft.data import Conversation, SftRow, encode_all, split_row, tokenised

NO_LIMIT = 10**9


@dataclass(frozen=True, slots=True)
class PairRow:
    """Tokens of a pair. A labelled answer is paired with the answer to another prompt, for KTO's KL."""

    chosen: SftRow
    rejected: SftRow
    margin: float = 0.0
    good: bool = True
    """Label of a labelled answer."""
    file: str = field(default="", compare=False)
    """Path of the file that contains the row."""
    reference: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    """Log-probabilities of both answers by the reference, once they have been computed."""

    @property
    def sequences(self) -> tuple[SftRow, ...]:
        """Return the token sequences in the row."""
        return (self.chosen, self.rejected)

    def content(self) -> bytes:
        """Return all values that determine the training on this row."""
        both = b"".join(row.content() for row in self.sequences)
        return both + struct.pack("<d?", self.margin, self.good)


def load_rm_rows(
    files: Any, tokenizer: Any, config: PairDataConfig, max_samples: int, world: World
) -> list[PairRow]:
    """Read and encode the first `max_samples` pairs (-1 for all pairs) for a reward model.

    Raises:
        InputError: A file cannot be read, lacks the needed columns, or contains an unusable row.
    """
    encoder = ModelEncoder(tokenizer, "auto", NO_LIMIT)

    def encoded(pair: Pair, where: str) -> list[PairRow]:
        try:
            both = [encoder.encode(pair.prompt, answer).ids for answer in (pair.chosen, pair.rejected)]
        except UnreadableError as error:
            raise InputError(f"{where}: {error}") from None
        if both[0] == both[1]:
            raise InputError(f"{where}: chosen and rejected have the same tokens; leave out this row")
        if not _fits(list(zip(("chosen", "rejected"), map(len, both), strict=True)), config, where):
            return []
        shared = max(_common_length(*both), 1)
        chosen, rejected = (SftRow(ids[:shared], ids[shared:], [True] * (len(ids) - shared)) for ids in both)
        return [PairRow(chosen, rejected, pair.margin or 0.0)]

    return _load(files, pairs_in, encoded, config, max_samples, world)


def load_dpo_rows(
    files: Any,
    tokenizer: Any,
    config: PairDataConfig,
    max_samples: int,
    world: World,
    *,
    labelled: bool,
    ends: Collection[int] = (),
) -> list[PairRow]:
    """Read and encode the first `max_samples` rows (-1 for all rows) for preference optimisation.

    Args:
        labelled: True if the rows are single answers with labels.
        ends: Tokens that end a response.

    Raises:
        InputError: A file cannot be read, lacks the needed columns, or contains an unusable row.
    """

    def answer(prompt: Sequence[Any], name: str, text: str, where: str) -> SftRow | None:
        turns = [*map(dict, prompt), {"role": "assistant", "content": text}]
        ((ids, trained),) = tokenised(tokenizer, Conversation(turns, len(prompt)), {}, where, ends)
        if not _fits([(name, len(ids))], config, where):
            return None
        row = split_row(ids, trained)
        if row is None:
            raise InputError(f"{where}: the chat template does not show where the answer in {name} begins")
        return row

    def pair(given: Pair, where: str) -> list[PairRow]:
        chosen = answer(given.prompt, "chosen", given.chosen, where)
        rejected = answer(given.prompt, "rejected", given.rejected, where)
        return [PairRow(chosen, rejected)] if chosen and rejected else []

    def single(given: LabelledAnswer, where: str) -> list[PairRow]:
        row = answer(given.prompt, config.completion_key, given.completion, where)
        return [PairRow(row, row, good=given.label)] if row else []

    if not labelled:
        return _load(files, pairs_in, pair, config, max_samples, world)
    rows = _load(files, answers_in, single, config, max_samples, world)
    return mismatched(rows)


def mismatched(rows: Sequence[PairRow]) -> list[PairRow]:
    """Pair each labelled answer with the next answer in the data to another prompt.

    Raises:
        InputError: All rows have the same prompt.
    """
    prompts = [row.chosen.token_ids for row in rows]
    following: list[int | None] = [None] * len(rows)
    other: int | None = None
    for i in reversed(range(2 * len(rows))):  # the second round finds what follows the last rows
        here, after = i % len(rows), (i + 1) % len(rows)
        if prompts[here] != prompts[after]:
            other = after
        following[here] = other
    if rows and other is None:
        raise InputError("all prompts are the same, but KTO compares answers to different prompts")
    others = [rows[k].chosen for k in following if k is not None]
    return [_with_answer_of(row, other) for row, other in zip(rows, others, strict=True)]


def _with_answer_of(row: PairRow, other: SftRow) -> PairRow:
    mixed = SftRow(row.chosen.token_ids, other.response_ids, other.trained)
    return PairRow(row.chosen, mixed, good=row.good, file=row.file)


def _load(
    files: Any,
    reader: Callable[[Sequence[Path], PairNames], Iterator[tuple[str, Any]]],
    encoded: Callable[[Any, str], list[PairRow]],
    config: PairDataConfig,
    most: int,
    world: World,
) -> list[PairRow]:
    read = reader(paths, _names(config)) if (paths := file_list(files)) else ()
    given = list(islice(read, most if most >= 0 else None))
    rows = [row for kept in encode_all(given, encoded, world) for row in kept]
    if len(rows) < len(given):
        world.say(
            f"skipped {len(given) - len(rows)} of {len(given)} rows, which are longer than "
            f"data.max_length={config.max_length}"
        )
    return rows


def _names(config: PairDataConfig) -> PairNames:
    return PairNames(
        chosen=config.chosen_key,
        rejected=config.rejected_key,
        prompt=config.prompt_key,
        margin=config.margin_key,
        completion=config.completion_key,
        label=config.label_key,
    )


def _fits(lengths: Sequence[tuple[str, int]], config: PairDataConfig, where: str) -> bool:
    """Return True if all answers with their prompts are within `data.max_length`, False to skip the row."""
    name, most = max(lengths, key=lambda one: one[1])
    if most <= config.max_length:
        return True
    if config.truncation == "error":
        raise InputError(
            f"{where}: {name} has {most} tokens with its prompt, but data.max_length is "
            f"{config.max_length}; raise data.max_length, or set data.truncation=skip"
        )
    return False


def _common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the common start of two sequences, which leaves at least one token of each."""
    least = min(len(a), len(b)) - 1
    return next((i for i in range(least) if a[i] != b[i]), least)


def choose_padding(tokenizer: Any, ends: Sequence[int], rows: Sequence[PairRow]) -> None:
    """Set a padding token that ends no sequence, since transformers scores the last token before padding.

    Raises:
        ConfigError: All special tokens end sequences.
    """
    taken = {row.response_ids[-1] for pair in rows for row in pair.sequences}.union(ends)
    known = [tokenizer.pad_token_id, tokenizer.unk_token_id, *tokenizer.all_special_ids]
    known += [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    free = [i for i in known if i is not None and i not in taken]
    if not free:
        raise ConfigError(
            "model.path: the padding token is the end token, and no other special token is unused; add a "
            "padding token to the tokenizer, and a row for it to the model's embeddings"
        )
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(free[0])
