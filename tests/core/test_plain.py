"""A ground truth reads the same wherever it comes from: a file, an adapter, a trainer's request."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from rewardkit.plain import truth_text


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        ("72", "72"),
        ("", ""),
        (72, "72"),
        (72.0, "72"),
        (0.1, "0.1"),
        (2.0**60, "1.152921504606847e+18"),
        (float("nan"), None),
        (None, None),
        (True, "true"),
        (["a", "é"], '["a", "é"]'),
        (("a", 1), '["a", 1]'),
        (np.int64(72), "72"),
        (np.float64(72), "72"),
        (np.array(["x"]), '["x"]'),
        ({"inputs": np.array(["1"]), "n": np.int64(2)}, '{"inputs": ["1"], "n": 2}'),
        (1 + 2j, "(1+2j)"),
        (MappingProxyType({"n": 1}), '{"n": 1}'),
        ({np.int64(1): "a", (2, 3): "b"}, '{"1": "a", "(2, 3)": "b"}'),
    ],
)
def test_a_ground_truth_is_text_or_nothing(truth: Any, text: str | None) -> None:
    assert truth_text(truth) == text
