"""Right programs and their mutants in the forms of four sets: every right one has to pass, no mutant may.

    python benchmarks/code_forms.py [--mutants 4]

The problems, forms and mutants are those of tests/rewards/code/problems.py: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from rewardkit.rewards.code.reward import CodeOptions, score
from rewardkit.types import Sample
from tests.rewards.code.problems import PROBLEMS, forms, function, mutants


def main() -> None:
    """Print one line for each form, and every program that is scored wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=4, help="of each problem, at most")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for problem in PROBLEMS:
        changed = list(mutants(problem, arguments.mutants))
        for form, (truth, write) in forms(problem).items():
            count = counts.setdefault(form, Counter())
            for kind, source in [("right", function(problem)), *(("mutant", m) for m in changed)]:
                found = score(
                    Sample("code", f"```python\n{write(source)}\n```", json.dumps(truth)), CodeOptions()
                )
                count[kind] += 1
                good = found.status == "ok" and found.score == float(kind == "right")
                count[f"{kind} ok"] += good
                if not good:
                    print(form, problem[0], kind, found.status, found.score, found.detail)
    for form, count in counts.items():
        print(
            f"{form:26} right programs that pass {count['right ok']}/{count['right']}, "
            f"mutants that fail {count['mutant ok']}/{count['mutant']}"
        )


if __name__ == "__main__":
    main()
