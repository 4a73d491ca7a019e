"""Learns how much CPU time the programs of this process usually need."""

from __future__ import annotations

from rewardkit.sandbox.jail.turns import QUANTUM_S

_WEIGHT = 0.1
"""Least weight of the newest program in the moving average."""

_LEAST_S = 0.001
"""Minimum CPU time in seconds that is assumed for a program."""

_MARGIN = 2.0
"""Factor between the usual time and the time for which a program need not give up its turn."""

_MOST_S = 0.1
"""Maximum CPU time in seconds for which a program need not give up its turn."""


class UsualTime:
    """CPU time that a program usually needs until it ends by itself.

    A program gives up its turn to programs that have used less CPU time. This is useful if it runs for long,
    but a waste if it was about to end. A program may therefore first run for about as long as others have
    needed.
    """

    def __init__(self) -> None:
        self._mean_s = _LEAST_S
        self._seen = 0

    def learn(self, cpu_s: float) -> None:
        """Add the CPU time of a program to the geometric mean, which a few long programs hardly raise."""
        self._seen += 1
        self._mean_s *= (max(cpu_s, _LEAST_S) / self._mean_s) ** max(_WEIGHT, 1 / self._seen)

    @property
    def allowance_s(self) -> float:
        """Return the CPU time of a program, in seconds, that is not counted when turns are given."""
        return max(min(_MARGIN * self._mean_s, _MOST_S) - QUANTUM_S, 0.0)
