"""Limits, prices and budget of a judge, and the costs of a sample."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rewardkit.types import COST_PARTS

CHARACTERS = 4
"""Number of characters per token, for an estimate if the server returns no token count."""


class OverBudgetError(RuntimeError):
    """Raised if the next request might exceed the budget."""


@dataclass(frozen=True)
class TokenPrice:
    """Price of a model's tokens, in US dollars per million tokens."""

    input: float
    output: float


@dataclass(frozen=True)
class JudgeSpending:
    """Limits on a judge's requests within one Scorer. The fields are keys in the judge's YAML file."""

    concurrency: int = 32
    """Maximum number of concurrent requests for each endpoint."""
    max_rpm: int = 0
    """Maximum number of requests per minute for each endpoint. 0: no limit."""
    max_tpm: int = 0
    """Maximum number of tokens per minute in questions and answers for each endpoint. 0: no limit."""
    cache: str = "memory"
    """Storage for answers: the path of a SQLite file, `memory`, or `off`."""
    prices: dict[str, TokenPrice] = field(default_factory=dict)
    """Prices by model. Tokens of a model without a price count as free."""
    budget_usd: float = 0.0
    """Budget in US dollars. Requests that might exceed the budget are not sent. 0: no budget."""
    budget_tokens: int = 0
    """Budget in tokens. Requests that might exceed the budget are not sent. 0: no budget."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, found {self.concurrency}")
        for name in ("max_rpm", "max_tpm", "budget_usd", "budget_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be below 0, found {getattr(self, name)}")

    def cost_usd(self, model: str, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of a model's tokens in US dollars, or 0 if its price is unknown."""
        price = self.prices.get(model)
        return (price.input * input_tokens + price.output * output_tokens) / 1e6 if price else 0.0


class JudgeBill:
    """Costs of judging one sample."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = dict.fromkeys(COST_PARTS, 0.0)
        """Amounts by their names in `COST_PARTS`, as in the parts of a Score."""

    def add(self, **amounts: float) -> None:
        """Add amounts to the parts with these names."""
        for name, amount in amounts.items():
            self.parts[name] += amount


class JudgeBudget:
    """Tokens and dollars that were spent or are reserved for requests in flight."""

    def __init__(self, spending: JudgeSpending) -> None:
        self._spending = spending
        self._tokens = self._open_tokens = 0
        self._usd = self._open_usd = 0.0
        self._calls = 0

    def reserve(self, model: str, characters: int) -> tuple[int, float]:
        """Reserve the expected tokens and dollars for a request, and return both amounts.

        Raises:
            OverBudgetError: The request might exceed the budget.
        """
        tokens, usd = self._expected(model, characters)
        most_usd, most_tokens = self._spending.budget_usd, self._spending.budget_tokens
        if most_usd and self._usd + self._open_usd + usd > most_usd:
            raise OverBudgetError(
                f"the next request could exceed the judge's budget of ${most_usd:g} "
                f"(${self._usd:.4g} spent so far)"
            )
        if most_tokens and self._tokens + self._open_tokens + tokens > most_tokens:
            raise OverBudgetError(
                f"the next request could exceed the judge's budget of {most_tokens:,} tokens "
                f"({self._tokens:,} spent so far)"
            )
        self._open_tokens += tokens
        self._open_usd += usd
        return tokens, usd

    def settle(self, reserved: tuple[int, float], tokens: int, usd: float, calls: int) -> None:
        """Replace the reservation for a request with the actual cost. `calls` is 0 for a failed request."""
        self._open_tokens -= reserved[0]
        self._open_usd -= reserved[1]
        self._tokens += tokens
        self._usd += usd
        self._calls += calls

    def _expected(self, model: str, characters: int) -> tuple[int, float]:
        """Return the average cost of past requests or, before the first answer, an estimated cost."""
        if self._calls:
            return self._tokens // self._calls, self._usd / self._calls
        tokens = characters // CHARACTERS
        return tokens, self._spending.cost_usd(model, tokens, 0)


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
