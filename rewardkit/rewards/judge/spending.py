"""Limits, prices and budget of a judge, and the costs of a sample. `budget` counts what a run has spent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from rewardkit.types import COST_PARTS


class OverBudgetError(RuntimeError):
    """Raised if the next request might exceed the budget."""


class Cost(NamedTuple):
    """Cost of one attempt of a request."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Return the number of tokens in the question and the answer."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class TokenPrice:
    """Price of a model's tokens, in US dollars per million tokens."""

    input: float
    output: float


@dataclass(frozen=True)
class JudgeSpending:
    """Limits on a judge's requests. The fields are keys in the judge's YAML file.

    The budget holds for all processes of a run together, and the other limits for each Scorer.
    """

    concurrency: int = 32
    """Maximum number of concurrent requests for each endpoint."""
    max_rpm: int = 0
    """Maximum number of requests per minute for each endpoint. 0: no limit."""
    max_tpm: int = 0
    """Maximum number of tokens per minute in questions and answers for each endpoint. 0: no limit."""
    cache: str | bool = "memory"
    """Storage for answers: the path of a SQLite file, `memory`, or `off`, which YAML reads as false."""
    prices: dict[str, TokenPrice] = field(default_factory=dict)
    """Prices by model. Tokens of a model without a price count as free."""
    budget_usd: float = 0.0
    """Budget in US dollars. Requests that might exceed the budget are not sent. 0: no budget."""
    budget_tokens: int = 0
    """Budget in tokens. Requests that might exceed the budget are not sent. 0: no budget."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, found {self.concurrency}")
        if self.cache is True or self.cache == "":
            raise ValueError(f"cache must be the path of a file, memory or off, found {self.cache!r}")
        if self.cache is False:
            object.__setattr__(self, "cache", "off")
        for name in ("max_rpm", "max_tpm", "budget_usd", "budget_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be below 0, found {getattr(self, name)}")

    @property
    def has_budget(self) -> bool:
        """Return True if the dollars or the tokens are limited."""
        return bool(self.budget_usd or self.budget_tokens)

    def cost(self, model: str, input_tokens: int, output_tokens: int) -> Cost:
        """Return the cost of a model's tokens. Tokens of a model without a price are free."""
        price = self.prices.get(model)
        usd = (price.input * input_tokens + price.output * output_tokens) / 1e6 if price else 0.0
        return Cost(input_tokens, output_tokens, usd)


class JudgeBill:
    """Costs of judging one sample."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = dict.fromkeys(COST_PARTS, 0.0)
        """Amounts by their names in `COST_PARTS`, as in the parts of a Score."""

    def add(self, **amounts: float) -> None:
        """Add amounts to the parts with these names."""
        for name, amount in amounts.items():
            self.parts[name] += amount


class RequestPace:
    """Rate limiter that spreads an allowed amount evenly over each minute."""

    def __init__(self, a_minute: int) -> None:
        self._seconds = 60.0 / a_minute if a_minute else 0.0
        self._free_at = 0.0

    async def wait(self, amount: float) -> None:
        """Wait until a request that uses this amount may be sent."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._free_at)
        self._free_at = at + amount * self._seconds
        if at > now:
            await asyncio.sleep(at - now)

    def correct(self, amount: float) -> None:
        """Add the difference between a request's actual and estimated amounts, which may be negative."""
        self._free_at += amount * self._seconds


class EndpointLimits:
    """Limits on the requests to one endpoint."""

    def __init__(self, spending: JudgeSpending) -> None:
        self.room = asyncio.Semaphore(spending.concurrency)
        self._requests = RequestPace(spending.max_rpm)
        self._tokens = RequestPace(spending.max_tpm)
        self._used = 0
        self._answers = 0

    async def wait(self, tokens: int) -> int:
        """Wait until an attempt may be sent, and return the number of tokens that it is expected to use.

        This is the average of past attempts or, before the first answer, the estimate `tokens`.
        """
        expected = self._used // self._answers if self._answers else tokens
        await self._requests.wait(1)
        await self._tokens.wait(expected)
        return expected

    def correct(self, expected: int, used: int) -> None:
        """Replace the expected number of tokens of an attempt with the number that was used."""
        self._tokens.correct(used - expected)
        self._used += used
        self._answers += used > 0
