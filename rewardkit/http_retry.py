"""HTTP requests that are worth another try, and the time that their server asks to wait. Makes no
requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that another try may change."""
NOT_BEGUN = frozenset({429, 502, 503, 504})
"""Statuses after which even a request that must not be carried out twice may be sent again."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by the Retry-After header, a number or a date; 0.0 if it cannot be read."""
    value = headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())
