"""Counts right and wrong verdicts of maths graders: labelled pairs, suites, attacks, mutations.

    python benchmarks/grader.py [--data ../shared/data] [--only accuracy attacks mutations rewrites] [--grader
        math math:preset=strict math:compat=math_verify module:function] [--suite FOLDER ...] [--pairs 2000]
        [--seed 0]

`accuracy` prints one table for all graders, with separate false positives and false negatives: on labelled
cases, on the pairs of `math_pairs.jsonl` (breaks, parities, domains, far constants, units: cases that
sampling misses) with other numbers and letters, alone and within a formula, and on each folder of a public
suite (the tests of Math-Verify, KAS or Doenet's math-expressions). A grader is `math` with options (`compat=`
has Math-Verify and verl's) or a function of response and ground truth. Then it prints our verdicts on ground
truths. `attacks` (`math_attacks`): the known classes on real questions. `mutations` (`math_mutations`):
answers made from ground truths that are certainly wrong; `rewrites`: the reverse. Exits with 1 if one of our
verdicts is wrong and not a policy named in docs/math_policies.md.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import math_attacks
import math_mutations
from math_common import SHARED, Row, held_out, nested_pairs, own_pairs, read_jsonl, verdict

from rewardkit.rewards.math import MathOptions, compare, extract, score
from rewardkit.types import Sample

PARTS = ("accuracy", "attacks", "mutations", "rewrites")
_KAS = re.compile(r"""expect\("([^"]+)"\)(\.not)?\.toEqualExpr\(\s*"([^"]+)",?\s*\)""")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=SHARED, help="folder with math_cases, math, gsm8k, aime24"
    )
    parser.add_argument(
        "--grader", nargs="+", default=["math"], help="math[:option=value,...] or module:function"
    )
    parser.add_argument("--suite", nargs="+", type=Path, default=[], help="folders of public suites")
    parser.add_argument("--pairs", type=int, default=2_000, help="how many of our own labelled pairs")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    paid = 0
    if "accuracy" in args.only:
        rows = sets(args.data, args.suite, args.pairs, args.seed)
        accuracy({name: grader(name) for name in args.grader}, rows)
        self_consistency(args.data)
        verbatim(args.data)
    if "attacks" in args.only:
        paid += math_attacks.report(args.data, args.seed)
    if "mutations" in args.only:
        paid += math_mutations.report(args.data, args.seed)
    if "rewrites" in args.only:
        paid += math_mutations.report_rewrites(args.data, args.seed)
    sys.exit(int(paid > 0))


def grader(name: str) -> Callable[[Row], bool]:
    """Return the function that decides whether a row is right."""
    head, _, rest = name.partition(":")
    if head != "math":
        function = getattr(importlib.import_module(head), rest)
        return lambda row: _is_right(function(_as_response(row), row["gold"]))
    options = MathOptions(**dict(option.split("=") for option in rest.split(",") if option))
    if options.compat != "none":
        return lambda row: bool(score(Sample("math", _as_response(row), row["gold"]), options).correct)
    return lambda row: verdict(row, options)


def _is_right(found: Any) -> bool:
    value = found.get("acc", found.get("score")) if isinstance(found, dict) else found
    return float(value) > 0.5


def _as_response(row: Row) -> str:
    """Return a bare answer in the box that graders of responses need."""
    text: str = row["response"]
    bare = row["kind"] == "answer" and not any(mark in text for mark in ("$", "\\boxed", "\\(", "\\["))
    return f"\\boxed{{{text}}}" if bare else text


def sets(data: Path, suites: list[Path], count: int, seed: int) -> dict[str, list[Row]]:
    """Return labelled rows, by the name of their set."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in read_jsonl(data / "math_cases" / "cases.jsonl"):
        row = {**row, "response": row["pred"]}
        if row["disputed"]:
            found["cases, disputed"].append(row)
            continue
        found["cases"].append(row)
        found["cases, held-out third" if held_out(row) else "cases, two thirds"].append(row)
        found[f"cases: {row['category']}"].append(row)
    for row in own_pairs(count, seed):
        found[f"pairs: {row['class']}"].append(_row(row["gold"], row["answer"], row["equal"]))
    for row in nested_pairs(count, seed):
        found["pairs: within a formula"].append(_row(row["gold"], row["answer"], row["equal"]))
    for folder in suites:
        found[f"suite: {folder.name}"] = [row for path in sorted(folder.rglob("*")) for row in suite(path)]
    return found


def _row(gold: str, answer: str, expected: object) -> Row:
    return {"gold": gold, "response": answer, "expected": bool(expected), "kind": "answer"}


def suite(path: Path) -> Iterator[Row]:
    """Yield the labelled pairs in a file of a public suite's tests."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values = [getattr(e, "value", None) for e in node.elts] if isinstance(node, ast.Tuple) else []
            if [type(v) for v in values] in ([str, str, int], [str, str, bool]):
                row = _row(*values)
                yield {**row, "response": _as_response(row), "kind": "response"}
    elif path.suffix == ".ts":
        for answer, isnt, gold in _KAS.findall(path.read_text(encoding="utf-8")):
            yield _row(gold, answer, not isnt)
    elif path.name == "equality-corpus.json":
        for name, equal in (("equivalences", True), ("nonequivalences", False)):
            yield from (_row(*pair, equal) for pair in json.loads(path.read_text(encoding="utf-8"))[name])


def accuracy(graders: dict[str, Callable[[Row], bool]], rows: dict[str, list[Row]]) -> None:
    """Print how many rows of each set each grader gets right, and the kinds of errors."""
    print(f"{'set':32} {'n':>5} " + " ".join(f"{name[-24:]:>24}" for name in graders))
    print(f"{'':38} " + " ".join(f"{'right %':>12} {'FP':>5} {'FN':>5}" for _ in graders))
    known: dict[str, dict[int, bool]] = defaultdict(dict)
    for title, chosen in rows.items():
        cells = []
        for name, says in graders.items():
            wrong = [0, 0]
            for row in chosen:
                if id(row) not in known[name]:  # a row can be in several sets
                    known[name][id(row)] = says(row)
                paid = known[name][id(row)]
                wrong[row["expected"]] += paid != row["expected"]
            right = 100 * (1 - sum(wrong) / max(len(chosen), 1))
            cells.append(f"{right:12.2f} {wrong[0]:5} {wrong[1]:5}")
        print(f"{title:32} {len(chosen):5} " + " ".join(cells), flush=True)


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
    """Count the ground truths of MATH and GSM8K that are accepted when repeated in each form of answer."""
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
