"""Whether a response to a row could be scored at all: the row's reward reads its ground truth.

The reward itself says so, of the empty response: with a malformed ground truth that is `invalid` too. What a
call would cost much for (a model, a judge, a query) or that needs more than the ground truth is not called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rewardkit.checks.ground_truths import ships
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.schema import Row
from rewardkit.datasets_prep.common.solutions import Located
from rewardkit.errors import InputError
from rewardkit.registry import REGISTRY
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.problem import GroundTruthError
from rewardkit.rewards.shaping import SPANS
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_OF_ANSWERS = ("math", "math_dapo", "geometry3k")
"""Rewards to which any text is an answer."""
_OF_NUMBERS = (*_OF_ANSWERS, "gsm8k", "number")
_BY_METADATA = ("choice", "reasoning_gym")
"""Whose ground truths are read with what is kept beside them: the options."""
_DIGITS = r"-?[0-9]{1,15}(\.[0-9]{1,15})?"
_NUMBER = re.compile(_DIGITS)
_ROWS = 64
"""Rows that are looked at together; each may hold megabytes of tests."""


def scorable(rows: Iterable[Located], bad: BadRows) -> Iterator[Located]:
    """Yield the rows whose reward reads their ground truth; the others are bad rows."""
    source = iter(rows)
    with Scorer() as scorer:
        while some := list(islice(source, _ROWS)):
            asked = ((i, *_asked(row)) for i, (_, row) in enumerate(some))
            unfit = refused(asked, scorer)
            for i, (where, row) in enumerate(some):
                if i in unfit:
                    bad.add(InputError(f"{where}: {unfit[i]}"))
                else:
                    yield where, row


def _asked(row: Row) -> tuple[str, str, str]:
    """The name of a row's reward, its ground truth, and the metadata that its reward reads."""
    name = REGISTRY.resolve(row.data_source).name
    return name, row.ground_truth, json.dumps(row.metadata, default=str) if name in _BY_METADATA else ""


def all_numbers(reward: str, ground_truths: pa.Array) -> bool:
    """Return whether all ground truths are plain numbers, which a reward of numbers can always score."""
    if reward not in _OF_NUMBERS:
        return False
    return bool(pc.all(pc.match_substring_regex(ground_truths, f"^(?:{_DIGITS})$"), skip_nulls=True).as_py())


def refused(
    rows: Iterable[tuple[int, str, str, str]], scorer: Scorer, expected: str = "the answer"
) -> dict[int, str]:
    """Return the rows against which no response could be scored, and why.

    Args:
        rows: number, name of the reward, ground truth and metadata of each.
        expected: what a ground truth that is a JSON object should have been.
    """
    found: dict[int, str] = {}
    alike: dict[tuple[str, str, str], list[int]] = {}
    for row, reward, ground_truth, metadata in rows:
        if reward in _OF_NUMBERS and _NUMBER.fullmatch(ground_truth):
            continue
        key = (reward, ground_truth, metadata if reward in _BY_METADATA else "")
        alike.setdefault(key, []).append(row)
    tried: list[tuple[str, str, str]] = []
    for key in alike:
        why = _unread_tests(key[1]) if key[0] == "code" else _no_answer(key[0], key[1], expected)
        if why:
            found.update(dict.fromkeys(alike[key], why))
        elif key[0] != "code" and _can_be_tried(key[0]):
            tried.append(key)
    samples = [
        Sample(reward, "", ground_truth, extra_info={"metadata": metadata} if metadata else {})
        for reward, ground_truth, metadata in tried
    ]
    for key, score in zip(tried, scorer.score_batch(samples), strict=True):
        if score.status == "invalid":
            found.update(dict.fromkeys(alike[key], f"{key[0]} cannot score it: {score.detail}"))
    return found


def _can_be_tried(name: str) -> bool:
    reward = REGISTRY.by_name(name)  # a composition's name is no data source
    if reward is None:
        return False
    cheap = reward.runs in ("inline", "process") and not reward.batch
    return cheap and ships(reward) and reward.name not in SPANS


def _unread_tests(ground_truth: str) -> str:
    try:
        read(ground_truth or "{}")
    except GroundTruthError as error:
        return f"its tests cannot be used: {error}"
    return ""


def _no_answer(reward: str, ground_truth: str, expected: str) -> str:
    """Why a ground truth is none of maths though any text could be one: it is an object of another reward."""
    if reward not in _OF_ANSWERS or not ground_truth.lstrip().startswith("{"):
        return ""
    try:
        value = msgspec.json.decode(ground_truth)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    keys = ", ".join(list(value)[:4])
    return (
        f"{reward} cannot score it: the ground truth is a JSON object ({keys}), which no answer equals; "
        f"expected {expected}"
    )
