"""Compares our scores with verl's prime_code, on programs and problems with our own labels.

    PYTHONPATH=. python benchmarks/code_peer.py --verl FOLDER

FOLDER has verl unpacked; numpy is needed. The right programs are the solutions of
tests/rewards/code/problems.py, as functions and as programs, and the idioms of tests/rewards/code/idioms.py;
the wrong ones are mutants. A label is the result of plain CPython. prime_code runs programs without
isolation: all of these are ours.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from verl_rewards_alone import VERL_REWARDS_ALONE

from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.types import Sample
from tests.rewards.code.idioms import IDIOMS
from tests.rewards.code.problems import PROBLEMS, as_program, function, mutants, solve

PEER = (
    f"import sys; sys.path.insert(0, sys.argv[1]){VERL_REWARDS_ALONE}"
    + """
import json
from verl.utils.reward_score.prime_code import compute_score
program, tests = json.load(sys.stdin)
try:
    found = compute_score("```python\\n" + program + "\\n```", tests, continuous=True)[0]
except BaseException as error:
    found = type(error).__name__
print("\\nSCORE", json.dumps(found if isinstance(found, str) else float(found)))
"""
)


def pairs() -> list[tuple[str, str, dict[str, Any], bool]]:
    """Return the kind, the program, the tests, and whether the program is right."""
    found: list[tuple[str, str, dict[str, Any], bool]] = []
    for problem in PROBLEMS[::2]:
        name, _, _, cases = problem
        expected = [json.dumps(solve(function(problem), name, case)) for case in cases]
        tests = {"inputs": ["\n".join(map(json.dumps, case)) for case in cases], "outputs": expected}
        sources = [(function(problem), True), *((mutant, False) for mutant in mutants(problem, 1))]
        for source, is_right in sources:
            found.append((f"{name}, function", source, {**tests, "fn_name": name}, is_right))
            found.append((f"{name}, program", as_program(source, name), tests, is_right))
    for name, (given, program, wanted) in list(IDIOMS.items())[::3]:
        found.append((name, program, {"inputs": [given], "outputs": [wanted]}, True))
    return found


def peer(folder: str, program: str, tests: dict[str, Any]) -> Any:
    """Return prime_code's score, or its error, from a separate process, because some programs end it."""
    done = subprocess.run(
        [sys.executable, "-c", PEER, folder],
        input=json.dumps([program, tests]), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = [line[6:] for line in done.stdout.splitlines() if line.startswith("SCORE ")]
    return json.loads(said[-1]) if said else "died"


def main() -> None:
    """Print every disagreement with a label, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verl", required=True, help="a folder in which the package verl is unpacked")
    arguments = parser.parse_args()
    wrong = {"rewardkit": 0, "prime_code": 0}
    all_pairs = pairs()
    for name, program, tests, is_right in all_pairs:
        ours = score(
            Sample("code", f"```python\n{program}\n```", json.dumps(tests)), CodeOptions(prelude="always")
        )
        theirs = peer(arguments.verl, program, tests)
        for grader, value in (
            ("rewardkit", ours.score if ours.status == "ok" else ours.status),
            ("prime_code", theirs),
        ):
            if (value == 1.0) != is_right:
                wrong[grader] += 1
                print(f"{grader:10} {value!s:8} {'right' if is_right else 'wrong'}: {name}")
    for grader, count in wrong.items():
        print(f"{grader:10} disagrees with {count} of {len(all_pairs)} labels")


if __name__ == "__main__":
    main()
