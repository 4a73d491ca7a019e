"""Rewards from source texts, and rows to audit them with."""

from __future__ import annotations

import json
import random
from pathlib import Path

from rewardkit.audit import Hole, SourceAudit
from rewardkit.audit.answers import AuditRow, row_of
from rewardkit.audit.audit_file import audit_rows
from rewardkit.checks.items import Item
from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.scorer import Scorer
from rewardkit.user_files import import_python_file
from tests.docs.pages import ROOT

_GSM8K = [
    json.loads(line)
    for name in ("test", "train")
    for line in (ROOT / f"tests/data/gsm8k/{name}.jsonl").read_text().splitlines()
]


def gsm8k_rows(seed: int = 0, source: str = "my/set") -> list[AuditRow]:
    """Rows of GSM8K with worked solutions, in random order."""
    rows = []
    for number, row in enumerate(_GSM8K):
        truth = row["answer"].rpartition("####")[2].strip().replace(",", "")
        prompt = [{"role": "user", "content": row["question"]}]
        rows.append(row_of(Item(number, source, prompt, truth, {"answer": row["answer"]})))
    random.Random(seed).shuffle(rows)
    return rows


def choice_rows(seed: int = 0) -> list[AuditRow]:
    """Rows with one of four letters as ground truth, whose prompts ask for tags."""
    rng = random.Random(seed)
    asked = "Which of A, B, C and D is number {}? Give the letter in <answer> tags."
    return [row_of(Item(i, "my/set", asked.format(i), rng.choice("ABCD"), {})) for i in range(120)]


def reward_of(source: str, folder: Path, runs: str = "inline") -> Reward:
    """Return the function `score` of a source text as a reward for all data sources."""
    file = folder / f"reward_{len(list(folder.glob('reward_*.py')))}.py"
    file.write_text(source)
    running = Running(runs)  # type: ignore[arg-type]
    return Reward("score", 1, import_python_file(file).score, ("*",), running=running)


def audited(
    reward: Reward, rows: list[AuditRow] | None = None, seconds: float = 60, seed: int = 0
) -> SourceAudit:
    """Audit a reward with rows, by default those of GSM8K."""
    registry = Registry()
    registry.use_for_all(reward)
    with Scorer(registry=registry, workers=1) as scorer:
        return audit_rows(rows or gsm8k_rows(seed), scorer, seconds, seed=seed)


def hole(audit: SourceAudit, layer: str) -> Hole:
    """Return the hole that a layer found."""
    return next(one for one in audit.holes if one.layer == layer)
