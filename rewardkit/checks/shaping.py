"""Checks whether the reward of a data source can pay a wrong answer as much as a right one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from rewardkit.checks.findings import Findings
from rewardkit.composition import check
from rewardkit.scoring.scorer import Scorer

_RIGHT = ("correct_score", "score")
_OTHER = ("format_score", "wrong_score", "neither_score", "valid_score")


def check_shaping(sources: Iterable[str], scorer: Scorer, findings: Findings) -> None:
    """Find compositions and options by which a wrong answer may be paid as much as a right one, or more.

    Args:
        sources: Data sources. Each must have a reward.
    """
    for source in sorted(sources):
        for what in check(scorer.reward_for(source)):
            findings.add("warning", "shaping", source, what, key=what)
        what = _outweighed(scorer.options_for(source))
        if what:
            findings.add("warning", "shaping", source, what, key=what)


def _outweighed(options: Any) -> str:
    """Return the option that pays anything else as much as the right answer; empty if there is none."""
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    right = next((values[name] for name in _RIGHT if name in values), None)
    if right is None:
        return ""
    paid = [name for name in _OTHER if isinstance(values.get(name), int | float) and values[name] >= right]
    return f"{paid[0]}={values[paid[0]]:g} scores a wrong answer as high as a right answer" if paid else ""
