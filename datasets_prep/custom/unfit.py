"""Published forms that a mapping of columns alone makes no rows of, and what to do with each instead."""

from __future__ import annotations

from collections.abc import Sequence

_PREFERENCES = (
    "'chosen' and 'rejected' are preferences, which train a reward model (TRL's RewardTrainer takes them as "
    "they are; rewardkit prep hh-rlhf makes HH-RLHF's files); no rule can score answers by them. For prompts "
    "that a reward model scores: --prompt-key {prompt} --answer-key chosen --reward exact here, and "
    "reward_model.enable=true in training, by which the model scores all rows (docs/reward_models.md)"
)
_COUNTDOWN = (
    "'nums' and 'target' are Countdown's, which hold no question and no answer; rewardkit prep reasoning_gym "
    "--task countdown draws such problems with a verifier, and a reward of your own (--reward in "
    "docs/own_reward.md) scores these once a column holds the question (--prompt-key) and the target is the "
    "ground truth (--answer-key target)"
)
_GENERATORS = (
    "these are CodeContests+ without tests: the default configuration holds programs that generate them. "
    "Take one with tests, --hub ByteDance-Seed/Code-Contests-Plus --config 1x (to 5x), and name its column "
    "of tests: --prompt-key description --answer-key COLUMN --reward code"
)
_FORMS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (frozenset(("chosen", "rejected")), frozenset(), _PREFERENCES),
    (frozenset(("nums", "target")), frozenset(("question", "problem", "prompt")), _COUNTDOWN),
    (frozenset(("generator", "validator")), frozenset(("test_cases",)), _GENERATORS),
)
"""Columns that a form has, those of which it has none, and what is said of it."""


def why_unfit(there: Sequence[str]) -> str:
    """Return what to do with a file of these columns, if no mapping helps it; otherwise an empty text."""
    for has, lacks, why in _FORMS:
        if has <= set(there) and lacks.isdisjoint(there):
            return why.format(prompt="prompt" if "prompt" in there else "chosen")
    return ""
