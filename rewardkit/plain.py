"""What datasets and trainers hand over, as the plain data that a Sample takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def truth_text(value: Any) -> str | None:
    """Return a ground truth as the string that rewards take; None for nothing: None and NaN.

    Text stays as it is, numbers are in figures (a whole one without `.0`), anything else is JSON.
    """
    if value is None or isinstance(value, str):
        return value
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return json.dumps(value, ensure_ascii=False)


def plain_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as JSON-ready data; what is not JSON-ready becomes its text. None is empty."""
    return {str(key): plain(item) for key, item in value.items()} if isinstance(value, Mapping) else {}


def plain(value: Any) -> Any:
    """Return JSON-ready data. Arrays and scalars of numpy count as the lists and numbers they hold."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return plain_mapping(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
