"""What a problem's tests are: `CodeProblem` and the kinds of test in it. Plain data; read elsewhere."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from dataclasses import dataclass, field

from rewardkit.rewards.code.assertions import CallCase

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_CHECKED = re.compile(r"\bcheck\(\s*(?:\w+\(\)\.)?(\w+)")
_IMPORTED = re.compile(r"^\s*from\s+solution\s+import\s+([\w, ]+)", re.M)
_LOOKED_AT = 20_000
_OTHERS = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"check"}
"""Names that tests call and programs do not define for them."""


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
class CodeProblem:
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

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """The names that tests call, of functions, methods and classes; a few of another's are no harm."""
        names: set[str] = set()
        for test in self.tests:
            if isinstance(test, CallCase):
                names.add(test.function.rpartition(".")[2])
            elif isinstance(test, AssertTest):
                source = f"{test.before}\n{test.source}"[:_LOOKED_AT]
                names.update(_CALLED.findall(source), _CHECKED.findall(source))
        for imported in _IMPORTED.findall(self.setup[:_LOOKED_AT]):
            names.update(re.findall(r"\w+", imported))
        return frozenset(names - _OTHERS)
