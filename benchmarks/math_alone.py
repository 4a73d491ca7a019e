"""Compares `verify(parse(gold), parse(answer))` of rewardkit.math and of Math-Verify on labelled cases.

    python benchmarks/math_alone.py --cases ../shared/data/math_cases/cases.jsonl [--peer-python PYTHON]

`--peer-python` is the Python of an environment with math-verify, which gets bare answers in a box, because it
finds no others.
"""

import argparse
import importlib
import json
import subprocess
import sys
import time

MARKS = ("$", "\\boxed", "\\(", "\\[")


def measure(package: str, cases: str) -> None:
    """Print the figures of one package."""
    found = importlib.import_module(package)
    right = accepted = rejected = total = 0
    began = time.process_time()
    with open(cases, encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if case.get("disputed"):
                continue
            gold, answer = case["gold"], case["pred"]
            if package == "math_verify":
                gold = _boxed(gold)
                answer = _boxed(answer) if case["kind"] == "answer" else answer
            equal = found.verify(found.parse(gold), found.parse(answer))
            total += 1
            right += equal == case["expected"]
            accepted += equal and not case["expected"]
            rejected += case["expected"] and not equal
    spent = time.process_time() - began
    print(f"{package}: {right} of {total} right, {accepted} accepted, {rejected} rejected, {spent:.1f} s")


def _boxed(text: str) -> str:
    return text if any(mark in text for mark in MARKS) else f"\\boxed{{{text}}}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--peer-python")
    parser.add_argument("--package", default="rewardkit.math")
    asked = parser.parse_args()
    measure(asked.package, asked.cases)
    if asked.peer_python:
        words = ["--cases", asked.cases, "--package", "math_verify"]
        subprocess.run([asked.peer_python, sys.argv[0], *words], check=True)
