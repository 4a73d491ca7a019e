"""Columns and values that training needs.

The trainer rejects files that lack these columns or values. `rewardkit check` reports such files before
training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rewardkit.errors import InputError
from rewardkit.files.formats import RowFile, columns_of
from rewardkit.messages import plain_message
from rewardkit.pictures import is_there, pictures_in
from rewardkit.registry import REGISTRY
from rewardkit.rows import MEDIA, RowNames, find_names, has_value, to_sample, value_at
from rewardkit.tables import type_of

PROMPT_KEY = "prompt"
"""Default name of the prompt column. `data.prompt_key` sets another name."""
AGENT_NAME = "agent_name"


def has_in(file: RowFile) -> Callable[[str], bool]:
    """Return a predicate that is True for (dotted) names in the schema or in the first row of a file."""
    schema = file.schema
    if schema is None:
        first = file.first_row()
        return lambda name: has_value(first, name)
    return lambda name: type_of(schema, name) is not None


def training_names(file: RowFile, prompt_key: str) -> RowNames:
    """Return the names of the columns that training reads.

    Raises:
        InputError: A column is missing.
    """
    columns = columns_of(file)
    names = replace(find_names(has_in(file)), prompt=prompt_key if prompt_key in columns else None)
    needed = {"data_source": names.data_source, prompt_key: names.prompt, "ground_truth": names.ground_truth}
    if names.data_source is not None and not REGISTRY.needs_ground_truth(
        str(value_at(file.first_row(), names.data_source))
    ):
        del needed["ground_truth"]
    missing = [name for name, found in needed.items() if found is None]
    if missing:
        raise InputError(
            f"{file.source.path} has no column '{missing[0]}'; columns: {', '.join(sorted(columns))}; "
            "`rewardkit check` names the command that converts the file"
        )
    return names


def training_row(row: Mapping[str, Any], where: str, names: RowNames) -> dict[str, Any]:
    """Return the data source, prompt, ground truth, extra info and agent in a row for training.

    Raises:
        InputError: A value is missing, or the prompt contains something other than text.
    """
    sample = to_sample(
        value_at(row, names.data_source),
        None,
        value_at(row, names.ground_truth),
        value_at(row, names.prompt),
        value_at(row, names.extra_info),
    )
    values = {
        "data_source": sample.data_source,
        "ground_truth": sample.ground_truth,
        names.prompt: sample.prompt,
    }
    for name, value in values.items():
        if not value and (name != "ground_truth" or REGISTRY.needs_ground_truth(sample.data_source)):
            raise InputError(f"{where}: {name} is empty; remove the row, or fill the column")
    return {
        "data_source": sample.data_source,
        "prompt": readable(sample.prompt, where),
        "ground_truth": sample.ground_truth,
        "extra_info": sample.extra_info,
        "agent_name": row.get(AGENT_NAME) or None,
    }


def refuse_media(row: Mapping[str, Any], where: str) -> None:
    """Check that a row has no images, videos or audio, since the prompt is incomplete without them.

    Raises:
        InputError: The row has images, videos or audio.
    """
    if found := [name for name in MEDIA if is_there(row.get(name))]:
        raise InputError(
            f"{where}: column '{found[0]}' is not empty, which only vision-language models can use, and only "
            "for images (docs/images.md); use such a model, or leave out the row"
        )


def readable(prompt: Any, where: str) -> Any:
    """Return a prompt as text, or as messages that each have a role and a text. Text parts are joined.

    Raises:
        InputError: A message has no role, or contains something other than text.
    """
    if isinstance(prompt, str):
        return prompt
    return [_message(turn, f"{where}: message {k} of the prompt") for k, turn in enumerate(prompt)]


def _message(turn: Any, where: str) -> Any:
    if not (isinstance(turn, Mapping) and isinstance(turn.get("role"), str)):
        raise InputError(
            f"{where} has no role; a prompt must be a string or a list of messages with role and content"
        )
    plain = plain_message(turn)
    content = plain.get("content")
    if isinstance(content, str) or (content is None and turn.get("tool_calls")) or pictures_in([plain]):
        return plain
    raise InputError(f"{where}: content must be text or a list of text parts")
