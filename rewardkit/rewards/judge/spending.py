"""What a judge may cost, and what it has cost: limits, prices, the budget, and the bill of a sample."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rewardkit.types import COST_PARTS

CHARACTERS = 4
"""Of a token, where no server has counted."""


class OverBudgetError(RuntimeError):
    """The next request might pass the budget."""


@dataclass(frozen=True)
class TokenPrice:
    """What a model's tokens cost, in US dollars for a million."""

    input: float
    output: float


@dataclass(frozen=True)
class JudgeSpending:
    """How much a judge is asked, for one Scorer: further keys of the YAML file."""

    concurrency: int = 32
    """Requests in flight at most, for each endpoint."""
    max_rpm: int = 0
    """Requests a minute at most, for each endpoint; 0: any number."""
    max_tpm: int = 0
    """The same for tokens, of question and answer together."""
    cache: str = "memory"
    """Where answers are kept: a SQLite file, `memory`, or `off`."""
    prices: dict[str, TokenPrice] = field(default_factory=dict)
    """By model. Without one its tokens are counted, and cost nothing."""
    budget_usd: float = 0.0
    """A request that would pass it is not made; 0: no budget."""
    budget_tokens: int = 0
    """The same for tokens."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, found {self.concurrency}")
        for name in ("max_rpm", "max_tpm", "budget_usd", "budget_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be below 0, found {getattr(self, name)}")

    def cost_usd(self, model: str, input_tokens: int, output_tokens: int) -> float:
        """Return what some tokens of a model cost; 0 where its price is not known."""
        price = self.prices.get(model)
        return (price.input * input_tokens + price.output * output_tokens) / 1e6 if price else 0.0


class JudgeBill:
    """What one sample has cost: its keys are those of `COST_PARTS`."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = dict.fromkeys(COST_PARTS, 0.0)
        """As in a Score."""

    def add(self, **amounts: float) -> None:
        """Add to some of the parts."""
        for name, amount in amounts.items():
            self.parts[name] += amount


class JudgeBudget:
    """What has been spent, and what the requests in flight may add to it."""

    def __init__(self, spending: JudgeSpending) -> None:
        self._spending = spending
        self._tokens = self._open_tokens = 0
        self._usd = self._open_usd = 0.0
        self._calls = 0

    def reserve(self, model: str, characters: int) -> tuple[int, float]:
        """Return the tokens and dollars that a request is expected to take, and keep them for it.

        Raises:
            OverBudgetError: they might pass the budget.
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
        """Note what a request took in place of what was reserved for it; `calls` is 0 for one that failed."""
        self._open_tokens -= reserved[0]
        self._open_usd -= reserved[1]
        self._tokens += tokens
        self._usd += usd
        self._calls += calls

    def _expected(self, model: str, characters: int) -> tuple[int, float]:
        """What the requests so far took on average; before the first answer the length of the question."""
        if self._calls:
            return self._tokens // self._calls, self._usd / self._calls
        tokens = characters // CHARACTERS
        return tokens, self._spending.cost_usd(model, tokens, 0)


class RequestPace:
    """Lets so much pass in a minute, evenly."""

    def __init__(self, a_minute: int) -> None:
        self._seconds = 60.0 / a_minute if a_minute else 0.0
        self._free_at = 0.0

    async def wait(self, amount: float) -> None:
        """Wait for the turn of a request."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._free_at)
        self._free_at = at + amount * self._seconds
        if at > now:
            await asyncio.sleep(at - now)

    def correct(self, amount: float) -> None:
        """Add what a request took beyond what it waited for."""
        self._free_at += amount * self._seconds
