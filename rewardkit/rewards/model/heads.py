"""Finds and reads the head in a model's folder, which maps the last hidden state to a score or a value.

A head is recognised by its shape, so it can have any name: `score` (transformers, TRL and OpenRLHF),
`value_head` (older OpenRLHF), `v_head.summary` (TRL's and LLaMA-Factory's value heads) and others. torch is
imported only to read the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rewardkit.errors import InputError
from rewardkit.model_folders import model_folder, read_tensors

if TYPE_CHECKING:
    from torch import Tensor

MOST_ROWS = 16
"""Maximum number of rows of a head. Embeddings and output layers have a row per token."""


@dataclass(frozen=True, slots=True)
class SavedHead:
    """Linear head in a safetensors file."""

    file: Path
    name: str
    """Name of the layer, such as `score`. Its tensors are `score.weight` and perhaps `score.bias`."""
    rows: int
    """Number of labels."""
    columns: int
    """Size of the hidden state that the head reads."""
    has_bias: bool

    def __str__(self) -> str:
        return f"{self.name} ({self.rows}x{self.columns}{' with a bias' if self.has_bias else ''})"

    def read(self) -> tuple[Tensor, Tensor | None]:
        """Return the weight, (rows, columns), and the bias, (rows,), or None if the head has no bias."""
        from safetensors import safe_open

        with safe_open(self.file, framework="pt") as opened:
            bias = opened.get_tensor(f"{self.name}.bias") if self.has_bias else None
            return opened.get_tensor(f"{self.name}.weight"), bias


def find_head(path: str, name: str = "") -> SavedHead | None:
    """Return the head of a model in a folder or in the Hub's cache, or None if its files contain no head.

    Args:
        path: Folder of the model, or its name on the hub.
        name: Name of the layer, if the folder has several heads.

    Raises:
        InputError: The folder has several heads and `name` is empty, or it has no head with this name.
    """
    folder = model_folder(path)
    files = sorted(folder.glob("*.safetensors")) if folder else []
    heads = [head for file in files for head in _heads_in(file)]
    chosen = [head for head in heads if head.name == name] if name else heads
    known = ", ".join(map(str, heads))
    if name and not chosen:
        raise InputError(f"{path} has no head '{name}'; heads in its weight files: {known or 'none'}")
    if len(chosen) > 1:
        raise InputError(f"{path} has several heads: {known}; choose one with the option head")
    return chosen[0] if chosen else None


def is_head(name: str, rows: int) -> bool:
    """Return True if a layer with this name and number of outputs is a head, not a part of the body.

    Layers with a number in their name are decoder layers or parts of a head with several layers.
    """
    numbered = any(part.isdigit() for part in name.split("."))
    return rows <= MOST_ROWS and not numbered and "embed" not in name


def _heads_in(file: Path) -> list[SavedHead]:
    shapes = read_tensors(file)
    return [
        SavedHead(file, layer, shape[0], shape[1], f"{layer}.bias" in shapes)
        for tensor, shape in shapes.items()
        if tensor.endswith(".weight") and len(shape) == 2
        if is_head(layer := tensor.removesuffix(".weight"), shape[0])
    ]
