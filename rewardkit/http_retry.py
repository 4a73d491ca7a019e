"""Rules for retrying HTTP requests: the statuses to retry and the delay that a server requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which a retry may succeed."""
BUSY = RETRIED - {500} | {421}
"""Statuses after which the same request may succeed later or on another server."""
NOT_BEGUN = frozenset({429, 502, 503, 504})
"""Statuses after which the client may retry even a request that must not be executed twice."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait according to the Retry-After header, or 0.0 if it cannot be parsed."""
    value = headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())
