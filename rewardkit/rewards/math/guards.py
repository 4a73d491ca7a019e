"""The size limits that keep every tier linear and every number small. Nothing else lives here.

A limit that is passed raises `TooLarge`, which no caller outside this package ever sees: it turns into the
verdict `undecided`, or into "not equal" where size alone proves that.
"""

from __future__ import annotations

import threading

MAX_ANSWER_CHARS = 4_000
"""Longer candidates are only compared as strings."""
MAX_TOKENS = 1_500
MAX_DEPTH = 64
MAX_DIGITS = 1_500
"""Digits of one literal."""
MAX_BITS = 1 << 15
"""Bits of an exact integer that is materialised."""
MAX_LOG2 = 1 << 40
"""Largest binary exponent of an approximate value: beyond it a number is only compared by structure."""
MAX_TERMS = 512
"""Terms of a sum or product that is written out, and items of a list."""
MAX_STEPS = 40_000
"""What one answer may cost, all its parts and readings together, in steps of about a microsecond."""

SYMPY_CPU_S = 2.0
"""Seconds of processor time that SymPy may take for one answer, all its parts together."""


class AnswerBudget:
    """What one answer may still cost, however many parts and alternatives it is compared with."""

    def __init__(self, cpu_s: float) -> None:
        self.cpu_s = cpu_s
        """Seconds of SymPy's processor time."""
        self.steps = MAX_STEPS


class _Local(threading.local):
    budget: AnswerBudget | None = None


_LOCAL = _Local()


class budget:
    """Give what is done inside, in this thread, one budget; inside another one, that one goes on.

    Used like a function; as a generator it would take as long as comparing a short answer does.
    """

    def __init__(self, cpu_s: float | None = None) -> None:
        """`cpu_s` is SymPy's processor time; 0: it is not asked."""
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
    """Count work towards the budget that is open in this thread, if one is.

    Raises:
        Exhausted: it is used up.
    """
    budget = _LOCAL.budget
    if budget is not None:
        budget.steps -= steps
        if budget.steps < 0:
            raise Exhausted(f"more than {MAX_STEPS} steps")


class Exhausted(Exception):
    """The budget is used up. Nothing but the end of the comparison follows: no rule may go on without."""


class TooLarge(Exception):
    """A guard stopped the work."""


class Unparsable(Exception):
    """The text is not in our grammar; the message says where it stopped."""
