"""False positives and false negatives of `choice` and `qa` on responses from templates, 2,000 of each set.

python benchmarks/templates.py
"""

from __future__ import annotations

from importlib import import_module

from rewardkit.types import Sample

SETS = {
    "choice": (
        "choice",
        "choice_fresh",
        *(f"choice_held_out{n}" for n in ("", "_2", "_3", "_4", "_5", "_6", "_7", "_8", "_9", "_10")),
        "choice_combined",
    ),
    "qa": ("qa", "qa_held_out", "qa_held_out_2", "qa_held_out_3", "qa_held_out_4", "qa_held_out_5"),
}


def main() -> None:
    for name, sets in SETS.items():
        reward = import_module(f"rewardkit.rewards.{name}")
        for templates in sets:
            cases = list(import_module(f"tests.rewards.templates.{templates}").generate())
            paid = [
                (case.right, reward.score(_sample(name, case), reward.Options()).correct) for case in cases
            ]
            wrong, missed = paid.count((False, True)), paid.count((True, False))
            print(
                f"{templates:20} {len(cases):,} responses: {wrong} false positives, {missed} false negatives"
            )


def _sample(name: str, case: object) -> Sample:
    return Sample(name, case.response, case.ground_truth, None, case.extra_info)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
