"""Runs the other graders in their own environment: reads cases and writes verdicts as JSON lines.

Start it with the Python of an environment that has `math-verify` and verl's `utils/reward_score` files: the
benchmarks do so with `--peer-python`. verl is read file by file, so that it need not be importable as a
whole. Input lines have gold, response and kind; output lines have a verdict and CPU seconds for each grader.
Not part of rewardkit, and imports nothing of it.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path


def _verl(name):
    found = importlib.util.find_spec("verl")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(next(iter(found.submodule_search_locations))) / "utils" / "reward_score" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"verl_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _delimited(text):
    """Return bare LaTeX as answer-only graders expect it: in a box, unless it has its own delimiters."""
    return text if any(mark in text for mark in ("$", "\\boxed", "\\(", "\\[")) else f"\\boxed{{{text}}}"


def _as_response(case):
    return _delimited(case["response"]) if case["kind"] == "answer" else case["response"]


def _undelimited(gold):
    return gold.strip().removeprefix("$$").removesuffix("$$").strip("$")


def graders():
    """Return name -> function(case) -> bool."""
    found = {}
    if importlib.util.find_spec("math_verify"):
        from math_verify import parse, verify

        found["math_verify"] = lambda c: verify(parse(_delimited(c["gold"])), parse(_as_response(c)))
    reward, dapo = _verl("math_reward"), _verl("math_dapo")
    if reward:
        found["verl math_reward"] = lambda c: (
            reward.compute_score(_as_response(c), _undelimited(c["gold"])) == 1.0
        )
        found["verl math_dapo"] = lambda c: dapo.compute_score(_as_response(c), _undelimited(c["gold"]))[
            "acc"
        ]
    return found


def main():
    chosen = {k: v for k, v in graders().items() if len(sys.argv) < 2 or k in sys.argv[1:]}
    for line in sys.stdin:
        case = json.loads(line)
        row = {}
        for name, grade in chosen.items():
            start = time.process_time()
            try:
                verdict = bool(grade(case))
            except Exception as error:
                verdict = f"{type(error).__name__}"
            row[name] = [verdict, time.process_time() - start]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
