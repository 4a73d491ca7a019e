"""Account of a judge's request. This is the only place where the attempts of a request are billed.

Before an attempt is sent, its largest possible cost is reserved. When the answer arrives, the tokens that
were used replace the reservation. If no answer arrives, the cost is unknown, and the reservation counts as
spent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rewardkit.messages import content_text, message_text
from rewardkit.model_api.client import AttemptMeter
from rewardkit.rewards.judge.budget import JudgeBudget
from rewardkit.rewards.judge.spending import Cost, EndpointLimits, JudgeBill, JudgeSpending

CHARACTERS = 4
"""Number of characters per token, for an estimate if the server returns no token count."""

_TEMPLATE_TOKENS = 256
"""Maximum number of tokens that a chat template is assumed to add to a request."""

_LONGEST = 131_072
"""Number of tokens reserved for an answer to a request without a limit."""


class RequestAccount(AttemptMeter):
    """Account of one request, which reserves and bills each of its attempts."""

    def __init__(
        self,
        spending: JudgeSpending,
        budget: JudgeBudget,
        limits: EndpointLimits,
        bill: JudgeBill,
        request: Mapping[str, Any],
    ) -> None:
        self._spending = spending
        self._budget = budget
        self._limits = limits
        self._bill = bill
        self._model = str(request["model"])
        self._characters = sum(len(message_text(message)) for message in request["messages"])
        size = len(json.dumps(request, ensure_ascii=False).encode("utf-8", "replace"))
        self._most = spending.cost(self._model, size + _TEMPLATE_TOKENS, _most_output(request))
        """Upper bound for the cost of an attempt. A token has at least one byte."""
        self._expected: int | None = None
        """Tokens that the attempt in flight took from the limit per minute, or None if no attempt is in
        flight."""

    async def begin(self) -> None:
        """Reserve the highest possible cost of a request before it is sent.

        Raises:
            OverBudgetError: The attempt might exceed the budget.
        """
        self.close()
        expected = await self._limits.wait(self._characters // CHARACTERS)
        await self._budget.reserve(self._most)
        self._expected = expected

    def unsent(self) -> None:
        """Bill nothing, because the attempt did not reach the server."""
        self._settle(Cost(), calls=0)

    def answered(self, answer: Mapping[str, Any]) -> None:
        """Bill the tokens in an answer, even if the answer is not usable. Errors cost nothing."""
        used = self._used(answer)
        self._settle(used, calls=int(used.tokens > 0))

    def close(self) -> None:
        """Bill the largest cost if the answer to an attempt did not arrive, since its cost is unknown."""
        if self._expected is not None:
            self._settle(self._most, calls=1)

    def _settle(self, used: Cost, calls: int) -> None:
        if self._expected is None:
            return
        self._budget.settle(self._most, used)
        self._limits.correct(self._expected, used.tokens)
        self._expected = None
        self._bill.add(
            calls=calls, input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost_usd=used.usd
        )

    def _used(self, answer: Mapping[str, Any]) -> Cost:
        usage, texts = answer.get("usage"), _texts(answer)
        usage = usage if isinstance(usage, Mapping) else {}
        if not usage and texts is None:
            return Cost()
        asked, total = _count(usage.get("prompt_tokens")), _count(usage.get("total_tokens"))
        asked = self._characters // CHARACTERS if asked is None else asked
        written = _count(usage.get("completion_tokens"))
        if written is None:
            written = len(texts or "") // CHARACTERS if total is None else max(0, total - asked)
        return self._spending.cost(self._model, asked, written)


def _most_output(request: Mapping[str, Any]) -> int:
    limit = request.get("max_completion_tokens") or request.get("max_tokens")
    answers = request.get("n")
    return (limit if isinstance(limit, int) else _LONGEST) * (answers if isinstance(answers, int) else 1)


def _texts(answer: Mapping[str, Any]) -> str | None:
    """Return all text in an answer's choices, including reasoning, or None if the answer has no choices."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    messages = [one.get("message") for one in choices if isinstance(one, Mapping)]
    found = [
        content_text(value)
        for message in messages
        if isinstance(message, Mapping)
        for name in ("content", "reasoning_content", "reasoning")
        if isinstance(value := message.get(name), str | list)
    ]
    return "".join(found)


def _count(tokens: Any) -> int | None:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None
