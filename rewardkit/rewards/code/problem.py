"""What a problem's tests are: `Problem` and the kinds of test in it. Plain data; reading it is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewardkit.rewards.code.assertions import CallCase


class GroundTruthError(ValueError):
    """The ground truth cannot be used; the sample is `invalid`."""


@dataclass(frozen=True, slots=True)
class StdinTest:
    """The program reads `input` and has to print `output`."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Statements that must not raise, run apart from the program."""

    source: str
    before: str = ""
    """Statements that make what `source` needs; they run also when `source` itself is left out."""


Test = StdinTest | CallCase | AssertTest


@dataclass(frozen=True)
class Problem:
    """Everything needed to score a program."""

    tests: tuple[Test, ...]
    weights: tuple[float, ...] = ()
    setup: str = ""
    """Runs before the assertions, in their process."""
    prefix: str = ""
    """Stands before the program: HumanEval's prompt, whose completion may be the function's body alone."""
    language: str | None = None
    """What programs have to be written in, as the set names it. None: it does not say."""
    comparator: str | None = None
    checker: str | None = None
    """`path.py:function`, of the user's."""
    checker_program: str = ""
    """A program that decides, as open-r1's Codeforces publishes it."""
    limits: dict[str, float] = field(default_factory=dict)
    """`cpu_s`, `memory_mb` and `total_s` as meant for this very language; `time_limit`, seconds as a contest
    sets them for compiled ones."""
