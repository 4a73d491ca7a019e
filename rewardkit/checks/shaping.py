"""Check that the reward of a data source cannot score a wrong answer as high as a right one."""

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
    """Report compositions and options with which a wrong answer may score as high as a right one.

    Args:
        sources: Data sources, all of which must have a reward.
        scorer: Scorer with the rewards and options.
        findings: Collection to which findings are added.
    """
    for source in sorted(sources):
        for what in check(scorer.reward_for(source)):
            findings.add("warning", "shaping", source, what, key=what)
        what = _outweighed(scorer.options_for(source))
        if what:
            findings.add("warning", "shaping", source, what, key=what)


def _outweighed(options: Any) -> str:
    """Return a message about an option that scores a wrong answer as high as a right one, or ""."""
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    right = next((values[name] for name in _RIGHT if name in values), None)
    if right is None:
        return ""
    paid = [name for name in _OTHER if isinstance(values.get(name), int | float) and values[name] >= right]
    return f"{paid[0]}={values[paid[0]]:g} scores a wrong answer as high as a right answer" if paid else ""
