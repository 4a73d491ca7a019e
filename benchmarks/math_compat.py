"""Agreement of the compatibility presets with verl's own files, on the labelled cases and mutations of them.

    python benchmarks/math_compat.py --data ../shared/data --verl path/to/verl/utils/reward_score [--old 0.8]

verl's two graders are single files without dependencies, so they are read from the folder given.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import random
from pathlib import Path
from types import ModuleType

from math_common import SHARED, read_jsonl

_PIECES = (
    "\\boxed{", "\\boxed ", "\\fbox{", "}", "{", "$", "\\frac", "\\frac12", "\\sqrt", "\\sqrt3",
    "\\text{ cm}", "\\text{and}", "=", "k=", "/", "3/4", "-3/07", "0.5", ".5", " .", "{.", "\\%", "\\$",
    "^\\circ", "\\left", "\\right", "\\!", "\\\\", "tfrac", "dfrac", "Answer: ", "answer : ", "\n", " ",
    "an ", "a ", "1,000", "{,}", "\\text{", "\\overline{", "mbox", "\\dots", "square", "12", "x",
)  # fmt: skip


def load(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"peer_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pairs(data: Path, count: int) -> list[tuple[str, str]]:
    """Responses and golds: the cases as they stand, in a box, in an answer line, and mutated."""
    draw = random.Random(3)
    rows = read_jsonl(data / "math_cases" / "cases.jsonl")
    found = []
    for row in rows:
        gold, answer = row["gold"].strip("$"), row["pred"]
        found += [(answer, gold), (f"so \\boxed{{{answer}}}", gold), (f"Answer: {answer}", gold)]
    while len(found) < count:
        response, gold = draw.choice(found[: 3 * len(rows)])
        for _ in range(draw.randrange(1, 4)):
            place = draw.randrange(max(0, len(response) - 120), len(response) + 1)
            response = response[:place] + draw.choice(_PIECES) + response[place + draw.randrange(2) :]
        found.append((response, response[-20:] if draw.random() < 0.3 else gold))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with math_cases")
    parser.add_argument("--verl", type=Path, required=True, help="verl 0.9's utils/reward_score")
    parser.add_argument("--old", type=Path, help="verl 0.8's utils/reward_score")
    parser.add_argument("--count", type=int, default=30_000)
    arguments = parser.parse_args()
    cases = pairs(arguments.data, arguments.count)
    hendrycks = load(arguments.verl, "math_reward")
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every exception
        wrong = [c for c in cases if (hendrycks.compute_score(*c) == 1.0) != hendrycks.correct(c[0], c[1])]
    print(f"verl_math_reward: {len(cases) - len(wrong)} of {len(cases)} agree {wrong[:3]}")
    for name, folder in (("math_dapo", arguments.verl), ("math_dapo_0_8", arguments.old)):
        if folder is None:
            continue
        dapo = load(folder, "math_dapo")
        wrong = []
        for response, gold in cases:
            theirs = dapo.compute_score(response, gold)
            mine = dapo.reproduce(response, gold, box_fallback=name == "math_dapo")
            if (theirs["acc"], theirs["pred"]) != (mine.correct, mine.pred):
                wrong.append((response, gold))
        print(f"{name}: {len(cases) - len(wrong)} of {len(cases)} agree {wrong[:3]}")


if __name__ == "__main__":
    main()
