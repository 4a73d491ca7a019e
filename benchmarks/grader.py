"""Right and wrong verdicts of the maths rewards: labelled cases beside other graders, attacks, mutations.

    python benchmarks/grader.py [--data ../shared/data] [--peer-python PYTHON]
                                [--only accuracy attacks mutations rewrites] [--seed 0]

`accuracy`: labelled cases, beside Math-Verify and verl where PYTHON has them, MATH's and AIME's own
solutions, and every ground truth in each form of answer. `attacks` (`math_attacks`): the known classes on
real questions. `mutations` (`math_mutations`): answers that are certainly wrong, made from ground truths;
`rewrites`: the reverse. Ends with 1 where a wrong answer is paid that no policy in docs/math.md names, or a
rewrite is not.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import math_attacks
import math_mutations
from math_common import SHARED, Row, held_out, ours, peers, read_jsonl

from rewardkit.rewards.math import MathOptions, compare, extract, score
from rewardkit.types import Sample

Verdicts = dict[str, list[bool]]
PARTS = ("accuracy", "attacks", "mutations", "rewrites")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=SHARED, help="folder with math_cases, math, gsm8k, aime24"
    )
    parser.add_argument("--peer-python", help="Python of an environment with math-verify and verl")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    paid = 0
    if "accuracy" in args.only:
        accuracy(args.data, args.peer_python)
    if "attacks" in args.only:
        paid += math_attacks.report(args.data, args.seed)
    if "mutations" in args.only:
        paid += math_mutations.report(args.data, args.seed)
    if "rewrites" in args.only:
        paid += math_mutations.report_rewrites(args.data, args.seed)
    sys.exit(int(paid > 0))


def accuracy(data: Path, peer_python: str | None) -> None:
    """Print how many labelled cases each grader gets right, and what ours says of ground truths."""
    rows = read_jsonl(data / "math_cases" / "cases.jsonl")
    for row in rows:
        row["response"] = row["pred"]
    verdicts: Verdicts = {"rewardkit": [v for v, _ in ours(rows, MathOptions())]}
    for graded in peers(peer_python, rows) if peer_python else ():
        for name, (verdict, _) in graded.items():
            verdicts.setdefault(name, []).append(verdict is True)
    core = [i for i, row in enumerate(rows) if not row["disputed"]]
    tuned = [i for i in core if not held_out(rows[i])]
    report("core", core, rows, verdicts)
    report("core, the two thirds that rules may be tuned on", tuned, rows, verdicts)
    report("core, the held-out third", [i for i in core if held_out(rows[i])], rows, verdicts)
    report("disputed", [i for i, row in enumerate(rows) if row["disputed"]], rows, verdicts)
    by_category(rows, verdicts)
    self_consistency(data)
    verbatim(data)


def report(title: str, chosen: list[int], rows: list[Row], verdicts: Verdicts) -> None:
    """Print the confusion table of some of the rows."""
    print(f"\n{title} rows: {len(chosen)}")
    print(f"{'grader':20} {'acc %':>7} {'TP':>5} {'TN':>5} {'FP':>4} {'FN':>4}")
    for name, graded in verdicts.items():
        counts: dict[tuple[bool, bool], int] = defaultdict(int)
        for i in chosen:
            counts[graded[i], rows[i]["expected"]] += 1
        right = counts[True, True] + counts[False, False]
        print(
            f"{name:20} {100 * right / len(chosen):7.2f} {counts[True, True]:5} {counts[False, False]:5} "
            f"{counts[True, False]:4} {counts[False, True]:4}"
        )


def by_category(rows: list[Row], verdicts: Verdicts) -> None:
    """Print accuracy on the core rows by category."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        if not row["disputed"]:
            groups[row["category"]].append(i)
    print(f"\n{'category':28} {'n':>4} " + " ".join(f"{name:>17}" for name in verdicts))
    for category, members in sorted(groups.items(), key=lambda g: -len(g[1])):
        cells = (
            f"{100 * sum(v[i] == rows[i]['expected'] for i in members) / len(members):17.1f}"
            for v in verdicts.values()
        )
        print(f"{category:28} {len(members):4} " + " ".join(cells))


def self_consistency(data: Path) -> None:
    """Score every reference solution against its own answer; list the exceptions."""
    solutions = read_jsonl(data / "math" / "test.jsonl")
    golds = [extract(r["solution"], MathOptions(methods=("boxed",))).answer or "" for r in solutions]
    wrong = [
        (i, gold)
        for i, (r, gold) in enumerate(zip(solutions, golds, strict=True))
        if score(Sample("math", r["solution"], gold)).score != 1.0 or not compare(gold, gold).equal
    ]
    print(f"\nMATH test: {len(solutions) - len(wrong)} of {len(solutions)} score 1.0; exceptions: {wrong}")
    problems = read_jsonl(data / "aime24" / "test.jsonl")
    wrong = [
        (r["id"], r["answer"])
        for r in problems
        if score(Sample("aime", r["solution"], str(r["answer"]))).score != 1.0
    ]
    print(
        f"AIME 2024: {len(problems) - len(wrong)} of {len(problems)} solutions score 1.0; exceptions: {wrong}"
    )


FORMS = ("\\boxed{{{0}}}", "<answer>{0}</answer>", "Answer: {0}", "#### {0}", "The answer is {0}")


def verbatim(data: Path) -> None:
    """Count the ground truths of MATH and GSM8K that are paid when repeated in each form of answer."""
    truths: dict[str, list[str]] = {"MATH test": [], "GSM8K": []}
    for row in read_jsonl(data / "math" / "test.jsonl"):
        truths["MATH test"].append(extract(row["solution"], MathOptions(methods=("boxed",))).answer or "")
    for name in ("train", "test"):
        rows = read_jsonl(data / "gsm8k" / f"{name}.jsonl")
        truths["GSM8K"] += [row["answer"].rpartition("####")[2].strip() for row in rows]
    for name, answers in truths.items():
        for form in FORMS:
            paid = sum(score(Sample("math", form.format(a), a)).score == 1.0 for a in answers)
            print(f"{name}, verbatim in {form.format('…')!r}: {paid} of {len(answers)}")


if __name__ == "__main__":
    main()
