"""Layers of an audit: each scores responses that should earn nothing, or right answers that should be paid.

Shares are shares of the span. The span extends from the score of an idle or wrong response to the score of
the right answer in the frame that pays it best. The thresholds were measured on rewards with and without
planted holes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, pstdev

from rewardkit.audit import Hole, Payment
from rewardkit.audit.answers import (
    NUMERATOR,
    OTHER_OPTION,
    SPELLINGS,
    AuditRow,
    is_accepted,
    nowhere,
    wrong_answers,
)
from rewardkit.audit.bench import Try
from rewardkit.audit.frames import IDLE, written
from rewardkit.audit.subject import Subject, framed, wholes
from rewardkit.registry import Registry
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Score

PAID = 0.25
"""Share of the span above which a wrong response counts as paid."""
_FORMAT = 0.15
"""Share of the span that authors often pay for the format alone, which is no hole."""
_KNOWING = 0.25
_VISIBLE = 0.005
"""Smallest share that is not shown as 0 %."""
_SWAPPED = 0.03
_WRONG = 0.15
_BLIND, _AMONG = 0.25, 0.45
_LEAST, _ERRORS = 0.05, 3.0
_FEWEST = 3
"""Minimum number of paid responses for a hole whose layer counts responses."""
_MOST_OPTIONS = 10
_KEPT, _SHOWN = 12, 50
"""Maximum number of constants that are measured in all rows, and of responses of a hole."""
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_RANGES = ("[0, 1000000]", "0 to 1000000", "0-1000000", r"(-\infty, \infty)", r"x \in \mathbb{R}", "x >= 0")
_FREQUENT = (10, 40)
_OTHERS = 3


@dataclass
class Findings:
    """Figures and holes that the layers find."""

    figures: dict[str, float] = field(default_factory=dict)
    """Shares of the span, by the name of the field of `SourceAudit`."""
    base: list[float] = field(default_factory=list)
    """Shares that the most frequent answer should earn in the measured rows."""
    wrong: dict[str, float] | None = None
    denied: dict[str, float] | None = None
    holes: list[Hole] = field(default_factory=list)

    def add(self, hole: Hole) -> None:
        """Add a hole, unless it pays nothing or only follows from one that was found before."""
        if hole.share < _VISIBLE and hole.layer != "contract":
            return
        if not any(other.layer == "knowing" for other in self.holes) or hole.layer == "contract":
            self.holes.append(hole)

    @property
    def chance(self) -> float:
        """Share of the span that the most frequent ground truth earns."""
        return self.figures.get("chance", 0.0)


def find_constants(subject: Subject, found: Findings) -> None:
    """Measure responses that are the same in every row. Chance is the most frequent answer of the rows."""
    found.base = _chance(subject)
    if subject.frame:
        found.figures["chance"] = fmean(found.base)
    texts = dict([*_constant_texts(subject), *_frequent_texts(subject)])
    promising = _promising(subject, list(texts.items()))
    best = _ranked(subject, subject.picked, promising[: 3 * _KEPT])[:_KEPT]
    subject.bench.scores([(row, text) for text, _ in best for row in subject.measured])
    shares = {text: _shares(subject, text) for text, _ in best}
    found.figures["constant"] = max((fmean(some) for some in shares.values()), default=0.0)
    paid = [(text, what) for text, what in best if _beats(shares[text], found.base)]
    if paid:
        top = max(fmean(shares[text]) for text, _ in paid)
        payments = [_payment(subject, subject.measured, text, what) for text, what in paid]
        found.add(Hole("constant", top, top - found.chance, "one response for all rows", shortest(payments)))


def _chance(subject: Subject) -> list[float]:
    """Return 1 for each measured row with the most frequent answer, and 0 for the others."""
    counts = Counter(row.answer for row in subject.picked + subject.measured if row.answer is not None)
    answer = counts.most_common(1)[0][0] if counts else None
    return [float(row.answer is not None and row.answer == answer) for row in subject.measured]


def _promising(subject: Subject, texts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the texts that are paid in any of the first rows, the best first."""
    rows = subject.picked[: subject.screened]
    if not subject.cheap:  # most texts are paid nowhere
        texts = _paid_anywhere(subject, rows[: subject.screened // 2], texts)
    return _paid_anywhere(subject, rows, _ranked(subject, rows, texts))


def _paid_anywhere(
    subject: Subject, rows: Sequence[AuditRow], texts: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the texts that are paid in any of the rows."""
    tries = {one: [(row, one[0]) for row in rows] for one in texts}
    subject.bench.scores([one for some in tries.values() for one in some])
    return [one for one, some in tries.items() if max(subject.bench.shares(some)) > _FORMAT]


def _beats(shares: Sequence[float], base: Sequence[float]) -> bool:
    """Return True if a constant earns more than chance in the same rows, beyond what a format may earn."""
    return _above([a if a > _FORMAT else 0.0 for a in shares], base, _LEAST)


def _above(shares: Sequence[float], base: Sequence[float], least: float) -> bool:
    """Return True if shares are above others of the same rows by at least so much, and by three errors."""
    above = [a - b for a, b in zip(shares, base, strict=True)]
    return fmean(above) > max(least, _ERRORS * pstdev(above) / math.sqrt(len(above)))


def find_worthless_knowledge(subject: Subject, found: Findings) -> None:
    """Find frames in which the right answer earns hardly more than the answer to another row."""
    rows = subject.measured
    pairs = [(row, other.answer) for row in rows for other in subject.others(row, 1)]
    others = [(row, answer) for row, answer in pairs if answer is not None]
    for frame in subject.paying or subject.frames[: not subject.whole]:
        swapped = [(row, written(frame, answer)) for row, answer in others]
        subject.bench.scores([*framed(rows, frame), *swapped])
        if subject.bench.late:  # right answers without a score would look worthless
            return
        right, wrong = subject.bench.mean(list(framed(rows, frame))), subject.bench.mean(swapped)
        if len(swapped) < _FEWEST or right - wrong >= _KNOWING:
            continue
        payments = [_one(subject, row, text, "answer to another row") for row, text in swapped]
        few = rows[: subject.screened]
        constants = _paid_anywhere(subject, few[:2], _constant_texts(subject))
        subject.bench.scores([(row, text) for text, _ in constants for row in few])
        tried = [_payment(subject, few, text, what) for text, what in constants]
        equal = [one for one in tried if one.share >= max(PAID, wrong - 0.1)]
        paid = shortest([*equal, *(one for one in payments if one.share > PAID)])
        earned = max([wrong, *(one.share for one in equal)])
        what = f"the right answer adds {right - wrong:.2f} in the frame {frame!r}"
        found.add(Hole("knowing", earned, earned - found.chance, what, paid))
        return


def find_lists(subject: Subject, found: Findings) -> None:
    """Measure responses with many answers, and the right answer among four others."""
    rows = subject.measured
    lists = list(_lists(subject))
    if not subject.cheap:
        subject.bench.scores([one for _, tries in lists for one in tries[: subject.screened]])
        lists = [one for one in lists if subject.bench.mean(one[1][: subject.screened]) > _LEAST]
    subject.bench.scores([one for _, tries in lists for one in tries])
    earned = [(subject.bench.mean(tries), what, tries) for what, tries in lists]
    found.figures["several"] = max((share for share, _, _ in earned), default=0.0)
    paid = [
        (share, what, tries)
        for share, what, tries in earned
        if share > _BLIND and _above(subject.bench.shares(tries), found.base[: len(tries)], _BLIND)
    ]
    if not paid:
        answers = _frequent(subject)
        least = max(found.chance, 1 / min(5, max(1, len(answers)))) + _AMONG
        among = list(_among(subject, rows)) if len(answers) >= 4 else []
        subject.bench.scores([one for _, tries in among for one in tries])
        paid = [one for what, tries in among if (one := (subject.bench.mean(tries), what, tries))[0] > least]
    if paid:
        top = found.figures["several"] = max(share for share, _, _ in paid)
        payments = [_best(subject, tries, what) for _, what, tries in paid]
        found.add(Hole("several", top, top - found.chance, "many answers", shortest(payments)))


def find_swapped(subject: Subject, found: Findings) -> None:
    """Score answers, solutions and real responses against other rows."""
    kinds: dict[str, list[Try]] = {"answer": [], "solution": [], "response": []}
    rows = subject.picked + subject.measured
    subject.bench.scores([(row, text) for row in rows for text in row.responses[:_OTHERS]])
    right = {id(row): _right_responses(subject, row) for row in rows}
    for row in subject.measured:
        for other in subject.others(row, _OTHERS):
            if subject.frame and other.answer is not None:
                kinds["answer"].append((row, written(subject.frame, other.answer)))
            texts = wholes(other)
            kinds["solution"] += [(row, texts[kind]) for kind in {"solution", *subject.whole} & texts.keys()]
            kinds["response"] += [(row, text) for text in right[id(other)]]
    subject.bench.scores([one for tries in kinds.values() for one in tries])
    tried = {
        kind: [_one(subject, row, text, f"{kind} to another row") for row, text in tries]
        for kind, tries in kinds.items()
        if tries
    }
    paid = {kind: [one for one in some if one.share > PAID] for kind, some in tried.items()}
    if tried:
        found.figures["swapped"] = sum(map(len, paid.values())) / sum(map(len, tried.values()))
    holes = [
        kind for kind in tried if len(paid[kind]) >= _FEWEST and len(paid[kind]) > _SWAPPED * len(tried[kind])
    ]
    if holes:
        share = max(len(paid[kind]) / len(tried[kind]) for kind in holes)
        what = ", ".join(f"{len(paid[kind])} of {len(tried[kind])} {kind}s" for kind in holes)
        payments = shortest([one for kind in holes for one in paid[kind]])
        found.add(Hole("swapped", share, share, f"{what} to other rows are paid", payments))


def _right_responses(subject: Subject, row: AuditRow) -> list[str]:
    """Return the first real responses to a row that its reward pays. A wrong one may be right elsewhere."""
    tries = [(row, text) for text in row.responses[:_OTHERS]]
    return [
        text for (_, text), share in zip(tries, subject.bench.shares(tries), strict=True) if share > 1 - PAID
    ]


def find_wrong_answers(subject: Subject, found: Findings) -> None:
    """Score answers that are wrong on purpose, in the audited frame and in one other frame that pays."""
    options = _frequent(subject)
    options = options if len(options) <= _MOST_OPTIONS else []
    found.wrong = {}
    payments: list[Payment] = []
    for frame in subject.paying[:2]:
        tries: dict[str, list[Try]] = {}
        for row in (*subject.picked, *subject.measured):
            wrong = dict(wrong_answers(row.answer, options)) if row.answer is not None else {}
            for kind, text in wrong.items():
                if text not in row.accepted and not (kind == OTHER_OPTION and is_accepted(row, text)):
                    tries.setdefault(kind, []).append((row, written(frame, text)))
        if _ignores_text_behind(subject, frame):
            tries.pop(NUMERATOR, None)
        subject.bench.scores([one for some in tries.values() for one in some])
        for kind, some in tries.items():
            paid = [one for row, text in some if (one := _one(subject, row, text, kind)).share > PAID]
            share = len(paid) / len(some)
            found.wrong[kind] = max(share, found.wrong.get(kind, 0.0))
            if len(paid) >= _FEWEST and share > _WRONG:
                payments += shortest(paid)
    if payments:
        kinds = {one.what for one in payments}
        top = max(found.wrong[kind] for kind in kinds)
        what = f"answers that are wrong on purpose: {', '.join(sorted(kinds))}"
        found.add(Hole("wrong", top, top, what, shortest(payments)))


def _ignores_text_behind(subject: Subject, frame: str) -> bool:
    """Return True if a frame pays a right number with any text behind it."""
    rows = [row for row in subject.measured[: subject.screened] if row.answer is not None]
    return subject.bench.mean([(row, written(frame, f"{row.answer}q7")) for row in rows]) > PAID


def find_denied(subject: Subject, found: Findings) -> None:
    """Score other spellings of right answers that are paid, and the rows' own solutions."""
    rows = (subject.picked + subject.measured)[: 2 * subject.screened]
    found.denied = {}
    shares = subject.bench.shares([(row, subject.right(row)) for row in rows])
    paid = [row for row, share in zip(rows, shares, strict=True) if share > 1 - PAID]
    for name, (fits, inside, around) in SPELLINGS.items():
        tries = [
            (row, written(around or "{}", written(subject.frame, written(inside, row.answer))))
            for row in paid
            if subject.frame and row.answer is not None and fits(row.answer)
        ]
        _add_denied(subject, found.denied, name, tries)
    solved = [(row, row.solution) for row in rows if row.solution and "solution" in subject.whole]
    _add_denied(subject, found.denied, "own solution", solved)


def _add_denied(subject: Subject, denied: dict[str, float], name: str, tries: list[Try]) -> None:
    values = subject.bench.values(tries)
    if values:
        least = subject.bench.low + (1 - PAID) * subject.bench.span
        denied[name] = sum(value < least for value in values) / len(values)


def find_breaches(subject: Subject, found: Findings) -> None:
    """Score some responses again, in another order, alone and in another process."""
    bench = subject.bench
    rows = subject.measured[: subject.screened]
    tries = [(row, text) for row in rows for text in (subject.right(row), "")]
    tries += [(row, subject.right(other)) for row in rows for other in subject.others(row, 1)]
    first = bench.scores(tries)
    again: dict[str, Callable[[Sequence[Try]], list[Score]]] = {
        "again": bench.again,
        "in another order": lambda some: bench.again(some[::-1])[::-1],
        "alone": lambda some: [score for one in some[: len(rows)] for score in bench.again([one])],
        "in another process": lambda some: _elsewhere(subject, some),
    }
    for how, score_again in again.items():
        if not bench.left_s:
            return
        differing = [
            (one, before, after)
            for one, before, after in zip(tries, first, score_again(tries), strict=False)
            if before is not None and after.ok and abs(before.score - after.score) > 1e-6
        ]
        if differing:
            (row, text), before, after = min(differing, key=lambda d: len(d[0][1]))
            what = f"{len(differing)} scores differ {how}: {before.score:g}, then {after.score:g}"
            share = abs(after.score - before.score) / bench.span
            found.add(Hole("contract", share, 0.0, what, (_one(subject, row, text, how),)))
            return


def _elsewhere(subject: Subject, tries: Sequence[Try]) -> list[Score]:
    """Score tries in a new worker process."""
    reward, options = subject.reward, subject.options
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    registry = Registry()
    elsewhere = reward.with_running(runs="process") if reward.running.runs == "inline" else reward
    registry.use_for_all(replace(elsewhere, presets=values))
    with Scorer(registry=registry, workers=1) as scorer:
        return scorer.submit([row.sample(text) for row, text in tries]).wait(subject.bench.left_s)


LAYERS: tuple[Callable[[Subject, Findings], None], ...] = (
    find_constants,
    find_worthless_knowledge,
    find_lists,
    find_wrong_answers,
    find_swapped,
    find_denied,
    find_breaches,
)
"""Layers in the order in which they run. The first one measures chance, which the others need."""


# --- responses ---


def _frequent(subject: Subject) -> list[str]:
    """Return the answers of the picked rows, the most frequent first."""
    counts = Counter(row.answer for row in subject.picked if row.answer is not None)
    return [answer for answer, _ in counts.most_common()]


def _frequent_texts(subject: Subject) -> list[tuple[str, str]]:
    """Return frequent answers and letters in the frames that pay."""
    answers = _frequent(subject)
    letters = [a for a in answers if len(a) == 1 and a.isalpha()]
    best = list(dict.fromkeys([*answers[:5], *letters]))
    return [(written(frame, answer), "frequent answer") for frame in subject.paying[:3] for answer in best]


def _constant_texts(subject: Subject) -> list[tuple[str, str]]:
    """Return the responses to try in all rows, with their kinds."""
    nothing = nowhere(subject.picked)
    frame = subject.frame or "{}"
    wrong = written(frame, nothing)
    found = list(IDLE)
    found += [(written(one, ""), "empty frame") for one in subject.frames]
    found += [(text, "text from the source") for text in subject.texts.texts]
    found += [(one.partition("{}")[0], "open frame") for one in subject.frames]
    found += [(written(one, nothing), "wrong answer in a frame") for one in subject.frames]
    found += [(written(one, "NaN"), "NaN in a frame") for one in subject.frames]
    found += [(written(frame, text), f"{what} in a frame") for text, what in IDLE]
    for text in subject.texts.texts:
        found.append((text * 3, "text from the source, three times"))
        found.append((written(frame, text), "text from the source in a frame"))
        found.append((f"{wrong}\n{text}", "text from the source after a wrong answer"))
        found.append((f"{text}\n{wrong}", "text from the source before a wrong answer"))
    texts = list({text: (text, what) for text, what in reversed(found)}.values())[::-1]
    return texts[: subject.most_texts]


def _lists(subject: Subject) -> Iterator[tuple[str, list[Try]]]:
    """Yield responses with many answers that need no knowledge, each with its kind."""
    rows = subject.measured
    frames = list(dict.fromkeys((*subject.paying[:2], "{}"))) if subject.paying else []
    answers = _frequent(subject)
    lists = [(f"{count} answers", answers[:count]) for count in _FREQUENT if len(answers) > 1]
    for what, texts in (*lists, ("letters A to E", list("ABCDE"))):
        for frame in frames:
            for glue in (", ", " ", " or ", "")[: 3 + (max(map(len, texts)) == 1)]:
                yield f"{what} in one frame", [(row, written(frame, glue.join(texts))) for row in rows]
            each = "\n".join(written(frame, text) for text in texts)
            yield f"{what} in a frame each", [(row, each) for row in rows]
    for frame in frames:
        for text in (*_RANGES, " ".join(map(str, range(301)))):
            yield "range", [(row, written(frame, text)) for row in rows]
    yield "prompt", [(row, row.prompt) for row in rows]
    for frame in frames[:1]:
        yield "prompt in a frame", [(row, written(frame, row.prompt)) for row in rows]
        last = [(row, _DIGITS.findall(row.prompt)) for row in rows]
        yield "number of the prompt", [(row, written(frame, found[-1])) for row, found in last if found]


def _among(subject: Subject, rows: Sequence[AuditRow]) -> Iterator[tuple[str, list[Try]]]:
    """Yield responses with the right answer among others, and never last."""
    lists = []
    for row in rows:
        if row.answer is not None:
            others = [other.answer for other in subject.others(row, 12) if other.answer is not None]
            four = list(dict.fromkeys(others))[:4]
            four.insert(subject.rng.randrange(len(four)) if four else 0, row.answer)
            lists.append((row, four))
    for frame in dict.fromkeys((*subject.paying[:2], "{}")) if subject.paying else ():
        for glue in (", ", " or "):
            one = [(row, written(frame, glue.join(texts))) for row, texts in lists]
            yield "right answer among five in one frame", one
        if frame != "{}":
            each = [(row, "\n".join(written(frame, text) for text in texts)) for row, texts in lists]
            yield "right answer among five in a frame each", each


# --- payments ---


def _shares(subject: Subject, text: str) -> list[float]:
    return subject.bench.shares([(row, text) for row in subject.measured])


def _ranked(
    subject: Subject, rows: Sequence[AuditRow], texts: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return texts by the mean share that they earn in the rows, the best and shortest first."""
    subject.bench.scores([(row, text) for text, _ in texts for row in rows])
    means = {text: subject.bench.mean([(row, text) for row in rows]) for text, _ in texts}
    return sorted(texts, key=lambda one: (-round(means[one[0]], 6), len(one[0])))


def shortest(payments: Sequence[Payment]) -> tuple[Payment, ...]:
    """Return payments with different texts, the shortest first."""
    found: dict[str, Payment] = {}
    for one in sorted(payments, key=lambda one: (len(one.text), -one.share)):
        found.setdefault(one.text, one)
    return tuple(found.values())[:_SHOWN]


def _payment(subject: Subject, rows: Sequence[AuditRow], text: str, what: str) -> Payment:
    """Return the payment of one text in many rows, shown with the row that pays it best."""
    return _best(subject, [(row, text) for row in rows], what)


def _best(subject: Subject, tries: Sequence[Try], what: str) -> Payment:
    shares = subject.bench.shares(tries)
    best = max(range(len(tries)), key=lambda i: shares[i])
    one = _one(subject, *tries[best], what)
    return Payment(one.text, one.score, fmean(shares), one.row, one.ground_truth, what, one.parts)


def _one(subject: Subject, row: AuditRow, text: str, what: str) -> Payment:
    (score,) = subject.bench.scores([(row, text)])
    value = 0.0 if score is None else score.score
    share = (value - subject.bench.low) / subject.bench.span if score is not None else 0.0
    parts = dict(score.parts) if score is not None else {}
    return Payment(text, value, share, row.item.row, row.item.ground_truth, what, parts)
