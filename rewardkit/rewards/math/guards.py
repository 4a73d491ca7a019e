"""Size limits that bound the cost of every tier and the size of every number.

A value that exceeds a limit raises `TooLarge`. The exception never leaves this package. It becomes the
verdict `undecided`, or "not equal" if the size alone proves a difference.
"""

from __future__ import annotations

import threading

MAX_ANSWER_CHARS = 4_000
"""Maximum length of a parsed answer, in characters. Longer answers are compared only as strings."""
MAX_TOKENS = 1_500
MAX_DEPTH = 64
MAX_DIGITS = 1_500
"""Maximum number of digits in a literal."""
MAX_BITS = 1 << 15
"""Maximum number of bits in an exact integer."""
MAX_LOG2 = 1 << 40
"""Largest binary exponent of an approximate value. Larger numbers are not evaluated."""
MAX_TERMS = 512
"""Maximum number of terms in an expanded sum or product, and of items in a list."""
MAX_STEPS = 40_000
"""Maximum cost of comparing one answer with all its parts and interpretations, in steps of about a
microsecond."""

SYMPY_CPU_S = 2.0
"""CPU time that SymPy may use for one answer with all its parts, in seconds."""


class AnswerBudget:
    """Remaining budget for one answer, shared by its parts and by the comparisons with all ground truths."""

    def __init__(self, cpu_s: float) -> None:
        self.cpu_s = cpu_s
        """Remaining CPU time for SymPy, in seconds."""
        self.steps = MAX_STEPS


class _Local(threading.local):
    budget: AnswerBudget | None = None


_LOCAL = _Local()


class budget:
    """Context manager that opens a budget in this thread, or uses the budget of an enclosing block.

    `budget` is a class because a generator-based context manager would cost as much as comparing a short
    answer.
    """

    def __init__(self, cpu_s: float | None = None) -> None:
        """Create a budget with this CPU time for SymPy in seconds. With 0, SymPy is not used."""
        self._cpu_s = SYMPY_CPU_S if cpu_s is None else cpu_s

    def __enter__(self) -> AnswerBudget:
        self._outer = _LOCAL.budget
        if self._outer is not None:
            return self._outer
        _LOCAL.budget = AnswerBudget(self._cpu_s)
        return _LOCAL.budget

    def __exit__(self, *error: object) -> None:
        _LOCAL.budget = self._outer


def spend(steps: int) -> None:
    """Deduct steps from the budget that is open in this thread, if any.

    Raises:
        Exhausted: The budget is used up.
    """
    budget = _LOCAL.budget
    if budget is not None:
        budget.steps -= steps
        if budget.steps < 0:
            raise Exhausted(f"more than {MAX_STEPS} steps")


class Exhausted(Exception):
    """Raised if the budget is used up. No rule may catch this exception and continue the comparison."""


class TooLarge(Exception):
    """Raised if a value or list exceeds a size limit."""


class Unparsable(Exception):
    """Raised for a text that the grammar does not cover. The message gives the position."""
