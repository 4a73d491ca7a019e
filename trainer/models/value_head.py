"""Reads a value head from a model's folder. Trained critics and reward models contain a value head."""

from __future__ import annotations

from torch import Tensor

from rewardkit.errors import InputError
from rewardkit.rewards.model.heads import find_head


def read_value_head(path: str, hidden_size: int) -> tuple[Tensor | None, str]:
    """Read the value head that is stored with a model's weights, in a folder or in the Hub's cache.

    Returns:
        The weight, (1, hidden size), or None if the folder has no such head. Also a message about the head,
        which is empty if the folder has no head.
    """
    try:
        found = find_head(path)
    except InputError as error:
        return None, f"critic: the value head starts at 0: {error}"
    if found is None:
        return None, ""
    if (found.rows, found.columns) == (1, hidden_size) and not found.has_bias:
        return found.read()[0], f"critic: the value head is {found.name} of {path}"
    return (
        None,
        f"critic: {found} of {path} is not 1x{hidden_size} without a bias: the value head starts at 0",
    )
