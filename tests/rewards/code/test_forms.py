"""Each form of a set pays every right program and no mutant of it: a part here, all in benchmarks/code_forms.py."""

from __future__ import annotations

import pytest

from tests.rewards.code.conftest import Judge
from tests.rewards.code.problems import PROBLEMS, forms, function, mutants


@pytest.mark.parametrize("problem", [*PROBLEMS[::6]], ids=[p[0] for p in PROBLEMS[::6]])
def test_right_programs_pass_and_mutants_fail_in_every_form(problem: tuple, judge: Judge) -> None:  # type: ignore[type-arg]
    changed = list(mutants(problem, 2))
    for name, (truth, write) in forms(problem).items():
        right = judge(write(function(problem)), truth)
        assert right.score == 1.0, (name, right.detail)
        for mutant in changed:
            wrong = judge(write(mutant), truth)
            assert (wrong.status, wrong.score) == ("ok", 0.0), (name, mutant)
