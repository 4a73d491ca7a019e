"""The results of calls and assertions, read from what their processes wrote; and limits for all together."""

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
    """The result as the program's process encoded it: one line, hostile, for `values.loads`."""
    error: str | None = None
    """One line on what it raised, or why there is no answer."""
    cpu_s: float = 0.0
    """Of the run in which it was the last; that of the others is not known apart."""
    unusable: str | None = None
    """Why an assertion cannot be run at all, whatever the program."""


@dataclass
class SolutionBudget:
    """What all runs of one solution may use together."""

    cpu_s: float = float("inf")
    failures_s: float = float("inf")
    """For those that fail: a program that loops in each test is to end before all of them have looped."""
    ends: float = float("inf")
    """On `time.monotonic()`: nothing is to run longer."""

    def spend(self, outcome: Outcome, *, failed: bool = False) -> None:
        """Count a run; what it slept away counts like work."""
        spent_s = outcome.wall_s if outcome.status == "idle_timeout" else outcome.cpu_s
        self.cpu_s -= spent_s
        if failed:
            self.failures_s -= spent_s

    def within(self, limits: Limits) -> Limits:
        """Return `limits` cut to what is left."""
        wall_s = max(min(limits.wall, self.ends - time.monotonic()), 0.01)
        return replace(limits, cpu_s=max(min(limits.cpu_s, self.cpu_s), 0.01), wall_s=wall_s)

    @property
    def is_spent(self) -> bool:
        """True when nothing more may run."""
        return min(self.cpu_s, self.failures_s) <= 0 or time.monotonic() >= self.ends


def read_answer(line: bytes) -> Answer:
    """Return what one line of the program's process says of a call. It is hostile."""
    if line.startswith(b'{"error":'):
        try:
            return Answer("runtime_error", error=str(json.loads(line)["error"])[:300])
        except (ValueError, KeyError, TypeError, RecursionError):
            return Answer("runtime_error", error="the program's error cannot be read")
    return Answer("ok", line)


def read_verdict(line: bytes) -> Answer:
    """Return what one line of the tests' process says of an assertion."""
    try:
        said = json.loads(line)  # written by the checker, which is ours, but may have been killed in it
    except ValueError:
        return Answer("runtime_error", error="the program ended the tests before they finished")
    if said["passed"]:
        return Answer("ok")
    return Answer("runtime_error", error=said.get("error"), unusable=said.get("unusable"))


def no_answer(outcome: Outcome) -> Answer:
    """Return the answer of a call whose run ended without one."""
    status: OutcomeStatus = "runtime_error" if outcome.status == "ok" else outcome.status
    return Answer(status, error=explain(outcome), cpu_s=outcome.cpu_s)


def explain(outcome: Outcome) -> str:
    """Say in one line how a run ended."""
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
