"""Scores per CPU second and core of the rewards on text alone, called as the workers call them.

python benchmarks/rewards_speed.py
"""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

from rewardkit.composition import compose
from rewardkit.registry import REGISTRY
from rewardkit.scoring.runner import RewardRunner
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

REASONING = (
    "The question asks for the capital of France. I know that it lies on the Seine, and has for long.\n"
)
CHOICES = {"choices": ["Lyon", "Paris", "Nice", "Lille"]}
IFEVAL = {
    "instruction_id_list": ["keywords:existence", "punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{"keywords": ["capital"]}, {}, {"num_words": 5, "relation": "at least"}],
}
CASES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("choice", REASONING + "The answer is (B).", "B", CHOICES),
    ("choice", "B", "B", {}),
    ("exact", "Paris", "Paris", {}),
    ("regex", "abc-123", r"[a-z]+-\d+", {}),
    ("contains", REASONING + "It is Paris.", "Paris", {}),
    ("qa", REASONING + "<answer>Paris</answer>", '{"target": ["Paris"]}', {}),
    ("instructions", REASONING * 3, json.dumps(IFEVAL), {}),
)


def rate(name: str, samples: list[Sample]) -> float:
    """Return scores per CPU second, the best of five rounds."""
    reward = REGISTRY.by_name(name)
    assert reward is not None
    runner = RewardRunner(reward, reward.make_options({}))
    runner.run(samples[:100])
    seconds = []
    for _ in range(5):
        before = process_time()
        runner.run(samples)
        seconds.append(process_time() - before)
    return len(samples) / min(seconds)


RESPONSES = Path(__file__).parent.parent / "tests" / "data" / "responses"


def whole(name: str) -> list[Sample]:
    """Return whole responses in the forms that models write, up to 10,000 characters long."""
    rows = [
        json.loads(line) for line in (RESPONSES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [Sample(name, r["response"], r["ground_truth"], r["prompt"], r["extra_info"]) for r in rows] * 20


def member_cost() -> float:
    """Return the microseconds that a member of a composition costs in addition to the member itself."""
    compose("speed_mix", {"sum": ["exact"] * 8}, ["speed_mix"])
    sample = [Sample("speed_mix", "Paris", "Paris")] * 5_000
    assert Scorer
    one, eight = rate("exact", sample), rate("speed_mix", sample)
    return (1e6 / eight - 8e6 / one) / 8


def main() -> None:
    for name, response, truth, info in CASES:
        samples = [Sample(name, response + " " * (i % 3), truth, None, info) for i in range(5_000)]
        found = rate(name, samples)
        print(f"{name:14} {len(response):4} characters  {found:10,.0f}/s")
    for name in ("gsm8k", "choice", "qa", "math"):
        print(f"{name:14} whole responses  {rate(name, whole(name)):10,.0f}/s")
    print(f"composition: {member_cost():.1f} µs a member beyond the member itself")


if __name__ == "__main__":
    main()
