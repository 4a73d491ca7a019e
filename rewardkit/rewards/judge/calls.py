"""Sends a judge's requests, and applies the cache, the limits and the budget.

Each judge in a Scorer runs in one process, with a coroutine for each sample. Processes share only the cache
file and the count of the spent budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from rewardkit.model_api.client import Endpoint, EndpointError, complete, text_of
from rewardkit.rewards.judge.account import RequestAccount
from rewardkit.rewards.judge.budget import JudgeBudget
from rewardkit.rewards.judge.cache import AnswerCache, JudgeAnswer, digest_of
from rewardkit.rewards.judge.spending import EndpointLimits, JudgeBill, JudgeSpending
from rewardkit.rewards.judge.verdict import NoVerdictError


class JudgeCalls:
    """Sender of a judge's requests, which respects the limits and reuses cached answers."""

    def __init__(self, spending: JudgeSpending, name: str) -> None:
        self._spending = spending
        self._budget = JudgeBudget(spending, name)
        self._cache = None if spending.cache == "off" else AnswerCache(str(spending.cache))
        self._limits: dict[str, EndpointLimits] = {}
        self._asking: dict[str, tuple[asyncio.Task[JudgeAnswer], list[None]]] = {}
        """Requests in flight by question, each with a list that has one entry for each waiting caller."""

    async def ask(
        self,
        endpoint: Endpoint,
        body: Mapping[str, Any],
        bill: JudgeBill,
        read: Callable[[JudgeAnswer], object],
    ) -> JudgeAnswer:
        """Return a model's answer and add its cost to the bill.

        The answer may come from the cache or from an identical request in flight. Only answers with a verdict
        are cached. A cached answer is ignored if it has no verdict under the current options.

        Args:
            endpoint: Server and model.
            body: Fields of the request except `model`.
            bill: Bill of the sample.
            read: Function that raises NoVerdictError for an answer without a verdict.

        Raises:
            EndpointError: The server returned no answer.
            OverBudgetError: The budget is spent.
        """
        request = {"model": endpoint.model, **body}
        question = digest_of(endpoint.address, request) if self._cache is not None else None
        if question is None or self._cache is None:
            return await self._request(endpoint, request, bill)
        known = self._cache.get(question)
        if known is not None and _has_verdict(known, read):
            bill.add(cached=1)
            return known
        if question in self._asking:
            bill.add(cached=1)
        else:
            task = asyncio.create_task(self._request(endpoint, request, bill))
            self._asking[question] = (task, [])
            task.add_done_callback(lambda done: self._keep(question, done, read))
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

    def _keep(
        self, question: str, task: asyncio.Task[JudgeAnswer], read: Callable[[JudgeAnswer], object]
    ) -> None:
        if self._asking.get(question, (None,))[0] is task:
            del self._asking[question]
        if task.cancelled() or task.exception() is not None or self._cache is None:
            return
        if _has_verdict(task.result(), read):
            self._cache.put(question, task.result())

    async def _request(self, endpoint: Endpoint, request: Mapping[str, Any], bill: JudgeBill) -> JudgeAnswer:
        limits = self._limits.setdefault(endpoint.address, EndpointLimits(self._spending))
        account = RequestAccount(self._spending, self._budget, limits, bill, request)
        async with limits.room:
            try:
                completion = await complete(endpoint, request, account)
            finally:
                account.close()
        of_one_token = request.get("logprobs") and request.get("max_tokens") == 1
        text = text_of(completion, endpoint, None if of_one_token else request.get("max_tokens", 0))
        tokens = _tokens(completion["choices"][0]) if request.get("logprobs") else None
        return JudgeAnswer(text, tokens)


def _has_verdict(answer: JudgeAnswer, read: Callable[[JudgeAnswer], object]) -> bool:
    try:
        read(answer)
    except NoVerdictError:
        return False
    return True


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


_CALLS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], JudgeCalls]] = WeakKeyDictionary()
"""`JudgeCalls` by event loop, and by name and spending. A worker has one event loop."""


def calls_within(spending: JudgeSpending, name: str) -> JudgeCalls:
    """Return the `JudgeCalls` with these limits for the running event loop, creating it if needed.

    Args:
        spending: Limits of the judge.
        name: Name under which the processes of a run count what the judge has spent.
    """
    of_loop = _CALLS.setdefault(asyncio.get_running_loop(), {})
    key = (name, repr(spending))
    if key not in of_loop:
        of_loop[key] = JudgeCalls(spending, name)
    return of_loop[key]
