"""Sends a judge's requests, and applies the cache, the limits and the budget.

Each judge in a Scorer runs in one process, with a coroutine for each sample, so that processes share only the
cache file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from rewardkit.messages import message_text
from rewardkit.model_api.client import Endpoint, EndpointError, complete, text_of
from rewardkit.rewards.judge.cache import AnswerCache, JudgeAnswer, digest_of
from rewardkit.rewards.judge.spending import (
    CHARACTERS,
    JudgeBill,
    JudgeBudget,
    JudgeSpending,
    RequestPace,
)


class _Gate:
    """Limits on the requests to one endpoint."""

    def __init__(self, spending: JudgeSpending) -> None:
        self.room = asyncio.Semaphore(spending.concurrency)
        self.requests = RequestPace(spending.max_rpm)
        self.tokens = RequestPace(spending.max_tpm)


class JudgeCalls:
    """Sender of a judge's requests, which respects the limits and reuses cached answers."""

    def __init__(self, spending: JudgeSpending) -> None:
        self._spending = spending
        self._budget = JudgeBudget(spending)
        self._cache = None if spending.cache == "off" else AnswerCache(spending.cache)
        self._gates: dict[str, _Gate] = {}
        self._asking: dict[str, tuple[asyncio.Task[JudgeAnswer], list[None]]] = {}
        """Requests in flight by question, each with a list that has one entry for each waiting caller."""

    async def ask(self, endpoint: Endpoint, body: Mapping[str, Any], bill: JudgeBill) -> JudgeAnswer:
        """Return a model's answer and add its cost to the bill.

        The answer may come from the cache or from an identical request in flight.

        Raises:
            EndpointError: The server returned no answer.
            OverBudgetError: The budget is spent.
        """
        request = {"model": endpoint.model, **body}
        question = digest_of(endpoint.address, request) if self._cache is not None else None
        if question is None or self._cache is None:
            return await self._request(endpoint, request, bill)
        known = self._cache.get(question)
        if known is not None:
            bill.add(cached=1)
            return known
        if question in self._asking:
            bill.add(cached=1)
        else:
            task = asyncio.create_task(self._request(endpoint, request, bill))
            self._asking[question] = (task, [])
            task.add_done_callback(lambda done: self._keep(question, done))
        return await self._shared(question)

    async def _shared(self, question: str) -> JudgeAnswer:
        """Await a request that callers may share. Cancelling the last waiting caller cancels the request."""
        task, waiting = self._asking[question]
        waiting.append(None)
        try:
            return await asyncio.shield(task)
        finally:
            waiting.pop()
            if not waiting and not task.done():
                del self._asking[question]  # Later callers send a new request.
                task.cancel()

    def _keep(self, question: str, task: asyncio.Task[JudgeAnswer]) -> None:
        if self._asking.get(question, (None,))[0] is task:
            del self._asking[question]
        if not task.cancelled() and task.exception() is None and self._cache is not None:
            self._cache.put(question, task.result())

    async def _request(self, endpoint: Endpoint, request: Mapping[str, Any], bill: JudgeBill) -> JudgeAnswer:
        gate = self._gates.setdefault(endpoint.address, _Gate(self._spending))
        characters = sum(len(message_text(message)) for message in request["messages"])
        async with gate.room:
            reserved = self._budget.reserve(endpoint.model, characters)
            tokens, usd, calls = 0, 0.0, 0
            try:
                await gate.requests.wait(1)
                await gate.tokens.wait(reserved[0])
                answer = _answer(await complete(endpoint, request), endpoint, request, characters)
                tokens, calls = answer.input_tokens + answer.output_tokens, 1
                usd = self._spending.cost_usd(endpoint.model, answer.input_tokens, answer.output_tokens)
            finally:
                self._budget.settle(reserved, tokens, usd, calls)
                gate.tokens.correct(tokens - reserved[0])
        bill.add(calls=1, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens, cost_usd=usd)
        return answer


def _answer(
    completion: dict[str, Any], endpoint: Endpoint, request: Mapping[str, Any], characters: int
) -> JudgeAnswer:
    of_one_token = request.get("logprobs") and request.get("max_tokens") == 1
    text = text_of(completion, endpoint, None if of_one_token else request.get("max_tokens", 0))
    usage = completion.get("usage") or {}
    return JudgeAnswer(
        text,
        _tokens(completion["choices"][0]) if request.get("logprobs") else None,
        _count(usage.get("prompt_tokens"), characters),
        _count(usage.get("completion_tokens"), len(text)),
    )


def _count(tokens: Any, characters: int) -> int:
    """Return the server's token count, or an estimate from the number of characters."""
    return tokens if isinstance(tokens, int) and tokens >= 0 else characters // CHARACTERS


def _tokens(choice: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, float]]]]:
    try:
        return [
            (one["token"], [(top["token"], float(top["logprob"])) for top in one["top_logprobs"]])
            for one in choice["logprobs"]["content"]
        ]
    except (KeyError, TypeError, ValueError):
        raise EndpointError(
            "the judge's server returns no log-probabilities; leave the option logprobs out"
        ) from None


_CALLS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, JudgeCalls]] = WeakKeyDictionary()
"""`JudgeCalls` by event loop and by spending. A worker has one event loop."""


def calls_within(spending: JudgeSpending) -> JudgeCalls:
    """Return the `JudgeCalls` with these limits for the running event loop, creating it if needed."""
    of_loop = _CALLS.setdefault(asyncio.get_running_loop(), {})
    key = repr(spending)
    if key not in of_loop:
        of_loop[key] = JudgeCalls(spending)
    return of_loop[key]
