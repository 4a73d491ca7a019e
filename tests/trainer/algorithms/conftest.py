"""The mathematics is tested in float64, against numbers and loops that are in float64 themselves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _in_float64(float64: None) -> None:
    """Rows in other processes or pieces are added up in another order: see `tests/closeness.py`."""
