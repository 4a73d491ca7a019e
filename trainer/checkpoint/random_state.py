"""Converts the state of a process's global random number generators to and from JSON, for checkpoints."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def random_state() -> dict[str, Any]:
    """Return the state of this process's global random number generators as JSON."""
    numpy_state: Any = np.random.get_state()
    name, keys, *rest = numpy_state
    state = {
        "python": random.getstate(),
        "numpy": [name, keys.tolist(), *rest],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return {
        k: base64.b85encode(bytes(v.tolist())).decode() if isinstance(v, Tensor) else v
        for k, v in state.items()
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Restore the state of this process's global random number generators, as `random_state` returned it."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(tuple(state["numpy"]))
    torch.set_rng_state(_bytes(state["torch"]))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(_bytes(state["cuda"]))


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(base64.b85decode(text)), dtype=torch.uint8)
