"""False positives and false negatives of `choice` and `qa` on responses from templates, 2,000 of each set; of
the blind sets, whose templates are by somebody who never saw the rules, 1,000 of each.

python benchmarks/templates.py
python benchmarks/templates.py --blind a --show
python benchmarks/templates.py --changed
"""

from __future__ import annotations

import argparse
from importlib import import_module

from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample
from tests.rewards.templates import blind, changed
from tests.rewards.templates.responses import Case

SETS = {
    "choice": (
        "choice",
        "choice_fresh",
        *(f"choice_held_out{n}" for n in ("", "_2", "_3", "_4", "_5", "_6", "_7", "_8", "_9", "_10")),
        "choice_combined",
    ),
    "qa": ("qa", "qa_held_out", "qa_held_out_2", "qa_held_out_3", "qa_held_out_4", "qa_held_out_5"),
}


OPTIONS = {"choice": ChoiceOptions(), "qa": QaOptions()}

BLIND = "abcdefghijklmnopqrstuvwxyz23456789"
"""`0` and `1` have not been opened: they are for a later measure."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blind", help="measure these blind sets alone, such as `a`")
    parser.add_argument("--show", action="store_true", help="print what is misread, one of each template")
    parser.add_argument("--seed", type=int, help="of the blind sets: other questions, the same templates")
    parser.add_argument(
        "--changed", action="store_true", help="measure right responses of the blind sets, changed"
    )
    asked = parser.parse_args()
    if asked.changed:
        for name in SETS:
            _measure_changed(name, asked.blind or BLIND, asked.seed)
        return
    for name, sets in SETS.items():
        for templates in () if asked.blind else sets:
            generate = import_module(f"tests.rewards.templates.{templates}").generate
            _measure(name, templates, list(generate()), asked.show)
        for letter in asked.blind or BLIND:
            cases = list(getattr(blind, name)(letter, seed=asked.seed))
            _measure(name, f"{name} blind {letter}", cases, asked.show)


def _measure(name: str, title: str, cases: list[Case], show: bool) -> None:
    reward = import_module(f"rewardkit.rewards.{name}")
    scores = [(case, reward.score(_sample(name, case), OPTIONS[name])) for case in cases]
    found = [(case, score) for case, score in scores if case.right != score.correct]
    wrong = sum(not case.right for case, _ in found)
    unlisted = sum(case.right and not case.listed for case, _ in found)
    of_them = f" ({unlisted} in wordings that the ground truth does not list)" if unlisted else ""
    print(
        f"{title:20} {len(cases):,} responses: {wrong} false positives, "
        f"{len(found) - wrong} false negatives{of_them}"
    )
    for case, score in {case.template: (case, score) for case, score in found}.values() if show else ():
        count = sum(other.template == case.template for other, _ in found)
        print(f"  {'missed' if case.right else 'PAID'} {count} x {case.template}: {case.response!r}")
        print(
            f"      {case.ground_truth} {case.extra_info or case.prompt}: {score.extracted!r}, {score.detail}"
        )


def _measure_changed(name: str, letters: str, seed: int | None) -> None:
    """Count what is paid of right responses that are paid, once something is added to them."""
    other = changed.other_choice if name == "choice" else changed.other_answer
    right = [case for letter in letters for case in changed.right(name, letter, seed) if _paid(name, case)]
    kept = [_paid(name, case) for one in right for _, case in changed.kept(one)]
    lost = [_paid(name, case) for one in right for _, case in changed.lost(one, other(one))]
    print(
        f"{name}: {sum(lost):,} of {len(lost):,} paid whose answer is taken back or denied, "
        f"{len(kept) - sum(kept):,} of {len(kept):,} unpaid that keep it"
    )


def _paid(name: str, case: Case) -> bool:
    reward = import_module(f"rewardkit.rewards.{name}")
    return bool(reward.score(_sample(name, case), OPTIONS[name]).correct)


def _sample(name: str, case: Case) -> Sample:
    return Sample(name, case.response, case.ground_truth, case.prompt, case.extra_info)


if __name__ == "__main__":
    main()
