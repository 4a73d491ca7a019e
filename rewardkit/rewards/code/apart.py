"""Reads tests in languages other than Python: HumanEval-X, HumanEvalPack, MultiPL-E, McEval and users' own.

Such a ground truth has a declaration, which ends with the header of the function that the program must
define, and the source of the tests. The sandbox runs the tests and the program in two processes.
"""

from __future__ import annotations

import re
from typing import Any

from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError
from rewardkit.sandbox.languages import PYTHON, find

_TASK_LANGUAGE = re.compile(r"([A-Za-z+#]+)/\d+")
"""Pattern for the task names of HumanEval-X and McEval, such as `CPP/0`."""


def apart_problem(ground_truth: dict[str, Any]) -> CodeProblem | None:
    """Return the problem in a ground truth whose tests are in a language other than Python, or None.

    Raises:
        GroundTruthError: The ground truth has such tests, but no declaration.
    """
    language = language_of(ground_truth)
    tests = ground_truth.get("test", ground_truth.get("tests"))
    if language in (None, PYTHON) or not isinstance(tests, str):
        return None
    declaration = declaration_of(ground_truth, str(language))
    if not declaration.strip():
        raise GroundTruthError(
            f"the tests are in {language}, but the ground truth has no 'declaration' or 'prompt' with the "
            "header of the function that they call"
        )
    return CodeProblem((AssertTest(tests),), setup=declaration, language=language)


def language_of(ground_truth: dict[str, Any]) -> str | None:
    """Return the language that a ground truth names in its own field or in the task's name, or None."""
    named = ground_truth.get("language")
    if named == "go_test.go":  # MultiPL-E uses this name.
        named = "go"
    if named is None and (found := _TASK_LANGUAGE.fullmatch(str(ground_truth.get("task_id", "")))):
        named = found[1]
    return find(named) if isinstance(named, str) else None


def declaration_of(ground_truth: dict[str, Any], language: str) -> str:
    """Return the imports, helper functions and header that precede a program.

    In HumanEval-X, Go's helper functions are only in the prompt, and those of other languages are only in the
    declaration.
    """
    parts = {
        name: str(ground_truth.get(name) or "") for name in ("declaration", "prompt", "import", "test_setup")
    }
    text = parts["declaration"] or parts["prompt"]
    if language == "go" and parts["test_setup"]:
        text = parts["prompt"] or text
    for name in ("import", "test_setup"):
        if parts[name].strip() not in text:
            text = f"{parts[name]}\n{text}"
    return text
