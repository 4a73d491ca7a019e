r"""Runs untrusted, model-written code in isolation, with limits, and always cleans up.

This package does not depend on rewards.

    >>> from rewardkit.sandbox import Sandbox
    >>> with Sandbox() as sandbox:
    ...     sandbox.run("print(int(input()) + 1)", "41").stdout
    b'42\n'

`Sandbox` is for one thread, `Pool` for many callers, and `run` for a single program. `docs/sandbox.md`
describes the guarantees and limits of each level.
"""

from __future__ import annotations

from rewardkit.sandbox.answers import Answer, SolutionBudget
from rewardkit.sandbox.box import Sandbox
from rewardkit.sandbox.outcome import (
    DEFAULT_LIMITS,
    IsolationLevel,
    Limits,
    Outcome,
    OutcomeStatus,
    SandboxUnavailable,
)
from rewardkit.sandbox.pool import Pool, SandboxBusy, Ticket
from rewardkit.sandbox.worker import Job

__all__ = [
    "DEFAULT_LIMITS",
    "Answer",
    "IsolationLevel",
    "Job",
    "Limits",
    "Outcome",
    "OutcomeStatus",
    "Pool",
    "Sandbox",
    "SandboxBusy",
    "SandboxUnavailable",
    "SolutionBudget",
    "Ticket",
    "run",
]


def run(program: str | bytes, stdin: str | bytes = b"", limits: Limits = DEFAULT_LIMITS) -> Outcome:
    """Run one program in a new sandbox. To run several programs, reuse one `Sandbox` instead."""
    with Sandbox() as sandbox:
        return sandbox.run(program, stdin, limits)
