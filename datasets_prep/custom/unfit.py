"""Lists published formats that a mapping of columns alone cannot convert, with advice for each format."""

from __future__ import annotations

from collections.abc import Sequence

_PREFERENCES = (
    "'chosen' and 'rejected' are preferences, for training a reward model (TRL's RewardTrainer reads them "
    "unchanged, and `rewardkit prep hh-rlhf` writes HH-RLHF's files); no rule can score answers with them. "
    "To use the prompts with a reward model, pass --prompt-key {prompt} --answer-key chosen --reward exact "
    "here, and set reward_model.enable=true in training (docs/reward_models.md)"
)
_COUNTDOWN = (
    "'nums' and 'target' are Countdown's columns, and there is no question; `rewardkit prep reasoning_gym "
    "--task countdown` generates such problems with a verifier. To use these rows, add a column with the "
    "question (--prompt-key), and pass --answer-key target and your own reward (--reward, "
    "docs/own_reward.md)"
)
_GENERATORS = (
    "these are CodeContests+ without tests: the default configuration has programs that generate them. "
    "Pass a configuration with tests, --hub ByteDance-Seed/Code-Contests-Plus --config 1x (to 5x), and its "
    "test column: --prompt-key description --answer-key COLUMN --reward code"
)
_FORMS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (frozenset(("chosen", "rejected")), frozenset(), _PREFERENCES),
    (frozenset(("nums", "target")), frozenset(("question", "problem", "prompt")), _COUNTDOWN),
    (frozenset(("generator", "validator")), frozenset(("test_cases",)), _GENERATORS),
)
"""Columns that a format has, columns that it does not have, and the advice for the format."""


def why_unfit(there: Sequence[str]) -> str:
    """Return advice if a mapping alone cannot convert a file with these columns, or else ""."""
    for has, lacks, why in _FORMS:
        if has <= set(there) and lacks.isdisjoint(there):
            return why.format(prompt="prompt" if "prompt" in there else "chosen")
    return ""
