"""The size limits that keep every tier linear and every number small. Nothing else lives here.

A limit that is passed raises `TooLarge`, which no caller outside this package ever sees: it turns into the
verdict `undecided`, or into "not equal" where size alone proves that.
"""

from __future__ import annotations

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
MAX_STEPS = 20_000
"""Node evaluations in one comparison."""


class TooLarge(Exception):
    """A guard stopped the work."""


class Unparsable(Exception):
    """The text is not in our grammar; the message says where it stopped."""
