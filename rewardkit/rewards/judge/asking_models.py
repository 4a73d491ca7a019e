"""Sends a question to all models of a judge, parses their answers, retries once and combines the votes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rewardkit.model_api.client import Endpoint, EndpointError
from rewardkit.rewards.judge.cache import JudgeAnswer
from rewardkit.rewards.judge.calls import JudgeCalls
from rewardkit.rewards.judge.options import JudgeModel, JudgeOptions
from rewardkit.rewards.judge.probability import TOP, expected_verdict
from rewardkit.rewards.judge.question import JudgeQuestion, asked_again
from rewardkit.rewards.judge.spending import JudgeBill
from rewardkit.rewards.judge.templates import form_of, response_format
from rewardkit.rewards.judge.verdict import (
    JudgeVerdict,
    NoVerdictError,
    json_verdicts,
    read_verdict,
)
from rewardkit.rewards.judge.votes import VotedVerdict, vote

T = TypeVar("T")
NO_ANSWER = (EndpointError, NoVerdictError)
"""Errors that affect only one vote or one criterion."""


async def settled(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """Run coroutines concurrently. Return each result, or the error if it is listed in `NO_ANSWER`.

    Raises:
        Exception: A coroutine raised any other error. The error is raised after all coroutines have ended.
    """
    found = await asyncio.gather(*coroutines, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, NO_ANSWER):
            raise one
    return [one for one in found if not isinstance(one, BaseException) or isinstance(one, NO_ANSWER)]


@dataclass(frozen=True, slots=True)
class JudgeAsking:
    """Sender of the questions about one sample, which adds their cost to a bill."""

    options: JudgeOptions
    calls: JudgeCalls
    bill: JudgeBill

    async def verdict(self, question: JudgeQuestion) -> VotedVerdict:
        """Ask a question and return the combined verdict of all votes.

        Raises:
            EndpointError, NoVerdictError: Too few votes have a verdict.
            OverBudgetError: The budget is spent.
        """
        fields = [self.options.score_field] if self.options.score_field else []
        return (await self.verdicts(question, fields))[0]

    async def verdicts(self, question: JudgeQuestion, fields: Sequence[str]) -> list[VotedVerdict]:
        """Ask a question and return one verdict for each field of a JSON object, or a single verdict.

        Raises:
            EndpointError, NoVerdictError, OverBudgetError: As in `verdict`.
        """
        votes = [(model, number) for model in self.options.endpoints for number in range(self.options.votes)]
        found = await settled([self._vote(question, fields, *one) for one in votes])
        good = [one for one in found if not isinstance(one, Exception)]
        if 2 * len(good) < len(found):
            raise next(one for one in found if isinstance(one, Exception))
        return [
            vote([verdicts[place] for verdicts in good], len(found), self.options)
            for place in range(len(fields) or 1)
        ]

    async def _vote(
        self, question: JudgeQuestion, fields: Sequence[str], model: JudgeModel, number: int
    ) -> list[JudgeVerdict]:
        """Return the verdicts in one model's answer. Ask once more if the answer has no usable verdict."""
        read = partial(self._read, marker=question.marker, fields=fields)
        answer = await self._answer(question.messages, fields, model, number, read)
        try:
            return read(answer)
        except NoVerdictError as error:
            self.bill.add(asked_again=1)
            form = f"a JSON object with {', '.join(fields)}" if fields else form_of(self.options)
            messages = asked_again(question, answer.text, error, form)
            return read(await self._answer(messages, fields, model, number, read))

    def _read(self, answer: JudgeAnswer, marker: str, fields: Sequence[str]) -> list[JudgeVerdict]:
        if fields:
            return json_verdicts(answer.text, fields, self.options, marker)
        read: Callable[..., JudgeVerdict] = expected_verdict if self.options.logprobs else read_verdict
        return [read(answer if self.options.logprobs else answer.text, marker, self.options)]

    async def _answer(
        self,
        messages: list[dict[str, str]],
        fields: Sequence[str],
        model: JudgeModel,
        number: int,
        read: Callable[[JudgeAnswer], object],
    ) -> JudgeAnswer:
        options = self.options
        body: dict[str, Any] = {
            "messages": messages,
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        if options.logprobs:
            body |= {"logprobs": True, "top_logprobs": TOP}
        if options.structured:
            body["response_format"] = response_format(options, fields)
        body |= options.extra_body
        if body.get("seed") is not None:
            body["seed"] += number  # Each vote has its own seed, which is the same in every run.
        endpoint = Endpoint(
            model.url,
            model.model,
            model.api_key_env,
            options.request_timeout_s,
            options.retries,
            who="the judge's server",
        )
        return await self.calls.ask(endpoint, body, self.bill, read)
