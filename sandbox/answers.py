"""Parses the results of calls and assertions, and defines the budget that the runs of a solution share."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, replace

from rewardkit.sandbox.jail.channel import ENDED
from rewardkit.sandbox.outcome import Limits, Outcome, OutcomeStatus


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call or one assertion."""

    status: OutcomeStatus
    value: bytes = b""
    """Encoded result, as one line from the program's process for `values.loads`. The line may be hostile."""
    error: str | None = None
    """One line about the exception that was raised, or about why there is no result."""
    cpu_s: float = 0.0
    """CPU time of the whole run in seconds, if the run ended during this call. Otherwise it is 0, because the
    CPU time of a single call is not measured."""
    unusable: str | None = None
    """Reason why an assertion cannot be run at all, for any program."""


@dataclass
class SolutionBudget:
    """Limits shared by all runs of one solution."""

    cpu_s: float = float("inf")
    failures_s: float = float("inf")
    """CPU time left for failed runs, in seconds. This limit stops a program early if it loops in every
    test."""
    ends: float = float("inf")
    """Time, as reported by `time.monotonic()`, by which all runs must have ended."""

    def spend(self, outcome: Outcome, *, failed: bool = False) -> None:
        """Subtract a run's CPU time, or its elapsed time if it was stopped for idling.

        The deadline moves by the time that the run waited for its turn on the CPU.
        """
        self.ends += outcome.held_s
        spent_s = outcome.wall_s if outcome.status == "idle_timeout" else outcome.cpu_s
        self.cpu_s -= spent_s
        if failed:
            self.failures_s -= spent_s

    def within(self, limits: Limits) -> Limits:
        """Return `limits`, reduced to the remaining budget."""
        wall_s = max(min(limits.wall, self.ends - time.monotonic()), 0.01)
        return replace(limits, cpu_s=max(min(limits.cpu_s, self.cpu_s), 0.01), wall_s=wall_s)

    @property
    def is_spent(self) -> bool:
        """Return True if the budget allows no more runs."""
        return min(self.cpu_s, self.failures_s) <= 0 or time.monotonic() >= self.ends


def read_answer(line: bytes) -> Answer:
    """Return the result of a call, parsed from the possibly hostile line that the program's process wrote."""
    if line.startswith(b'{"error":'):
        try:
            return Answer("runtime_error", error=str(json.loads(line)["error"])[:300])
        except (ValueError, KeyError, TypeError, RecursionError):
            return Answer("runtime_error", error="the program's error cannot be read")
    return Answer("ok", line)


def read_verdict(line: bytes) -> Answer:
    """Return the result of an assertion, parsed from the line that the tests' process wrote."""
    try:
        said = json.loads(line)  # the checker may have been killed before it finished the line
    except ValueError:
        return Answer("runtime_error", error="the program ended the tests before they finished")
    if said["passed"]:
        return Answer("ok")
    return Answer("runtime_error", error=said.get("error"), unusable=said.get("unusable"))


def no_answer(outcome: Outcome) -> Answer:
    """Return the answer for a call whose run ended without a result."""
    status: OutcomeStatus = "runtime_error" if outcome.status == "ok" else outcome.status
    return Answer(status, error=explain(outcome), cpu_s=outcome.cpu_s)


def explain(outcome: Outcome) -> str:
    """Describe in one line how a run ended."""
    last = outcome.stderr[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    if outcome.status == "ok":
        return "the program ended without a result"
    if outcome.status == "runtime_error" and outcome.exit_code is not None and outcome.exit_code < 0:
        return f"killed by {_signal_name(-outcome.exit_code)}"
    if outcome.status == "runtime_error" and outcome.exit_code is None:
        return ENDED
    if outcome.status == "runtime_error":
        return last or f"exit status {outcome.exit_code}"
    if outcome.status == "compile_error":
        return f"the program does not compile: {outcome.detail}"
    if outcome.status in ("sandbox_error", "cancelled"):
        return outcome.detail or outcome.status
    return f"{outcome.status} after {outcome.cpu_s:.2f} s of CPU time, {outcome.wall_s:.2f} s in all"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
