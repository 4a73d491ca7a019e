"""Size limits that keep every tier linear and every number small.

Exceeding a limit raises `TooLarge`, which never leaves this package: it becomes the verdict `undecided`, or
"not equal" if size alone proves that.
"""

from __future__ import annotations

import threading

MAX_ANSWER_CHARS = 4_000
"""Maximum length of a parsed answer, in characters. Longer answers are only compared as strings."""
MAX_TOKENS = 1_500
MAX_DEPTH = 64
MAX_DIGITS = 1_500
"""Maximum number of digits of a literal."""
MAX_BITS = 1 << 15
"""Maximum number of bits of an exact integer."""
MAX_LOG2 = 1 << 40
"""Largest binary exponent of an approximate value; larger numbers are only compared by structure."""
MAX_TERMS = 512
"""Maximum number of terms of an expanded sum or product, and of items of a list."""
MAX_STEPS = 40_000
"""Maximum cost of one answer with all its parts and readings, in steps of about a microsecond."""

SYMPY_CPU_S = 2.0
"""CPU time of SymPy for one answer with all its parts, in seconds."""


class AnswerBudget:
    """Remaining budget of one answer, for all parts and alternatives with which it is compared."""

    def __init__(self, cpu_s: float) -> None:
        self.cpu_s = cpu_s
        """CPU time of SymPy, in seconds."""
        self.steps = MAX_STEPS


class _Local(threading.local):
    budget: AnswerBudget | None = None


_LOCAL = _Local()


class budget:
    """Context manager that opens a budget in this thread; inside another one, it uses the outer budget.

    Named like a function. A generator would take as long as comparing a short answer.
    """

    def __init__(self, cpu_s: float | None = None) -> None:
        """Set SymPy's CPU time in seconds; 0: SymPy is not asked."""
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
    """Count work towards the budget that is open in this thread, if there is one.

    Raises:
        Exhausted: the budget is used up.
    """
    budget = _LOCAL.budget
    if budget is not None:
        budget.steps -= steps
        if budget.steps < 0:
            raise Exhausted(f"more than {MAX_STEPS} steps")


class Exhausted(Exception):
    """Raised if the budget is used up. It ends the comparison: no rule may catch it and continue."""


class TooLarge(Exception):
    """Raised if a guard stopped the work."""


class Unparsable(Exception):
    """Raised for a text outside of our grammar; the message gives the position."""
