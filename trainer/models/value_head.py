"""Reads a value head from a model's folder. Trained critics and reward models contain a value head."""

from __future__ import annotations

from dataclasses import dataclass

from safetensors import safe_open
from torch import Tensor

from rewardkit.model_folders import model_folder

NAMES = ("score", "classifier", "v_head.summary", "value_head")
"""Names that transformers, TRL and other libraries use for the layer that maps a hidden state to a number."""


@dataclass(frozen=True)
class SavedHead:
    """Value head found in a model's folder."""

    weight: Tensor | None
    """Weight of the head, (1, hidden size), or None if the folder has no head of this shape."""
    said: str
    """Message about the use of the head, or an empty string if the folder has no head."""


def read_value_head(path: str, hidden_size: int) -> SavedHead:
    """Read the value head that is stored with a model's weights, in a folder or in the Hub's cache."""
    folder = model_folder(path)
    for file in sorted(folder.glob("*.safetensors")) if folder else ():
        with safe_open(file, framework="pt") as opened:
            names = set(opened.keys())
            name = next((name for name in NAMES if f"{name}.weight" in names), None)
            if name is None:
                continue
            weight: Tensor = opened.get_tensor(f"{name}.weight")
            if tuple(weight.shape) == (1, hidden_size) and f"{name}.bias" not in names:
                return SavedHead(weight, f"critic: the value head is {name} of {path}")
            shape = "x".join(str(size) for size in weight.shape)
            bias = " with a bias" if f"{name}.bias" in names else ""
            return SavedHead(
                None,
                f"critic: {name} of {path} is {shape}{bias}, not 1x{hidden_size}: the value head starts at 0",
            )
    return SavedHead(None, "")
