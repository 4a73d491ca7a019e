"""Reads a ground truth into a `CodeProblem`, according to its keys, without running any code.

`forms.py` defines the published forms of tests.
"""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import Any

from rewardkit.rewards.code.apart import apart_problem
from rewardkit.rewards.code.forms import FORMS
from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError
from rewardkit.rewards.code.uncarried import uncarried


def read(text: str) -> CodeProblem:
    """Return the problem that a ground truth describes.

    Raises:
        GroundTruthError: The form is unknown or ambiguous, or the ground truth has no tests.
    """
    ground_truth = _object(text)
    # PrimeIntellect and open-r1 use this key. Its value may be JSON text.
    wrapped = ground_truth.get("verification_info")
    if wrapped is not None:
        ground_truth = _object(wrapped) if isinstance(wrapped, str) else wrapped
    if (problem := apart_problem(ground_truth)) is not None:
        return problem
    for key, form in FORMS.items():
        if key in ground_truth:
            try:
                problem = form(ground_truth)
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                why = f"{type(error).__name__}: {error}"
                raise GroundTruthError(f"'{key}' of the ground truth is malformed: {why}") from None
            if not problem.tests:
                raise GroundTruthError("the ground truth has no tests")
            _check_assertions(problem)
            return _with_language(problem, ground_truth.get("language"))
    keys = ", ".join(sorted(map(str, ground_truth))[:8]) or "none"
    known = ", ".join(FORMS)
    raise GroundTruthError(
        f"the ground truth has no test cases in a known format; expected one of the keys {known}, found "
        f"{keys}"
    )


def _check_assertions(problem: CodeProblem) -> None:
    """Reject tests that would need to share a process with the program, because even a right program would
    fail them."""
    asserted = [test for test in problem.tests if isinstance(test, AssertTest)]
    if not asserted:
        return
    source = "\n".join([problem.setup, *(f"{test.before}\n{test.source}" for test in asserted)])
    found = uncarried(source, pytest=asserted[0].source.startswith("__run_test__("))
    if found is not None:
        raise GroundTruthError(f"a test {found}; the program and the tests run in separate processes")


def _with_language(problem: CodeProblem, language: Any) -> CodeProblem:
    if language is not None and not isinstance(language, str):
        raise GroundTruthError(f"'language' is {language!r}; expected the name of a language")
    return replace(problem, language=language or None)


def _object(text: str) -> dict[str, Any]:
    try:
        ground_truth = json.loads(text)
    except (ValueError, RecursionError) as error:
        ground_truth = _not_json(text, str(error))
    if isinstance(ground_truth, list):
        form = "test_list" if all(isinstance(t, str) for t in ground_truth) else "tests"
        return {form: ground_truth}
    if not isinstance(ground_truth, dict):
        raise GroundTruthError(f"expected a JSON object with test cases, found {type(ground_truth).__name__}")
    return ground_truth


def _not_json(text: str, reason: str) -> Any:
    """Read a ground truth that is not JSON: Python tests or a Python literal."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise GroundTruthError(f"the ground truth is neither JSON nor Python: {reason[:120]}") from None
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        try:
            return ast.literal_eval(body[0].value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            pass
    if any(isinstance(node, ast.Assert | ast.FunctionDef | ast.ClassDef) for node in body):
        return {"test": text}
    raise GroundTruthError(
        f"the ground truth is neither JSON nor Python tests (assert, def, class): {reason[:120]}"
    )
