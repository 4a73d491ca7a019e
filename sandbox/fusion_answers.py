"""Defines a field of `/run_code`, used only by rewardkit, for function calls and assertions.

The server passes the calls and assertions to `Sandbox.call` and `Sandbox.check`, so the program and the
assertions run in separate jailed child processes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rewardkit.sandbox.answers import Answer, SolutionBudget
from rewardkit.sandbox.box import Sandbox
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.worker import Job

_FOREVER_S = 1e9


class CallRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `Sandbox.call`. The called function's arguments are encoded by `jail/values.py`."""

    function: str
    cases: list[list[Any]]
    keywords: list[dict[str, Any]]
    stop: bool


class CheckRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `Sandbox.check`."""

    setup: str
    tests: list[str]
    before: list[str]
    stop: bool


class BudgetLeft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Remaining amounts of a `SolutionBudget`, in seconds."""

    cpu_s: float
    failures_s: float
    ends_s: float


class AnswersRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Tests in a request, without the program and its limits.

    If `call` and `check` are None, nothing runs.
    """

    call: CallRequest | None = None
    check: CheckRequest | None = None
    budget: BudgetLeft


class AnswersReply(msgspec.Struct, frozen=True):
    """One answer for each test that ran, and the remaining budget."""

    answers: list[Answer]
    budget: BudgetLeft

    def settle(self, budget: SolutionBudget) -> list[Answer]:
        """Copy the remaining budget to the caller's `budget`, and return the answers."""
        budget.cpu_s = self.budget.cpu_s
        budget.failures_s = self.budget.failures_s
        return self.answers


def call_request(
    function: str,
    cases: Sequence[Sequence[Any]],
    keywords: Sequence[Mapping[str, Any]] | None,
    stop: bool,
) -> CallRequest:
    """Return a request to call a function, with all arguments encoded."""
    named = [{name: values.encode(value) for name, value in case.items()} for case in keywords or []]
    return CallRequest(function, [[values.encode(value) for value in case] for case in cases], named, stop)


def left(budget: SolutionBudget) -> BudgetLeft:
    """Return the remaining amounts of a budget."""
    ends_s = min(budget.ends - time.monotonic(), _FOREVER_S)
    return BudgetLeft(min(budget.cpu_s, _FOREVER_S), min(budget.failures_s, _FOREVER_S), ends_s)


def perform(sandbox: Sandbox, job: Job, asked: AnswersRequest) -> AnswersReply:
    """Run the requested calls or assertions on a job's program.

    Raises:
        ValueError: The arguments of a call cannot be decoded.
    """
    budget = SolutionBudget(
        asked.budget.cpu_s, asked.budget.failures_s, time.monotonic() + asked.budget.ends_s
    )
    answers: list[Answer] = []
    if (call := asked.call) is not None:
        cases = [[values.decode(value) for value in case] for case in call.cases]
        keywords = [{name: values.decode(value) for name, value in case.items()} for case in call.keywords]
        answers = sandbox.call(
            job.program,
            call.function,
            cases,
            job.limits,
            keywords=keywords or None,
            budget=budget,
            stop=call.stop,
        )
    elif (check := asked.check) is not None:
        answers = sandbox.check(
            job.program,
            check.setup,
            check.tests,
            job.limits,
            before=check.before,
            budget=budget,
            stop=check.stop,
            language=job.language,
        )
    return AnswersReply(answers, left(budget))
