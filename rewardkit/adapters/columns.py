"""Dataset columns, as trainers hand them to reward functions, -> Samples. No scoring here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import InputError
from rewardkit.plain import plain_mapping, truth_text
from rewardkit.types import Message, Sample

GROUND_TRUTHS = ("ground_truth", "solution", "answer")
"""Columns that hold what is right; the first that is there counts."""


def samples_from(
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    *,
    prompts: Sequence[Any] | None = None,
    data_source: str | None = None,
) -> list[Sample]:
    """Make one sample of each completion, a text or chat messages, and its row.

    Args:
        columns: lists as long as the completions: `data_source`, unless it is given; `ground_truth`,
            `solution`, `answer` or verl's `reward_model`, unless the reward needs none; `extra_info`.

    Raises:
        InputError: nothing says which data source this is, or a column has the wrong length.
    """
    n = len(completions)
    sources = _column(columns, "data_source", n)
    if sources is None and data_source is None:
        raise InputError(
            "the dataset has no column 'data_source'; add one, "
            "or make the reward with make_reward(data_source=...)"
        )
    truths = _truths(columns, n)
    extras = _column(columns, "extra_info", n) or [None] * n
    return [
        Sample(
            data_source or str((sources or [])[i]),
            text_of(completions[i]),
            truth_text(truths[i]) or "",
            prompt_of(prompts[i]) if prompts is not None else None,
            plain_mapping(extras[i]),
        )
        for i in range(n)
    ]


def text_of(completion: Any) -> str:
    """Return what the model wrote: the text, or all of the assistant's messages."""
    if isinstance(completion, str):
        return completion
    messages = [message for message in completion if message.get("role", "assistant") == "assistant"]
    return "".join(_content(message.get("content")) for message in messages)


def prompt_of(prompt: Any) -> str | list[Message] | None:
    """Return a prompt as a Sample takes it."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    return [plain_mapping(message) for message in prompt]


def _column(columns: Mapping[str, Any], name: str, n: int) -> Sequence[Any] | None:
    column = columns.get(name)
    if column is None:
        return None
    if isinstance(column, str) or len(column) != n:
        raise InputError(f"the column '{name}' must hold one value for each of the {n} completions")
    values: Sequence[Any] = column
    return values


def _truths(columns: Mapping[str, Any], n: int) -> Sequence[Any]:
    for name in GROUND_TRUTHS:
        column = _column(columns, name, n)
        if column is not None:
            return column
    models = _column(columns, "reward_model", n) or [None] * n
    return [model.get("ground_truth") if isinstance(model, Mapping) else None for model in models]


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))
