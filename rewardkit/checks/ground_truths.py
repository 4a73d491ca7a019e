"""Checks that rewards can use the ground truths in a file.

The rewards score an empty response, which is cheap. A reward returns `invalid` for every response if the
ground truth is malformed. Rewards for maths accept any text as a ground truth, so a warning is reported if
the text does not look like an answer (`unread`). Users' own rewards and judges are not called, since the cost
of a call is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rewardkit.checks.findings import Findings
from rewardkit.checks.items import Item
from rewardkit.composition.tree import members_of
from rewardkit.errors import UnknownDataSourceError
from rewardkit.registry import Registry, Reward
from rewardkit.rewards import declarations
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_MATHS = {"math", "math_dapo", "geometry3k"}
"""Names of rewards that compare answers as maths. They accept any text as a ground truth."""
_PLACEHOLDERS = frozenset(
    ("proof", "notfound", "not found", "n/a", "na", "none", "null", "nan", "unknown", "-", "?", "todo", "tbd")
)
_SENTENCE_WORDS = 5
_WORD = re.compile(r"[^\W\d_]{2,}")


def check_ground_truths(items: Sequence[Item], file: str, scorer: Scorer, findings: Findings) -> None:
    """Report ground truths that the reward rejects, or that do not look like answers."""
    sources = {item.data_source for item in items if item.data_source}
    ours = {source for source in sources if _is_ours(source, scorer)}
    usable = [item for item in items if item.data_source in ours]
    refused = set()
    for item, why in _refused(usable, scorer):
        findings.add("error", "ground truth", file, why, item.row, key=item.data_source)
        refused.add(item.row)
    for source in sources - ours:
        _check_members([item for item in items if item.data_source == source], file, scorer, findings)
    maths = {source for source in ours if scores_maths(scorer.reward_for(source))}
    for item in usable:
        if item.data_source in maths and item.row not in refused and (odd := unread(item.ground_truth)):
            findings.add("warning", "ground truth", file, odd, item.row, key=odd.partition(":")[0])


def _check_members(items: Sequence[Item], file: str, scorer: Scorer, findings: Findings) -> None:
    """Report ground truths that members of a composition reject.

    Only members that are part of rewardkit are called, since the cost of calling other members is unknown.
    """
    try:
        members = members_of(scorer.reward_for(items[0].data_source))
    except UnknownDataSourceError:
        return
    for member in members:
        if not ships(member.reward) or member.on_failure != "fail":
            continue
        registry = Registry()
        registry.use_for_all(member.reward)
        with Scorer(registry=registry) as alone:
            for item, why in _refused(items, alone):
                said = f"{member.path} of the composition: {why}"
                findings.add("warning", "ground truth", file, said, item.row, key=member.path)


def _is_ours(data_source: str, scorer: Scorer) -> bool:
    """Return True if only rewardkit's own rewards score the data source, and all read ground truths."""
    try:
        rewards = _rewards_in(scorer.reward_for(data_source))
    except UnknownDataSourceError:
        return False
    return all(ships(one) and not one.of_episode for one in rewards)


def ships(reward: Reward) -> bool:
    """Return True if the reward is part of rewardkit, so that the cost of a call is known."""
    return bool(reward.target.__module__ == declarations.__name__)


def _refused(items: Sequence[Item], scorer: Scorer) -> Iterable[tuple[Item, str]]:
    """Yield each item whose ground truth the reward rejects, with the reason."""
    by_truth: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        alone = str(item.row) if scorer.reward_for(item.data_source).reads else ""
        by_truth.setdefault((item.data_source, item.ground_truth, alone), []).append(item)
    first = [same[0] for same in by_truth.values()]
    samples = [Sample(i.data_source, "", i.ground_truth, i.prompt, dict(i.extra_info)) for i in first]
    for same, score in zip(by_truth.values(), scorer.score_batch(samples), strict=True):
        if score.status == "invalid":
            yield from ((item, score.detail or "the reward cannot use the ground truth") for item in same)


def _rewards_in(reward: Reward) -> list[Reward]:
    """Return the rewards of a composition's members, or the reward itself if it is not a composition."""
    return [member.reward for member in members_of(reward)] or [reward]


def scores_maths(reward: Reward) -> bool:
    """Return True if a reward, or a member of a composition, compares answers as maths."""
    return any(one.name in _MATHS for one in _rewards_in(reward))


def unread(ground_truth: str) -> str | None:
    """Return the reason why a reward for maths cannot read a ground truth as an answer, or None if it can.

    In a JSON list of acceptable answers, one readable answer is enough.
    """
    from rewardkit.rewards.math.math_reward import alternatives

    found = [_odd(text) for text in alternatives(ground_truth)]
    return next(iter(found), None) if all(found) else None


def _odd(ground_truth: str) -> str | None:
    """Return the reason why a ground truth for maths does not look like an answer, or None if it does."""
    text = ground_truth.strip()
    if text.casefold().rstrip(".") in _PLACEHOLDERS:
        return f"the ground truth looks like a placeholder, not an answer: {text!r}"
    plain = re.sub(r"\\[a-zA-Z]+|[{}$]", " ", text)
    if len(_WORD.findall(plain)) >= _SENTENCE_WORDS:
        return f"the ground truth looks like a sentence, not an answer: {text!r:.60}"
    from rewardkit.rewards.math.reading.prepared import prepare

    read = prepare(text)
    if text and read.number is None and read.reading is None:
        why = f"the ground truth cannot be parsed ({read.problem}), so only the same text will match"
        return f"{why}: {text!r:.60}"
    return None
