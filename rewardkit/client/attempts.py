"""Retry policy for requests: when to send a request again and when to give up."""

from __future__ import annotations

import random
import time

from rewardkit.client.wire import HttpAnswer, error_of
from rewardkit.errors import DeadlineError, OverloadedError, ServerError
from rewardkit.http_addresses import Address

_RETRIES = 4
"""Maximum number of retries after failed connections."""
_FIRST_PAUSE_S = 0.05


class Attempts:
    """Attempts to send one request within a time limit."""

    def __init__(self, url: Address, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s
        self.ends = time.monotonic() + timeout_s
        self.failures = 0

    def left_s(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self.too_late()
        return left

    def too_late(self) -> DeadlineError:
        return DeadlineError(
            f"the reward server at {self.url} did not answer within {self.timeout_s:g} s, including retries; "
            "set a longer timeout_s"
        )

    def pause_after_failure(self, error: Exception) -> float:
        """Return the seconds to wait after a failed connection.

        Raises:
            ServerError: The retries are used up, or the deadline would pass before the next attempt.
        """
        self.failures += 1
        pause_s = _FIRST_PAUSE_S * 2.0**self.failures * random.uniform(0.5, 1.5)
        if self.failures > _RETRIES or time.monotonic() + pause_s > self.ends:
            reason = self.url.unsaid(str(error)) or type(error).__name__
            raise ServerError(
                f"cannot reach the reward server at {self.url}: {reason}; is `rewardkit serve` running?"
            ) from error
        return pause_s

    def pause_when_overloaded(self, answer: HttpAnswer) -> float:
        """Return the seconds to wait if the server is overloaded.

        Raises:
            OverloadedError: The deadline would pass before the next attempt.
        """
        try:
            retry_after_s = float(answer.retry_after)
        except ValueError:  # the header is missing or contains a date
            retry_after_s = 1.0
        pause_s = retry_after_s * random.uniform(1.0, 1.5)  # so that not all clients retry at once
        if time.monotonic() + pause_s > self.ends:
            raise OverloadedError(f"{answer.url} answered 503: {error_of(answer)[1]}", retry_after_s)
        return pause_s
