"""Compares answer readers, ours and other projects', with the labels of real responses, in one run.

    python benchmarks/answers.py [--data ../shared/data/responses] [--before CHECKOUT] [--gsm8k CLONE] [--bbh
        CLONE] [--mmlu-pro CLONE] [--gaokao CLONE]

`--data` has rows with `response`, `ground_truth` and `label`. The clones are public repositories with models'
responses: openai/grade-school-math, suzgunmirac/BIG-Bench-Hard, TIGER-AI-Lab/MMLU-Pro and
OpenLMLab/GAOKAO-Bench. `--before` is another checkout of rewardkit, scored in a separate process.

Agreement is the share of labelled responses for which reader and label agree. Labels can be wrong (some
sources take the first letter they find): read both texts before calling a difference an error.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from math_common import ROOT, SHARED

from rewardkit.registry import REGISTRY
from rewardkit.rewards.gsm8k import verl_score
from rewardkit.rewards.qa.compat import verl_score as verl_qa
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample

Row = dict[str, Any]
Reader = Callable[[Row], bool]
NAMES = ("gsm8k", "choice", "math", "qa")


def ours(name: str, **options: Any) -> Reader:
    """Return a reward of this checkout as a reader."""
    reward = REGISTRY.by_name(name)
    assert reward is not None
    runner = RewardRunner(reward, reward.make_options(options))

    def right(row: Row) -> bool:
        sample = Sample(name, row["response"], truth_of(row), row.get("prompt"), row.get("extra_info") or {})
        return runner.run_one(sample).correct is True

    return right


def truth_of(row: Row) -> str:
    truth = row["ground_truth"]
    return truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)


# Other projects' readers, by their documented expressions.


def lm_eval_gsm8k(row: Row, flexible: bool) -> bool:
    """Read as lm-evaluation-harness's `gsm8k.yaml`: the first `####` (strict) or last number (flexible)."""
    if flexible:
        found = [a or b for a, b in re.findall(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", row["response"])][-1:]
    else:
        found = re.findall(r"#### (-?[0-9.,]+)", row["response"])[:1]
    cleaned = [re.sub(r",|\$|\.$", "", text) for text in found]
    return cleaned == [row["ground_truth"].replace(",", "")]


def mmlu_pro(row: Row) -> bool:
    """Read as TIGER-AI-Lab/MMLU-Pro, `evaluate_from_local.py`: three expressions, the last for any letter."""
    for pattern in (r"answer is \(?([A-J])\)?", r".*[aA]nswer:\s*([A-J])", r"\b([A-J])\b(?!.*\b[A-J]\b)"):
        if found := re.search(pattern, row["response"], re.DOTALL if "!" in pattern else 0):
            return found[1] == row["ground_truth"]
    return False


def lm_eval_choice(row: Row) -> bool:
    """Read as lm-evaluation-harness, `mmlu_pro`: the first letter after "answer is"."""
    found = re.search(r"answer is \(?([ABCDEFGHIJ])\)?", row["response"])
    return found is not None and found[1] == row["ground_truth"]


def readers(name: str) -> dict[str, Reader]:
    """Return the readers of one kind of response."""
    if name == "gsm8k":
        return {
            "strict": ours("gsm8k"),
            "flexible": ours("gsm8k", method="flexible"),
            "verl strict": lambda r: verl_score(r["response"], truth_of(r)) == 1.0,
            "verl flexible": lambda r: verl_score(r["response"], truth_of(r), method="flexible") == 1.0,
            "lm-eval strict": lambda r: lm_eval_gsm8k(r, False),
            "lm-eval flexible": lambda r: lm_eval_gsm8k(r, True),
        }
    if name == "choice":
        return {"choice": ours("choice"), "MMLU-Pro": mmlu_pro, "lm-eval": lm_eval_choice}
    if name == "qa":
        return {
            "em": ours("qa"),
            "contains": ours("qa", metric="contains"),
            "verl searchR1": lambda r: verl_qa(r["response"], json.dumps({"target": r["ground_truth"]}))[1],
        }
    found = {"math": ours("math"), "verl math_reward": ours("math", compat="verl_math_reward")}
    found["verl math_dapo"] = ours("math", compat="math_dapo")
    try:
        import math_verify  # noqa: F401
    except ImportError:
        return found
    return {**found, "Math-Verify": ours("math", compat="math_verify")}


# Public results, as rows.


def grade_school_math(clone: Path) -> Iterator[Row]:
    """Yield responses of OpenAI's four models; their last line `A: 18` is written as `#### 18`."""
    for line in (clone / "grade_school_math/data/example_model_solutions.jsonl").open(encoding="utf-8"):
        found = json.loads(line)
        truth = found["ground_truth"].rpartition("A:")[2].strip()
        for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
            solution = re.sub(r"(?m)^A: ?(?=[^\n]*\Z)", "#### ", found[model]["solution"])
            yield _row(found["question"], solution, truth, found[model]["is_correct"])


def bbh(clone: Path) -> Iterator[Row]:
    """Yield responses of Codex, with and without chains of thought, on tasks with a letter as answer."""
    for path in sorted(clone.glob("code-davinci-002-outputs/*/*template_0-255000.json")):
        for output in json.loads(path.read_text(encoding="utf-8"))["outputs"]:
            truth = output["target"].strip()
            if not re.fullmatch(r"\([A-Z]\)", truth):
                continue
            question = output["input"].rpartition("\nQ: ")[2].partition("\nA:")[0]
            said = re.findall(r"the answer is (\([A-Z]\))\.?\s*$", output["prediction"])
            label = (said or [output["prediction"].strip()])[-1] == truth
            choices = dict(re.findall(r"^\(([A-Z])\) ?(.*)$", question, re.MULTILINE))
            yield _row(question, output["prediction"], truth[1], label, choices)


def mmlu_pro_results(clone: Path) -> Iterator[Row]:
    """Yield every 80th response of each file of results, labelled by the source's own expressions."""
    for path in sorted(clone.glob("eval_results/*.zip")):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".json"))
            rows = json.loads(archive.read(name))
        for found in filter(lambda row: isinstance(row, dict), rows[::80]):
            response = found.get("generated_text") or found.get("model_outputs")
            if isinstance(response, str):
                label = found["pred"] == found["answer"] if found.get("pred") else None
                choices = dict(zip("ABCDEFGHIJ", found["options"], strict=False))
                yield _row(found["question"], response, found["answer"], label, choices)


def gaokao(clone: Path) -> Iterator[Row]:
    """Yield GPT-4's responses in Chinese, on questions with one right letter."""
    for path in sorted(clone.glob("Results/gpt_4_0314_obj/*.json")):
        for found in json.loads(path.read_text(encoding="utf-8"))["example"]:
            truth, said = found["standard_answer"], found.get("model_answer") or []
            if len(truth) == 1 and re.fullmatch("[A-D]", truth[0]):
                label = said[0] == truth[0] if len(said) == 1 else None
                yield _row(found["question"], found["model_output"], truth[0], label)


def _row(prompt: str, response: str, truth: str, label: bool | None, choices: Any = None) -> Row:
    info = {"choices": choices} if choices and truth in choices else {}
    return {"prompt": prompt, "response": response, "ground_truth": truth, "label": label, "extra_info": info}


PUBLIC = {
    "gsm8k": ("gsm8k", grade_school_math),
    "bbh": ("choice", bbh),
    "mmlu_pro": ("choice", mmlu_pro_results),
    "gaokao": ("choice", gaokao),
}


def read(folder: Path, name: str) -> list[Row]:
    """Return the labelled rows in a folder, or the project's own if there are none."""
    path = folder / f"{name}.jsonl"
    if path.is_file():
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    own = ROOT / "tests" / "data" / "responses" / f"{name}.jsonl"
    print(f"no {path}: {own} instead")
    rows = [json.loads(line) for line in own.read_text(encoding="utf-8").splitlines()]
    return [{**row, "label": row["correct"]} for row in rows]


# Figures.


def compare(title: str, name: str, rows: list[Row], before: Path | None) -> None:
    """Print agreement with the labels and microseconds per response for each reader."""
    labelled = [row for row in rows if row["label"] is not None]
    print(f"\n{title}: {len(rows)} responses, {len(labelled)} labelled")
    verdicts: dict[str, list[bool]] = {}
    for reader, right in readers(name).items():
        start = time.process_time()
        verdicts[reader] = [right(row) for row in rows]
        spent = (time.process_time() - start) / max(1, len(rows))
        print(f"  {reader:18} {_agreement(rows, verdicts[reader])}  {spent * 1e6:8.1f} µs")
    if before is not None:
        earlier = _scored_by(before, name, rows)
        first = next(iter(verdicts.values()))
        same = sum(a == b for a, b in zip(earlier, first, strict=True))
        print(f"  {'before':18} {_agreement(rows, earlier)}  {same} of {len(rows)} as now")


def _agreement(rows: list[Row], verdicts: list[bool]) -> str:
    found = Counter(
        (row["label"], verdict)
        for row, verdict in zip(rows, verdicts, strict=True)
        if row["label"] is not None
    )
    agree, total = found[True, True] + found[False, False], sum(found.values())
    against = f"{found[False, True]:5} paid and {found[True, False]:5} unpaid against the label"
    return f"{agree:6} of {total:6} agree, {against}"


_ALONE = """
import json, sys
sys.path.insert(0, ".")
from rewardkit.registry import REGISTRY
import rewardkit.rewards
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample
name, path = sys.argv[1:]
reward = REGISTRY.by_name(name)
runner = RewardRunner(reward, reward.make_options({}))
for line in open(path, encoding="utf-8"):
    row = json.loads(line)
    truth = row["ground_truth"]
    truth = truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)
    sample = Sample(name, row["response"], truth, row.get("prompt"), row.get("extra_info") or {})
    print(int(runner.run_one(sample).correct is True))
"""


def _scored_by(checkout: Path, name: str, rows: list[Row]) -> list[bool]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        command = [sys.executable, "-c", _ALONE, name, str(path)]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    return [line == "1" for line in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED / "responses")
    parser.add_argument("--before", type=Path, help="another check-out of rewardkit")
    for flag in PUBLIC:
        parser.add_argument(f"--{flag.replace('_', '-')}", type=Path, metavar="CLONE")
    arguments = parser.parse_args()
    for name in NAMES:
        rows = read(arguments.data, name)
        compare(name, name, rows, arguments.before)
        if name == "gsm8k":
            framed = [row for row in rows if "####" in row["response"]]
            compare("gsm8k with a #### line", name, framed, arguments.before)
    for flag, (name, rows_of) in PUBLIC.items():
        if (clone := getattr(arguments, flag)) is not None:
            compare(flag, name, list(rows_of(clone)), arguments.before)


if __name__ == "__main__":
    main()
