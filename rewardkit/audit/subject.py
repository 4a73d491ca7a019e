"""Preparation of an audit: the price of a score, the rows to use, the frames that pay, and the span."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Any

from rewardkit.audit.answers import AuditRow, differ, letter_of
from rewardkit.audit.bench import Bench, Try
from rewardkit.audit.frames import FRAMES, IDLE, SourceTexts, frame_asked, texts_of_reward, written
from rewardkit.composition.tree import scored_by
from rewardkit.errors import InputError
from rewardkit.registry import Reward
from rewardkit.rewards.judge.file import spending_of
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.scoring.scorer import Scorer

_FIRST = 24
_SCREENED, _SCREENED_DEAR = 8, 3
_CHEAP_S, _MODERATE_S, _DEAR_S = 8e-5, 1e-3, 0.02
"""Prices of a score, in seconds, that separate the scales below."""
_SCALES = ((_CHEAP_S, 60, 2_000), (_MODERATE_S, 30, 600), (_DEAR_S, 8, 200), (math.inf, 8, 60))
"""Upper bound of the price of a score, number of rows in each half, and number of texts to try in all rows.
There are few scales, so that the figures rarely depend on how busy the machine is."""
_TRIES_A_ROW, _TRIES = 80, 3_000
"""Approximate number of scores for one more row in each half, and for the texts that are screened."""
_MOST_FRAMES = 24
_MOST_OPTIONS = 10
_MOST_RESPONSES = 4
_PAYS, _NEARLY = 0.75, 0.95


@dataclass
class Subject:
    """Reward and rows that are audited, with the frames that pay right answers."""

    bench: Bench
    reward: Reward
    options: Any
    """Options of the reward."""
    picked: list[AuditRow]
    """Rows with which responses are chosen."""
    measured: list[AuditRow]
    """Other rows, with which the chosen responses are measured."""
    screened: int
    """Number of rows on which a text is tried first."""
    most_texts: int
    """Maximum number of texts that are tried in all rows."""
    texts: SourceTexts
    rng: random.Random
    frames: list[str]
    """All frames, with those from the reward's source."""
    paying: list[str]
    """Frames that pay right answers, beginning with the one that is audited. Empty if only whole responses
    pay, such as programs."""
    whole: list[str]
    """Kinds of whole responses that pay, from `wholes`."""

    @property
    def cheap(self) -> bool:
        """True if every text can be tried on many rows."""
        return self.bench.price_s < _CHEAP_S

    @property
    def frame(self) -> str:
        """Frame that is audited, or "" if only whole responses pay."""
        return self.paying[0] if self.paying else ""

    def right(self, row: AuditRow) -> str:
        """Return the right response to a row."""
        if self.frame and row.answer is not None:
            return written(self.frame, row.answer)
        return next((wholes(row)[kind] for kind in self.whole if kind in wholes(row)), row.answer or "")

    def others(self, row: AuditRow, count: int) -> list[AuditRow]:
        """Return other rows with other answers, chosen at random."""
        rows = self.picked + self.measured
        some = self.rng.sample(rows, min(len(rows), 4 * count + 4))
        return list(islice((other for other in some if differ(row, other)), count))


def wholes(row: AuditRow) -> dict[str, str]:
    """Return the whole right responses that a row has, by kind."""
    found = {"ground truth": row.item.ground_truth, "solution": row.solution, "real response": row.best}
    if row.solution and "```" not in row.solution:
        found["program"] = f"```python\n{row.solution}\n```"
    if row.solution and "<think>" not in row.solution:
        found["solution as thought"] = (
            f"<think>\n{row.solution}\n</think>\n<answer>{row.answer or ''}</answer>"
        )
    return {kind: text for kind, text in found.items() if text and text != row.answer}


def refuse(scorer: Scorer, data_source: str) -> Reward:
    """Return the reward of a data source if it can be audited.

    Raises:
        InputError: The reward compares responses, scores episodes, or asks paid models without a budget.
        UnknownDataSourceError: The data source has no reward.
    """
    reward = scorer.reward_for(data_source)
    if scorer.scores_by_group(data_source):
        raise InputError("the reward compares the responses to a prompt; audit a reward of single responses")
    if reward.of_episode:
        raise InputError("the reward reads the score of an episode; audit a reward of responses")
    for one, options in scored_by(reward, scorer.options_for(data_source)):
        if isinstance(options, JudgeOptions) and _is_paid(one, options) and not spending_of(one).has_budget:
            raise InputError("the judge has no budget; set budget_usd or budget_tokens in its file")
    return reward


def _is_paid(reward: Reward, options: JudgeOptions) -> bool:
    """Return True if a judge's requests have prices or need an API key."""
    keys = [options.api_key_env, *(model.api_key_env for model in options.models)]
    return bool(spending_of(reward).prices) or any(keys)


def prepare(
    rows: Sequence[AuditRow], scorer: Scorer, seconds: float, frame: str | None, rng: random.Random
) -> Subject:
    """Return the subject of an audit.

    Args:
        rows: Rows of one data source, in random order.
        scorer: Scorer with the reward.
        seconds: Time limit of the audit.
        frame: Frame that the user named, or None to find it.
        rng: Generator for all choices.

    Raises:
        InputError: The reward cannot be audited with these rows. The message says why.
    """
    reward = refuse(scorer, rows[0].item.data_source)
    if len(rows) < 4:
        raise InputError(f"{len(rows)} rows are too few for an audit, which needs at least 4")
    bench = Bench(scorer, seconds, inline=reward.running.runs == "inline")
    bench.measure([(row, written(FRAMES[0], row.answer or "")) for row in rows[:_FIRST]])
    dear = bench.price_s >= _DEAR_S
    texts = texts_of_reward(reward)
    few = min(len(rows) // 2, _SCREENED_DEAR if dear else _SCREENED)
    subject = Subject(
        bench,
        reward,
        scorer.options_for(rows[0].item.data_source),
        picked=list(rows[:few]),
        measured=list(rows[few : 2 * _SCREENED]),
        screened=few,
        most_texts=0,
        texts=texts,
        rng=rng,
        frames=list(dict.fromkeys((*filter(None, [frame]), *FRAMES, *texts.frames[:_MOST_FRAMES]))),
        paying=[],
        whole=[],
    )
    with bench.measured():
        rows = _find_frames(subject, frame, rows)
    _choose_rows(subject, rows)
    return subject


def _choose_rows(subject: Subject, rows: Sequence[AuditRow]) -> None:
    """Set the numbers of rows and of texts by the price of a score."""
    bench = subject.bench
    _, half, subject.most_texts = next(scale for scale in _SCALES if bench.price_s < scale[0])
    affordable = bench.left_s / 2 / bench.price_s
    half = int(max(_SCREENED, min(half, (affordable - _TRIES) / _TRIES_A_ROW)))
    half = min(half, len(rows) // 2)
    subject.picked, subject.measured = list(rows[:half]), list(rows[half : 2 * half])


def _find_frames(subject: Subject, given: str | None, rows: Sequence[AuditRow]) -> list[AuditRow]:
    """Set the frames that pay and the span of the scores, and return the rows with the answers to use.

    Raises:
        InputError: Nothing could be scored, or no frame pays.
    """
    rows = _with_letters(subject, rows)
    few = subject.picked = list(rows[: subject.screened])
    subject.measured = list(rows[subject.screened : 2 * _SCREENED])
    _choose_responses(subject, few)
    right = _means(subject.bench, {frame: list(framed(few, frame)) for frame in subject.frames})
    kinds = list(dict.fromkeys(kind for row in few for kind in wholes(row)))
    whole = _means(subject.bench, {kind: _whole(few, kind) for kind in kinds})
    swapped = _means(subject.bench, {frame: list(_swapped(subject, few, frame)) for frame in right})
    texts = (*(text for text, _ in IDLE[:4]), *subject.texts.texts)
    idle = _means(subject.bench, {text: [(row, text) for row in few] for text in texts})
    if not (right or whole) or not idle:
        late = "the time limit ended before the first scores; raise --seconds"
        raise InputError(f"no response could be scored: {subject.bench.why_failed() or late}")
    low = min((*idle.values(), *swapped.values()))
    high = max((*right.values(), *whole.values()))
    if high - low < 1e-9:  # everything earns the same
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < 1e-9:  # only a response without an answer may pay
        high = max(min(subject.bench.values([(r, text) for r in few]), default=0.0) for text in texts)
    if high - low < 1e-9:
        raise InputError(
            "no frame pays the ground truth; name the frame with --frame, such as --frame 'Answer: {}', or "
            "give real responses with --responses"
        )
    subject.bench.low, subject.bench.span = low, high - low
    best = max((*right.values(), *whole.values())) - low
    paying = [frame for frame in right if right[frame] - low >= _PAYS * best > 0]
    subject.whole = [kind for kind in whole if whole[kind] - low >= _PAYS * best > 0]
    top = max((right[frame] for frame in paying), default=0.0)
    good = [frame for frame in paying if right[frame] - low >= _NEARLY * (top - low)]
    asked = frame_asked([row.prompt for row in few], good) or frame_asked([r.solution for r in few], good)
    first = given if given in right else asked or next(iter(good), None)
    subject.paying = list(dict.fromkeys((*filter(None, [first]), *good, *paying)))
    if not subject.paying:
        _choose_responses(subject, rows[: 2 * _SCALES[0][1]])
    return list(rows)


def _with_letters(subject: Subject, rows: Sequence[AuditRow]) -> Sequence[AuditRow]:
    """Return the rows with letters for indices of options as answers, if the reward pays letters."""
    letters = [letter_of(row.answer or "") for row in rows]
    if None in letters or len(set(letters)) > _MOST_OPTIONS:
        return rows
    lettered = [replace(row, answer=letter) for row, letter in zip(rows, letters, strict=True)]
    plain, better = (
        max(_means(subject.bench, {f: list(framed(some, f)) for f in FRAMES}).values(), default=0.0)
        for some in (rows[: subject.screened], lettered[: subject.screened])
    )
    return lettered if better > plain else rows


def _choose_responses(subject: Subject, rows: Sequence[AuditRow]) -> None:
    """Set the real response to each row that earns the most."""
    for row in rows:
        texts = row.responses[:_MOST_RESPONSES]
        scores = subject.bench.scores([(row, text) for text in texts])
        values = [(score.score, text) for score, text in zip(scores, texts, strict=True) if score]
        row.best = max(values, default=(0.0, ""))[1]


def _means(bench: Bench, tries: dict[str, list[Try]]) -> dict[str, float]:
    """Return the mean value of each list of tries of which any could be scored."""
    bench.scores([one for some in tries.values() for one in some])
    return {name: fmean(values) for name, some in tries.items() if (values := bench.values(some))}


def framed(rows: Sequence[AuditRow], frame: str) -> Iterator[Try]:
    """Yield the right answer of each row in a frame."""
    return ((row, written(frame, row.answer)) for row in rows if row.answer is not None)


def _swapped(subject: Subject, rows: Sequence[AuditRow], frame: str) -> Iterator[Try]:
    for row in rows:
        for other in subject.others(row, 1):
            if other.answer is not None:
                yield row, written(frame, other.answer)


def _whole(rows: Sequence[AuditRow], kind: str) -> list[Try]:
    return [(row, wholes(row)[kind]) for row in rows if kind in wholes(row)]
