"""A ground truth, however a dataset or a trainer holds it, as the string that rewards take."""

from __future__ import annotations

import json
import math
from typing import Any


def truth_text(value: Any) -> str | None:
    """Return text as it is, numbers in figures (a whole one without `.0`), anything else as JSON.

    None for nothing: None and NaN. Arrays and scalars of numpy count as the lists and numbers they hold.
    """
    value = _plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return (
        value if value is None or isinstance(value, str | int | float | dict | list | tuple) else str(value)
    )
