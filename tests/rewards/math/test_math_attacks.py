"""The known attack classes on real questions: a seeded few of what `benchmarks/grader.py` runs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from math_attacks import attacks, hunt, rows

from tests.conftest import needs


def test_no_attack_is_paid_but_what_the_docs_name_as_policy(reference_data: Path) -> None:
    needs(reference_data / "math" / "test.jsonl")
    made = rows(reference_data, 8, seed=7)
    assert sum(len(list(attacks(row))) for row in made) > 3_000
    for preset, paid in hunt(made).items():
        assert {attack for attack in paid if not attack.endswith("(policy)")} == set(), preset
