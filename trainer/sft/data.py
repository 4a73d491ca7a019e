"""Converts rows from files to tokens, and marks the assistant's turns, including end tokens, for training.

The chat template determines where a turn begins and ends. A turn begins after the generation prompt that
follows the previous messages. If the template itself marks the turns (`{% generation %}`), the marks are used
instead.

Some templates render a turn differently once other turns follow, for example without its thought. Such a turn
gets a row of its own, in which it is the last turn, so that it is trained as the model generates it.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from rewardkit.checks.training import readable
from rewardkit.errors import InputError, RewardkitError, reason_of
from rewardkit.files.formats import columns_of, open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.files.records import BadRowError
from rewardkit.logs.samples import parsed
from rewardkit.pictures import Picture, pictures_in
from rewardkit.rows import value_at
from rewardkit.special_tokens import THOUGHTS
from rewardkit.trainer.batch import Batch, make_batch, pad_prompts
from rewardkit.trainer.data import file_list, shown_messages
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.vision import PICTURES, PictureBook, Vision, numbered
from rewardkit.trainer.sft.config import SftDataConfig

PAIRS = (
    ("prompt", "response"),
    ("prompt", "completion"),
    ("question", "answer"),
    ("instruction", "output"),
    ("prompt", "extra_info.answer"),
)
"""Columns with prompts and responses, in order of precedence. `rewardkit prep` writes the last pair."""
MARKED = re.compile(r"\{%-?\s*generation\s*-?%\}")
"""Statement in a chat template that marks the assistant's text."""

MARK = "\ue000"
"""Private character that stands for a text."""

Turns = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SftRow:
    """Tokens in one row."""

    token_ids: list[int]
    """Tokens before the first trained token."""
    response_ids: list[int]
    """Tokens from the first to the last trained token."""
    trained: list[bool]
    """True for each response token that is trained on."""
    file: str = field(default="", compare=False)
    """Path of the file that contains the row."""
    pictures: tuple[int, ...] = ()
    """Numbers of the row's pictures in the run's `PictureBook`."""

    @property
    def sequences(self) -> tuple[SftRow, ...]:
        """Return the token sequences in the row."""
        return (self,)

    def content(self) -> bytes:
        """Return all values that determine the training on this row."""
        lists = (self.token_ids, self.response_ids, self.trained)
        return b"".join(array("q", [len(values), *values]).tobytes() for values in lists)


class GivenRow(Protocol):
    """Common interface of the rows of all stages that train on given responses."""

    @property
    def file(self) -> str:
        """Path of the file that contains the row."""
        ...

    @property
    def sequences(self) -> tuple[SftRow, ...]:
        """Return the token sequences in the row."""
        ...

    def content(self) -> bytes:
        """Return all values that determine the training on this row."""
        ...


G = TypeVar("G")
R = TypeVar("R", bound=Any)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in one row."""

    turns: Turns
    first: int
    """Index of the first turn that may be trained on."""
    tools: Any = None


def load_rows(
    files: Any,
    tokenizer: Any,
    config: SftDataConfig,
    max_samples: int,
    world: World,
    ends: Collection[int] = (),
    book: PictureBook | None = None,
) -> list[SftRow]:
    """Read and tokenise the first `max_samples` rows (-1 for all rows) in all files together.

    Args:
        world: Processes that each tokenise a share of the rows. The main process reports skipped or
            suspicious rows.
        ends: Tokens that end a response. A warning is printed if no row trains the model on such a token.
        book: Book to which the rows' pictures are added, or None if the model reads only text.

    Raises:
        InputError: A file cannot be read, lacks the needed columns, or contains an unusable row.
    """
    named = (found for path in file_list(files) for found in _read(str(path), config, book))
    read = list(islice(named, max_samples if max_samples >= 0 else None))
    kept = encode_all(read, lambda given, where: encode(tokenizer, given, config, where, ends, book), world)
    rows = [row for several in kept for row in several]
    if skipped := sum(not several for several in kept):
        world.say(
            f"skipped {skipped} of {len(read)} rows, which have no trained token within "
            f"data.max_length={config.max_length}"
        )
    if divided := [several for several in kept if len(several) > 1]:
        world.say(
            f"{len(divided)} of {len(read)} rows are divided into {sum(map(len, divided))}, "
            "because the chat template renders an answer differently once other messages follow"
        )
    if rows and ends and not any(set(ends).intersection(row.response_ids) for row in rows):
        whole = any(len(row.token_ids) + len(row.response_ids) < config.max_length for row in rows)
        instead = (
            "the chat template should put it at the end of the assistant's turns"
            if whole
            else f"data.max_length={config.max_length} cuts every row before its end"
        )
        world.say(
            f"no row trains the model on {' or '.join(tokenizer.convert_ids_to_tokens(list(ends)))}, which "
            f"ends a response, so the model would not learn to stop; {instead}"
        )
    return rows


def encode_all(
    read: Sequence[tuple[str, G | InputError]], encoded: Callable[[G, str], list[R]], world: World
) -> list[list[R]]:
    """Encode rows, divided over all processes. An encoded row is one or more rows, or none if it is skipped.

    Args:
        read: Location and content of each row, or the reason why it cannot be used.

    Raises:
        InputError: A row cannot be used.
    """

    def one(i: int) -> list[R] | InputError:
        where, given = read[i]
        if isinstance(given, InputError):
            return given
        try:
            rows = encoded(given, where)
        except InputError as error:
            return error
        return [replace(row, file=where.rpartition(", row ")[0]) for row in rows]

    found = world.spread(one, len(read))
    if broken := [row for row in found if isinstance(row, InputError)]:
        others = f" ({len(broken) - 1} more of the {len(read)} rows cannot be used)" if broken[1:] else ""
        raise InputError(f"{broken[0]}{others}")
    return [rows for rows in found if not isinstance(rows, InputError)]


def digests(rows: Iterable[GivenRow], book: PictureBook | None = None) -> list[tuple[str, str]]:
    """Return the path of each file and a digest of the content of its rows, in their order."""
    found: dict[str, Any] = {}
    for row in rows:
        content = found.setdefault(row.file, hashlib.sha256())
        content.update(row.content())
        if book is not None:
            for one in row.sequences:
                content.update("".join(book[i].digest for i in one.pictures).encode())
    return [(file, content.hexdigest()) for file, content in found.items()]


def _read(
    path: str, config: SftDataConfig, book: PictureBook | None
) -> Iterator[tuple[str, Conversation | InputError]]:
    """Yield the location of each row, and the row's conversation or error."""
    for source in find_inputs([path]):
        file = open_rows(source)
        try:
            conversation = _reader(columns_of(file), config, source.path, book)
            for records in file.chunks():
                if records.damaged is not None:
                    raise InputError(f"{source.path}, row {records.first_row}: {records.damaged}")
                for i, row in enumerate(parsed(records), records.first_row):
                    where = f"{source.path}, row {i}"
                    if row is not None:
                        yield where, _conversation_or_error(row, where, conversation)
        finally:
            file.close()


def _conversation_or_error(
    row: Mapping[str, Any] | BadRowError, where: str, read: Callable[[Mapping[str, Any], str], Conversation]
) -> Conversation | InputError:
    if isinstance(row, BadRowError):
        return InputError(f"{where}: {row}")
    try:
        return read(row, where)
    except InputError as error:
        return error


def _reader(
    columns: Sequence[str], config: SftDataConfig, path: str, book: PictureBook | None
) -> Callable[[Mapping[str, Any], str], Conversation]:
    """Return a function that reads the conversation from a row in a file with these columns."""

    def shown(row: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
        messages = shown_messages(row, value_at(row, name), where, Path(path).parent, book)
        return row if messages is None else {**row, name: messages}

    prompt, response = config.prompt_key, config.response_key
    if (prompt is None) != (response is None):
        raise InputError("data.prompt_key and data.response_key must be set together; set both or neither")
    named = prompt is not None and response is not None
    pairs = ((prompt, response),) if prompt is not None and response is not None else PAIRS
    pair = next((p for p in pairs if all(name.split(".")[0] in columns for name in p)), None)
    if config.messages_key in columns and not (named and pair):
        return lambda row, where: _of_messages(shown(row, config.messages_key, where), config, where)
    if pair is None:
        wanted = ", or ".join([config.messages_key, *(" and ".join(p) for p in pairs)])
        raise InputError(
            f"{path} has no column {wanted}; set either data.messages_key, or both data.prompt_key and "
            f"data.response_key (columns: {', '.join(sorted(columns))})"
        )
    return lambda row, where: _of_pair(shown(row, pair[0], where), pair, config, where)


def _of_messages(row: Mapping[str, Any], config: SftDataConfig, where: str) -> Conversation:
    turns = row.get(config.messages_key)
    if not isinstance(turns, list) or not turns:
        raise InputError(
            f"{where}: {config.messages_key} must be a non-empty list of messages, found {turns!r:.40}"
        )
    return Conversation(_turns(turns, where, config.messages_key), 0, _tools(row, config, where))


def _of_pair(
    row: Mapping[str, Any], pair: tuple[str, str], config: SftDataConfig, where: str
) -> Conversation:
    before, after = (
        _turns(_field(row, name, keys, where), where, name, role)
        for name, keys, role in zip(
            pair, (config.prompt_dict_keys, config.response_dict_keys), ("user", "assistant"), strict=True
        )
    )
    return Conversation([*before, *after], len(before), _tools(row, config, where))


def _field(row: Mapping[str, Any], name: str, keys: Sequence[str] | None, where: str) -> Any:
    value = value_at(row, name)
    for key in keys or ():
        value = value.get(key) if isinstance(value, Mapping) else value
    if not value:
        raise InputError(f"{where}: {'.'.join([name, *(keys or ())])} is empty; leave out this row")
    return value


def _turns(value: Any, where: str, column: str, role: str = "") -> Turns:
    """Return a column's messages without the nulls that parquet adds. A string becomes a `role` message."""
    if isinstance(value, str):
        value = [{"role": role, "content": value}]
    if not isinstance(value, list):
        raise InputError(
            f"{where}: {column} must be a string or a list of messages, found {type(value).__name__}"
        )
    found: Turns = readable(value, where)
    return [{name: one for name, one in turn.items() if one is not None} for turn in found]


def _tools(row: Mapping[str, Any], config: SftDataConfig, where: str) -> Any:
    tools = row.get(config.tools_key)
    try:
        return json.loads(tools) if isinstance(tools, str) and tools else tools or None
    except ValueError as error:
        raise InputError(f"{where}: {config.tools_key} is not valid JSON: {reason_of(error)}") from None


def encode(
    tokenizer: Any,
    given: Conversation,
    config: SftDataConfig,
    where: str,
    ends: Collection[int] = (),
    book: PictureBook | None = None,
) -> list[SftRow]:
    """Return a conversation's tokens as one or more rows with a trained token within `data.max_length`.

    A conversation with pictures is never cut. It is left out if it is too long.

    Args:
        ends: Tokens that end a response.
        book: Book with the pictures of the conversation, or None if the model reads only text.

    Raises:
        InputError: The conversation is too long and must not be truncated, or see `tokenised`.
    """
    asked = given if book is None else replace(given, turns=book.vision.turns(given.turns))
    found = tokenised(tokenizer, asked, config.apply_chat_template_kwargs, where, ends)
    numbers = () if book is None else book.add(pictures_in(given.turns))
    if book is not None and numbers:
        if len(found) > 1:
            raise InputError(
                f"{where}: the chat template renders an answer differently once other messages follow, which "
                "is not supported in conversations with pictures; use one row per answer"
            )
        try:
            found = [_expanded(*found[0], book.vision, [book[i] for i in numbers])]
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if len(found[0][0]) > config.max_length and config.truncation != "error":
            return []
    rows = (split_row(*_fitted(ids, trained, config, where)) for ids, trained in found)
    return [replace(row, pictures=numbers) for row in rows if row is not None]


def tokenised(
    tokenizer: Any,
    given: Conversation,
    options: Mapping[str, Any],
    where: str,
    ends: Collection[int] = (),
) -> list[tuple[list[int], list[bool]]]:
    """Return the token ids of each row, and True for each token that the assistant is trained on.

    A conversation is divided into several rows if the template changes an answer once other messages follow.

    Raises:
        InputError: There is no assistant turn, or the chat template cannot render the conversation or does
            not show where each turn begins and ends.
    """
    if not tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of '{tokenizer.name_or_path}' has no chat template; set data.chat_template to "
            "a template, or to a file with a template"
        )
    if all(turn["role"] != "assistant" for turn in given.turns[given.first :]):
        raise InputError(f"{where}: there is no assistant message, so there is nothing to train on")
    try:
        if MARKED.search(tokenizer.chat_template):
            return [_by_marks(tokenizer, given, options, where)]
        return _by_text(_Template(tokenizer, given, options), where, set(ends))
    except RewardkitError:
        raise
    except Exception as error:  # a chat template is a program that may raise any exception
        raise InputError(f"{where}: the chat template cannot render this row: {reason_of(error)}") from None


def _expanded(
    ids: Sequence[int], trained: Sequence[bool], vision: Vision, pictures: Sequence[Picture]
) -> tuple[list[int], list[bool]]:
    """Replace the marks for pictures by their placeholders, which are not trained on."""
    blocks = [*vision.expanded(ids, pictures)]
    kept = [
        [one and i != vision.mark] * len(block) for i, one, block in zip(ids, trained, blocks, strict=True)
    ]
    return [*chain(*blocks)], [*chain(*kept)]


def _by_marks(
    tokenizer: Any, given: Conversation, options: Mapping[str, Any], where: str
) -> tuple[list[int], list[bool]]:
    """Return the token ids, and True for each token that the template marks as the assistant's."""

    def rendered(turns: Turns, **more: Any) -> Any:
        return tokenizer.apply_chat_template(turns, tools=given.tools, return_dict=True, **options, **more)

    found = rendered(given.turns, return_assistant_tokens_mask=True)
    ids: list[int] = found["input_ids"]
    start = len(rendered(given.turns[: given.first])["input_ids"]) if given.first else 0
    return ids, [i >= start and bool(said) for i, said in enumerate(found["assistant_masks"])]


@dataclass(frozen=True, slots=True)
class _Template:
    """Chat template, applied to the turns of one conversation."""

    tokenizer: Any
    given: Conversation
    options: Mapping[str, Any]

    def rendered(self, turns: Turns, *, asked: bool = False) -> str:
        """Return the text of these turns, with the generation prompt if `asked`."""
        text: str = self.tokenizer.apply_chat_template(
            turns, tools=self.given.tools, add_generation_prompt=asked, tokenize=False, **self.options
        )
        return text


@dataclass(frozen=True, slots=True)
class _Answer:
    """Assistant turn."""

    place: int
    """Index of the turn."""
    before: str
    """Text of all earlier turns and the generation prompt."""
    after: str
    """Text of all turns up to this one, as the last turn. It begins with `before`."""


def _by_text(template: _Template, where: str, ends: set[int]) -> list[tuple[list[int], list[bool]]]:
    """Return the token ids of each row, and True for each token in the text that an assistant turn adds.

    A row has all answers that its last answer does not change.
    """
    turns = template.given.turns
    places = [k for k in range(template.given.first, len(turns)) if turns[k]["role"] == "assistant"]
    left = [_answer(template, k, where) for k in places]
    found = []
    while left:
        last = left[-1]
        held = [one for one in left if last.after.startswith(one.after)]
        left = [one for one in left if one not in held]
        found.append(_marked(template, last, [(len(one.before), len(one.after)) for one in held], ends))
    return found[::-1]


def _answer(template: _Template, place: int, where: str) -> _Answer:
    turns = template.given.turns
    before = template.rendered(turns[:place], asked=True) if place else ""
    after = template.rendered(turns[: place + 1])
    if not after.startswith(before):
        alike = next(i for i, sign in enumerate(before) if after[i : i + 1] != sign)
        begun = before[alike:]
        after = before + _continued(turns[place], begun, f"{where}: turn {place}")
        marked = template.rendered([*turns[:place], {"role": "assistant", "content": MARK}])
        after += marked.rpartition(MARK)[2]
    return _Answer(place, before, after)


def _continued(turn: Mapping[str, Any], begun: str, where: str) -> str:
    """Return the text that follows a generation prompt that has begun the answer, usually with a thought.

    Raises:
        InputError: The turn does not begin in this way.
    """
    content, tag = turn.get("content"), begun.strip()
    if tag and isinstance(content, str):
        thought = turn.get("reasoning_content") or turn.get("thinking")
        if isinstance(thought, str) and tag in dict(THOUGHTS):
            return f"{thought.strip()}\n{dict(THOUGHTS)[tag]}\n\n{content}"
        if content.lstrip().startswith(tag):
            return content.lstrip().removeprefix(tag).removeprefix("\n" if begun.endswith("\n") else "")
    raise InputError(
        f"{where}: the chat template begins an answer with {begun!r}, but this turn does not begin with it; "
        "add its thought, or use a template with {% generation %} (data.chat_template)"
    )


def _marked(
    template: _Template, last: _Answer, spans: Sequence[tuple[int, int]], ends: set[int]
) -> tuple[list[int], list[bool]]:
    """Return the tokens of a row, and True for each token in one of the spans of its text.

    A token that begins in the prompt is trained on if it extends into the turn, as in TRL. If a turn has no
    end token, but one begins the next turn, the model has to generate that token.
    """
    found = template.tokenizer(last.after, add_special_tokens=False, return_offsets_mapping=True)
    ids: list[int] = found["input_ids"]
    said = [False] * len(ids)
    for start, end in spans:
        own = [i for i, (a, b) in enumerate(found["offset_mapping"]) if a < end and b > start]
        if not own:
            continue
        if ends.isdisjoint(ids[i] for i in own):
            following = own[-1] + 1
            if following == len(ids):
                ids, said = [*ids, *_next_end(template, last, ends)], [*said, False]
            own += [following] if following < len(ids) and ids[following] in ends else []
        for i in own:
            said[i] = True
    return ids, said[: len(ids)]


def _next_end(template: _Template, last: _Answer, ends: set[int]) -> list[int]:
    """Return the first token of a message that would follow the last answer, if it is an end token."""
    turns = [*template.given.turns[: last.place + 1], {"role": "user", "content": MARK}]
    with suppress(Exception):  # a template may refuse this message
        rest = template.rendered(turns).partition(MARK)[0].removeprefix(last.after)
        return [i for i in template.tokenizer(rest, add_special_tokens=False)["input_ids"][:1] if i in ends]
    return []


def _fitted(
    ids: list[int], trained: list[bool], config: SftDataConfig, where: str
) -> tuple[list[int], list[bool]]:
    limit = config.max_length
    if len(ids) > limit and config.truncation == "error":
        raise InputError(
            f"{where}: the conversation has {len(ids)} tokens, but data.max_length is {limit}; raise "
            "data.max_length, or set data.truncation=right"
        )
    kept = slice(-limit, None) if config.truncation == "left" else slice(limit)
    return ids[kept], trained[kept]


def split_row(ids: list[int], trained: list[bool]) -> SftRow | None:
    """Return the tokens up to the last trained token, or None if no token is trained on."""
    trained = [False, *trained[1:]]  # no token precedes the first token
    if not any(trained):
        return None
    start = trained.index(True)
    end = len(trained) - trained[::-1].index(True)
    return SftRow(ids[:start], ids[start:end], trained[start:end])


def as_batch(
    rows: Sequence[SftRow], pad_id: int, device: torch.device, among: Sequence[SftRow] = ()
) -> Batch:
    """Convert rows to a batch, (B, P + T), with `advantages` of 1 on the trained tokens.

    Args:
        among: Rows in all processes, which determine P and T for all processes.
    """
    prompts = pad_prompts(rows, max(len(row.token_ids) for row in among or rows), pad_id)
    width = max(len(row.response_ids) for row in among or rows)

    def padded(values: Iterator[Sequence[int]], filling: int) -> Tensor:
        return torch.tensor([[*v, *[filling] * (width - len(v))] for v in values], dtype=torch.int64)

    responses = padded((row.response_ids for row in rows), pad_id)
    mask = padded((row.trained for row in rows), 0)
    attended = padded(([1] * len(row.trained) for row in rows), 0)
    batch = make_batch([], *prompts, responses, mask, attended - mask)
    batch["advantages"] = batch["response_mask"]
    if width := max(len(row.pictures) for row in among or rows):
        batch[PICTURES] = numbered([row.pictures for row in rows], width)
    return batch.to(device)
