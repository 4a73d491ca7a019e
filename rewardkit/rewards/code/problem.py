"""Defines `CodeProblem` and the kinds of tests that it may contain, as plain data."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from dataclasses import dataclass, field

from rewardkit.rewards.code.assertions import CallCase
from rewardkit.sandbox.languages import PYTHON

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_CHECKED = re.compile(r"\bcheck\(\s*(?:\w+\(\)\.)?(\w+)")
_DECLARED = re.compile(r"(\w+)\s*[=(]")
_IMPORTED = re.compile(r"^\s*from\s+solution\s+import\s+([\w, ]+)", re.M)
_LOOKED_AT = 20_000
_OTHERS = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"check"}
"""Names that tests may call although programs do not have to define them."""


class GroundTruthError(ValueError):
    """Raised if the ground truth cannot be used. The sample is then `invalid`."""


@dataclass(frozen=True, slots=True)
class StdinTest:
    """A test in which the program reads `input` and must print `output`."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Statements that must not raise an exception. They run in a separate process from the program."""

    source: str
    before: str = ""
    """Statements that `source` depends on. They run even if `source` itself is skipped."""


Test = StdinTest | CallCase | AssertTest


@dataclass(frozen=True)
class CodeProblem:
    """All data needed to score a program."""

    tests: tuple[Test, ...]
    weights: tuple[float, ...] = ()
    setup: str = ""
    """Code that runs before the assertions, in the same process."""
    prefix: str = ""
    """Code to put before the program, such as HumanEval's prompt, which a response may complete with only a
    body."""
    language: str | None = None
    """Required language of programs, as named by the dataset, or None if the dataset names no language."""
    comparator: str | None = None
    checker: str | None = None
    """The user's checker, written as `path.py:function`."""
    checker_program: str = ""
    """Source of a checker program, as published in open-r1's Codeforces dataset."""
    limits: dict[str, float] = field(default_factory=dict)
    """Limits by name. `cpu_s`, `memory_mb` and `total_s` are meant for the program's own language.
    `time_limit`, in seconds, is a contest's limit, which is meant for compiled languages."""

    @property
    def is_apart(self) -> bool:
        """Return True if the tests are in the program's own language instead of Python (`apart.py`)."""
        return self.language not in (None, PYTHON) and isinstance(self.tests[0], AssertTest)

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """Return the functions, methods and classes that tests call, and possibly a few other names."""
        if self.is_apart:
            return frozenset(_DECLARED.findall(self.setup.rstrip().rpartition("\n")[2]))
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
