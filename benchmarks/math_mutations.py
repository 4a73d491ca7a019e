"""Searches for false positives of the maths rewards: wrong answers made from right ones; lists the accepted.

Every pair is certain by construction: either an independent evaluation (`math_values`, which shares no code
with the reward) finds the two different in every reading, or the added words change the meaning for any
value. Answers that mean the same to a reader (without a unit, base, percent or degree sign that the question
names, or a decimal of at least four digits that is correctly rounded) are no mutations, and are listed
separately: accepted by default (`docs/math_policies.md`), and never under `preset=strict`. `gsm8k flexible`,
which takes the last number of any text, is reported but not counted, nor are words. A part of `grader.py`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from math_families import EDITS, READINGS, RESPONSES, REWRITES, WORDS, trap
from math_truths import Truth, from_data, generated
from math_values import Unreadable, Value, agree, differ, read

from rewardkit.rewards import gsm8k
from rewardkit.rewards.math import MathOptions, score
from rewardkit.types import Sample

PRESETS = {"default": MathOptions(), "strict": MathOptions(preset="strict")}
GSM8K = {"gsm8k": gsm8k.Gsm8kOptions(), "gsm8k flexible": gsm8k.Gsm8kOptions(method="flexible")}
_BY_CHOICE = "gsm8k flexible"
PROSE = ("words_after", "words_before", "retracted")
"""Families of words around a right number, which no reward reads: reported but not counted."""
_FORMS = {
    "box": "So we get $\\boxed{{answer}}$.", "tags": "Thus <answer>{answer}</answer>",
    "marker": "Answer: {answer}",
    "prose": "The answer is {answer}.", "inline": "The answer is ${answer}$.",
    "hash": "Some steps.\n#### {answer}",
}  # fmt: skip
_INTEGER = re.compile(r"-?\d+")


class Pair(NamedTuple):
    """A ground truth and a response with a different answer."""

    family: str
    ground_truth: str
    answer: str
    response: str


def pairs(count: int, seed: int, folder: Path) -> list[Pair]:
    """Return this many different pairs; the same for the same seed and data."""
    draw = random.Random(seed)
    truths = [*dict.fromkeys(from_data(folder)), *generated(max(count // 20, 400), draw)]
    draw.shuffle(truths)
    found: dict[Pair, None] = {}
    while len(found) < count:
        before = len(found)
        for truth in truths:
            for pair in _of_truth(truth, truths, draw):
                found.setdefault(pair)
            if len(found) >= count:
                break
        if len(found) == before:
            raise SystemExit(f"only {before} pairs can be made")
    return list(found)[:count]


def _of_truth(truth: Truth, others: Sequence[Truth], draw: random.Random) -> Iterator[Pair]:
    """Yield pairs of one ground truth: two edits, and one of each other kind that applies."""
    text = truth.text
    value = _value(text)
    if value is not None:
        for family in draw.sample(EDITS, 6):
            yield from _certain(family.__name__, text, value, family(text, draw), draw)
        yield from _certain("another row's", text, value, [draw.choice(others).text], draw)
    for family in draw.sample(WORDS, 2):
        yield from (_pair(family.__name__, text, answer, draw) for answer in family(text, draw))
    if _INTEGER.fullmatch(text) and draw.random() < 0.3:
        yield _response(text, draw)
    if draw.random() < 0.1:
        name, ground_truth, answer = trap(draw)
        yield _pair(name, ground_truth, answer, draw)


def _value(text: str) -> Value | None:
    try:
        return read(text)
    except (Unreadable, RecursionError):
        return None


def _certain(
    name: str, text: str, value: Value, answers: Sequence[str], draw: random.Random
) -> Iterator[Pair]:
    for answer in answers:
        other = _value(answer)
        if other is not None and differ(value, other):
            yield _pair(name, text, answer, draw)


def _pair(name: str, text: str, answer: str, draw: random.Random) -> Pair:
    form = draw.choice(("box", "box", "box", *_FORMS))
    return Pair(name, text, answer, _FORMS[form].replace("{answer}", answer))


def _response(text: str, draw: random.Random) -> Pair:
    family = draw.choice(sorted(RESPONSES))
    wrong = str(int(text) + draw.randrange(1, 9))
    form = draw.choice(RESPONSES[family])
    return Pair(family, text, wrong, form.replace("{gold}", text).replace("{wrong}", wrong))


def readings(seed: int, folder: Path) -> list[Pair]:
    """Return answers that mean the same as a ground truth to readers of the question: one of each kind."""
    draw = random.Random(seed)
    truths = [*dict.fromkeys(from_data(folder)), *generated(2_000, draw)]
    found = (
        _pair(family.__name__, truth.text, answer, draw)
        for truth in truths
        for family in READINGS
        for answer in family(truth.text, draw)
    )
    return list(dict.fromkeys(found))


def rewrites(count: int, seed: int, folder: Path) -> list[Pair]:
    """Return pairs whose answer has the ground truth's value, for the reverse search."""
    draw = random.Random(seed)
    truths = [*dict.fromkeys(from_data(folder)), *generated(max(count // 5, 400), draw)]
    draw.shuffle(truths)
    found: dict[Pair, None] = {}
    for truth in truths:
        value = _value(truth.text)
        for family in REWRITES if value is not None else ():
            for answer in family(truth.text, draw):
                other = _value(answer)
                if other is not None and value is not None and agree(value, other):
                    found.setdefault(_pair(family.__name__, truth.text, answer, draw))
    return list(found)[:count]


def paid(pair: Pair, preset: str) -> bool:
    """Return whether a preset of `math`, or the `gsm8k` reward, gives the full score."""
    if preset in GSM8K:
        return gsm8k.score(Sample("gsm8k", pair.response, pair.ground_truth), GSM8K[preset]).score == 1.0
    return score(Sample("math", pair.response, pair.ground_truth), PRESETS[preset]).score == 1.0


def hunt(made: Sequence[Pair], preset: str) -> list[Pair]:
    """Return the pairs that are accepted. GSM8K takes integers only."""
    if preset in GSM8K:
        made = [p for p in made if _INTEGER.fullmatch(p.ground_truth)]
    return [pair for pair in made if paid(pair, preset)]


def report(folder: Path, seed: int, count: int = 50_000) -> int:
    """Print the accepted wrong answers; return their number, except `PROSE` and `gsm8k flexible`."""
    made = pairs(count, seed, folder)
    families = Counter(pair.family for pair in made)
    print(f"\n{len(made)} pairs: {', '.join(f'{name} {n}' for name, n in families.most_common())}\n")
    wrong = 0
    for preset in (*PRESETS, *GSM8K):
        found = hunt(made, preset)
        others = [pair for pair in found if pair.family not in PROSE]
        print(f"{preset}: {len(found)} of {len(made)} paid, {len(found) - len(others)} of them for words")
        _list(found)
        wrong += len(others) if preset != _BY_CHOICE else 0
    same = readings(seed, folder)
    strict = len(hunt(same, "strict"))
    print(
        f"readings, no mutations: {len(hunt(same, 'default'))} of {len(same)} paid by default, "
        f"{strict} by strict"
    )
    return wrong + strict


def report_rewrites(folder: Path, seed: int, count: int = 20_000) -> int:
    """Print the answers with the ground truth's value that are not accepted; return their number."""
    made = rewrites(count, seed, folder)
    lost = [pair for pair in made if not paid(pair, "default")]
    print(f"\ndefault: {len(lost)} of {len(made)} rewrites that keep the value are not paid")
    _list(lost)
    return len(lost)


def _list(found: Sequence[Pair], show: int = 20) -> None:
    for family, count in Counter(pair.family for pair in found).most_common():
        print(f"  {family}: {count}")
        for pair in [p for p in found if p.family == family][:show]:
            print(f"    {pair.ground_truth!r} <- {pair.response!r}")
