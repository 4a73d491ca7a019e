"""Compares verl 0.9.1's `default_compute_score` with `compat=verl` on every data source that both know.

    python benchmarks/verl_rewards.py --peer PYTHON --verl FOLDER

PYTHON is an interpreter with mathruler (and sympy); FOLDER has verl's `verl/utils/reward_score`. 5,000
responses for each data source, made from random answers and forms. Prints every difference, and their number.
Data sources of programs are left out, because they run code.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from typing import Any

from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "openai/gsm8k": ("number", {"compat": "verl"}),
    "lighteval/MATH": ("math", {"compat": "verl_math_reward"}),
    "DigitalLearningGmbH/MATH-lighteval": ("math", {"compat": "verl_math_reward"}),
    "HuggingFaceH4/MATH-500": ("math", {"compat": "verl_math_reward"}),
    "math_dapo": ("math", {"compat": "math_dapo", "format_score": -1.0, "wrong_score": -1.0}),
    "math_dapo_reasoning": ("math", {"compat": "math_dapo", "format_score": -1.0, "wrong_score": -1.0}),
    "math": ("math", {"compat": "math_dapo"}),
    "aime24": ("math", {"compat": "math_dapo"}),
    "hiyouga/geometry3k": ("geometry", {"compat": "verl"}),
    "searchR1_nq": ("qa", {"compat": "verl"}),
    "searchR1_triviaqa": ("qa", {"compat": "verl"}),
    "searchR1_popqa": ("qa", {"compat": "verl"}),
    "searchR1_hotpotqa": ("qa", {"compat": "verl"}),
    "searchR1_2wikimultihopqa": ("qa", {"compat": "verl"}),
    "searchR1_musique": ("qa", {"compat": "verl"}),
    "searchR1_bamboogle": ("qa", {"compat": "verl"}),
}

NUMBERS = (
    "5",
    "-5",
    "72",
    "3.5",
    "35",
    "1,000",
    "1000",
    "0.5",
    "\\frac{1}{2}",
    "1/2",
    "12",
    "100",
    "0",
    "2.0",
    "007",
)
GEOMETRY = (
    *NUMBERS,
    *(
        "5^\\circ",
        "5 cm",
        "x=5",
        "50\\%",
        "50",
        "\\frac{3}{6}",
        "3\\sqrt{2}",
        "\\sqrt{18}",
        "2\\pi",
        "2 \\pi",
        "(5,6)",
    ),
    *(
        "5,6",
        "6,5",
        "\\text{Yes}",
        "yes",
        "1 1/2",
        "\\frac{3}{2}",
        "[1,2)",
        "None",
        "",
        "\\dfrac{1}{2}",
        "12 \\text{ cm}",
    ),
    *(
        "x+1",
        "1+x",
        "2x",
        "x \\cdot 2",
        "10\\sqrt{3}",
        "\\frac{\\sqrt{3}}{2}",
        "A",
        "b",
        "3 million",
        "45 degrees",
    ),
)
WORDS = (
    *(
        "Paris",
        "paris.",
        "The Paris",
        "-5",
        "5",
        "3.5",
        "35",
        "vitamin A",
        "vitamin",
        "U.S.",
        "us",
        "",
        "!",
        "?",
        "the",
    ),
    *(
        "São Paulo",
        "Sao Paulo",
        "“Paris”",
        "a cappella",
        "Barack Obama",
        "obama, barack",
        "New  York",
        "12 May 1999",
        "yes",
    ),
)
MACROS = (
    *("\\quad ", "\\,", "\\;", "~", "\\degree", "^{\\circ}", "\\text{ cm}", "\\mathrm{~cm}", "\\mbox{cm}"),
    *(
        "\\rm cm",
        "\\displaystyle ",
        "\\approx ",
        "\\pm ",
        "\\frac12",
        "\\frac 1 2",
        "\\sqrt[3]{8}",
        "\\sqrt2",
    ),
    *("\\angle A", "\\left(", "\\right)", " and ", " or ", "=", "!", "\\therefore ", "\\implies ", "|", "'"),
    *("\\color{red}", "\\mathbf{5}", "\\alpha", "\\theta", "\\le ", "\\infty", "\\%", "\\$", "\\\\", "_1"),
    *("_{1}", "^2", "^{2}", "\\sin 30", "\\overline{AB}"),
)
"""Text before or after an answer in three of ten responses to geometry."""
GEOMETRY_FORMS = (
    "<think>x</think> \\boxed{%s}",
    "\\boxed{%s}",
    " <think>x</think>\\boxed{%s}",
    "<think>x</think>%s",
    "<think>x\n</think>\n\\boxed{7} then \\boxed{%s}",
    "\\boxed{%s",
    "<think></think>\\boxed{ %s }.",
    "so %s",
)
QA_FORMS = (
    "<answer>%s</answer>",
    "<answer> %s\n</answer>",
    "%s",
    "<answer>Rome</answer> no <answer>%s</answer>",
    "<answer>%s",
    "<think>x</think><answer>%s</answer> bye",
    "<ANSWER>%s</ANSWER>",
    "</answer><answer>%s</answer>",
    "<answer>x <answer>%s</answer>",
    "<answer>%s</answer>" * 11,
)
NUMBER_FORMS = (
    "#### %s",
    "####%s",
    "#### $%s",
    "so #### %s.",
    "%s",
    "#### %s\n" + "x" * 290,
    "#### %s\n" + "x" * 310,
)
MATH_FORMS = (
    *(
        "\\boxed{%s}",
        "so $\\boxed{%s}$.",
        "Answer: %s",
        "**Answer:** %s",
        "answer : $%s$",
        "\\boxed{9} \\boxed{%s}",
        "%s",
    ),
    *("Answer: %s\n" + "x" * 320, "\\fbox{%s}", "\\boxed %s$ x", "Answer: \\boxed{%s}"),
)
KINDS = {
    "number": (NUMBERS, NUMBER_FORMS),
    "math": (GEOMETRY, MATH_FORMS),
    "geometry": (GEOMETRY, GEOMETRY_FORMS),
    "qa": (WORDS, QA_FORMS),
}

PEER = """
import contextlib, importlib.util, io, json, sys, types
folder = sys.argv[1]
sys.path.insert(0, folder)
for name in ("verl", "verl.utils", "verl.utils.reward_score"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [folder + "/" + name.replace(".", "/")]
import_utils = sys.modules["verl.utils.import_utils"] = types.ModuleType("verl.utils.import_utils")
import_utils.deprecated = lambda *a, **k: (lambda f: f)
spec = importlib.util.spec_from_file_location(
    "verl.utils.reward_score", folder + "/verl/utils/reward_score/__init__.py",
    submodule_search_locations=[folder + "/verl/utils/reward_score"])
module = importlib.util.module_from_spec(spec)
sys.modules["verl.utils.reward_score"] = module
spec.loader.exec_module(module)
scores = []
for source, response, truth in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()):
        found = module.default_compute_score(source, response, truth)
    scores.append(found["score"] if isinstance(found, dict) else found)
print(json.dumps(scores))
"""


def cases(source: str, kind: str, n: int, seed: int) -> list[tuple[str, Any]]:
    """Return `n` pairs of response and ground truth; half of the answers are the ground truth."""
    answers, forms = KINDS[kind]
    if kind == "math":  # an empty ground truth is `invalid` here for every rule
        answers = tuple(answer for answer in answers if answer)
    draw = random.Random(f"{source}{seed}")
    found: list[tuple[str, Any]] = []
    for _ in range(n):
        truth = draw.choice(answers)
        answer = truth if draw.random() < 0.5 else draw.choice(answers)
        if kind == "geometry" and draw.random() < 0.3:
            macro = draw.choice(MACROS)
            answer = draw.choice((answer + macro, macro + answer))
        form = draw.choice(forms)
        response = form.replace("%s", answer)
        if kind == "qa":
            targets = [truth, draw.choice(answers)] if draw.random() < 0.3 else truth
            found.append((response, {"target": targets}))
        else:
            found.append((response, truth))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--verl", required=True)
    parser.add_argument("-n", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    args = parser.parse_args()
    total = 0
    for source, (kind, options) in SOURCES.items():
        drawn = cases(source, kind, args.n, args.seed)
        rows = [(source, response, truth) for response, truth in drawn]
        answer = subprocess.run(
            [args.peer, "-c", PEER, args.verl], input=json.dumps(rows), capture_output=True, text=True
        )
        if answer.returncode:
            sys.exit(answer.stderr)
        theirs = json.loads(answer.stdout.splitlines()[-1])
        name = REGISTRY.resolve(source).name
        options = {k: v for k, v in options.items() if name == "math_dapo" or not k.endswith("_score")}
        samples = [Sample(source, r, t if isinstance(t, str) else json.dumps(t)) for r, t in drawn]
        with Scorer(options={source: options}, workers=1) as scorer:
            ours = scorer.score_batch(samples)
        different = Counter[str]()
        for (response, truth), we, they in zip(drawn, ours, theirs, strict=True):
            if we.status != "ok" or abs(we.score - they) > 1e-9:
                different[source] += 1
                if different[source] <= args.show:
                    shown = f"truth {truth!r} {response[:90]!r}"
                    print(f"  {shown}: ours {we.score} {we.status}, verl {they}")
        total += different[source]
        right = sum(they > 0.5 for they in theirs)
        print(f"{source:28} {args.n} responses, {right} right, {different[source]} differences", flush=True)
    print(f"{total} differences in all")


if __name__ == "__main__":
    main()
