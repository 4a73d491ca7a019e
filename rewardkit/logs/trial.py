"""Trials that find out which columns of a log contain the response, the ground truth and the data source.

A trial scores the first rows with each candidate for the response, the ground truth and the data source. Each
such combination is called a reading. The reading whose scores agree with the log's own verdicts is used.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rewardkit.errors import InputError
from rewardkit.files.records import BadRowError, RawRow
from rewardkit.logs.candidates import (
    Label,
    Verdicts,
    beside,
    cells_of,
    findings_in,
    ground_truths_in,
    is_ground_truth_name,
    labels_in,
    parallel_to,
    responses_in,
    said_in,
    verdicts_of,
)
from rewardkit.logs.kind import SkippedRowError
from rewardkit.registry import REGISTRY
from rewardkit.row_reports import own_failure
from rewardkit.rows import Fields, RowNames, ground_truth_text, plain_mapping, prompt_of
from rewardkit.types import Sample, Score

if TYPE_CHECKING:  # Scorer is imported late because workers run no trials.
    from rewardkit.scoring.scorer import Scorer

ROWS = 50
"""Maximum number of rows to score."""
AGREES = 0.8
"""Minimum share of rows in which a reading must agree with the log's verdicts. In 50 logs with verdicts, the
right reading agrees in 90 to 100 percent of the rows, and readings of wrong columns agree in 64 percent or
less. This limit cannot distinguish rewards, because an unintended reward may agree in 95 percent. Therefore,
the reading with the best agreement is used."""
_LENIENT = 0.9
"""Minimum share for rewards with an option that lets them guess. It replaces `AGREES` for such rewards."""
_OF_EACH = 0.5
"""Minimum share of agreement both among the right rows and among the wrong rows. Without this limit, a
reading that calls every response right would agree with a log in which 90 percent of the responses are
right."""
_FOUND = 0.3
"""Minimum share of right responses in a log without verdicts. With fewer, a reading may be a coincidence."""
_OFFERED = 0.2
"""Minimum share of right rows at which a reading is suggested to the user."""
_ALL_RIGHT = 3
"""Minimum number of responses that a log must have to count as evidence if it calls all of them right."""
_LIKELY = 0.6
"""Minimum share of agreement with a log's verdicts at which a reading is suggested to the user."""
_CHARACTERS = 2_000_000
"""Maximum total number of characters in the scored rows. It limits the number of very long rows."""
_PROGRAMS = 8
"""Maximum number of programs to run in order to compare a reward for code with a log's verdicts."""
_PAIRS = 12
"""Approximate number of pairs of response and ground-truth columns to try."""

UNREADABLE = (
    *(BadRowError, SkippedRowError, InputError),
    *(KeyError, TypeError, AttributeError, IndexError),
)
"""Exceptions raised while reading a row that does not have the form of its kind, or has no response."""

Read = Callable[[RowNames], Callable[[RawRow], Fields]]
"""Function that takes the names of the fields, and returns a function that extracts the fields of a row."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Possible choice of columns and data source for a log, with its fit to the first rows."""

    names: RowNames
    source: str | None
    """Data source of all rows, or None to use the data sources in the rows."""
    rows: int
    right: int
    """Number of responses that are scored as right, out of `rows`."""
    paid: frozenset[int] = frozenset()
    """Indices of the responses that are scored as right."""
    invalid: int = 0
    """Number of responses whose ground truth cannot be used."""
    label: str = ""
    """Name of the log's verdicts with the best agreement; empty if the log has no verdicts."""
    agreeing: int = 0
    compared: int = 0
    """Number of verdicts that were compared. Of these, `agreeing` are the same."""
    agrees: bool = False
    """True if the agreement is good enough to use the reading."""

    @property
    def figure(self) -> str:
        """Description of the fit in words."""
        if self.label and self.share < 0.5:
            return f"disagrees with '{self.label}' in {self.compared - self.agreeing} of {self.compared} rows"
        if self.label:
            return f"agrees with '{self.label}' in {self.agreeing} of {self.compared} rows"
        return f"{self.right} of {self.rows} responses are right"

    @property
    def share(self) -> float:
        """Fit as a number from 0 to 1."""
        return self.agreeing / self.compared if self.label else self.right / max(1, self.rows)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Result of a trial."""

    taken: Reading | None = None
    offered: tuple[Reading, ...] = ()
    """Readings to suggest to the user if no reading is used, the best reading first."""
    responses: tuple[str, ...] = ()
    """Columns that may contain the responses if no reading is used, the most likely column first."""
    parallel: bool = False
    """True if all columns in `responses` contain responses, for example from different models. The user must
    then choose one column."""
    tried: bool = False
    """True if at least one reward was tried."""
    refused: Reading | None = None
    """Reading with the data source that the log names, if the log's own verdicts contradict this reading."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Input for a trial: the rows and all known facts about them."""

    rows: Sequence[RawRow] = field(compare=False)
    names: RowNames
    """Names that are known or were inferred from column names."""
    chosen: RowNames
    """Names specified by the user."""
    is_kind: bool
    """True if the log is of a known kind, so that its responses and ground truths are known."""
    source: str | None
    """Data source specified by the user, which takes precedence."""
    options: Mapping[str, Mapping[str, Any]] = field(compare=False)
    """Options for rewards, by data source."""
    joined: bool
    """True if the ground truths are in another file."""
    key: bytes
    """Digest of the rows and all settings, from `key_of`."""
    read: Read = field(compare=False)
    facts: Callable[[RawRow], Mapping[str, Any]] = field(compare=False)


def key_of(rows: Sequence[RawRow], *more: object) -> bytes:
    """Return a digest of the rows in a trial and of everything else that affects its result."""
    content = repr((rows, more, REGISTRY.readings()))
    return hashlib.blake2b(content.encode("utf-8", "backslashreplace")).digest()


def first_rows(rows: Sequence[RawRow]) -> list[RawRow]:
    """Return the first rows to try, without rows that report failures."""
    found: list[RawRow] = []
    size = 0
    for row in rows[:ROWS]:
        if own_failure(row) is not None:  # Failed rows are neither right nor wrong.
            continue
        size += len(str(row))
        if found and size > _CHARACTERS:
            break
        found.append(row)
    return found


@lru_cache(maxsize=16)
def try_readings(trial: Trial) -> TrialResult:
    """Try possible readings of the rows, and return the result. Results for the same rows are cached."""
    from rewardkit.scoring.scorer import Scorer

    cells = cells_of(trial.rows)
    known = (trial.names.response, trial.names.ground_truth)
    labels = [label for label in labels_in(cells) if trial.is_kind or label.name not in known]
    labels += _told_labels(trial) if trial.is_kind else []
    if not labels and _says_all(trial) and not _findings(trial, cells, trial.names):
        return TrialResult()
    with Scorer(options=trial.options, workers=1) as scorer:
        if trial.is_kind:
            return _of_kind(trial, cells, labels, scorer)
        return _of_columns(trial, cells, labels, scorer)


def _says_all(trial: Trial) -> bool:
    """Return True if the log or the user specifies all columns and a data source that has a reward."""
    asked = _responses(trial.rows, trial.read(trial.names))
    return bool(asked) and all(REGISTRY.find(one.sample.data_source) for one in asked)


def _findings(trial: Trial, cells: Mapping[str, Sequence[Any]], names: RowNames) -> list[Label]:
    if trial.is_kind or names.response is None or names.ground_truth is None:
        return []
    return findings_in(cells, names.response, names.ground_truth)


def _told_labels(trial: Trial) -> list[Label]:
    """Return the verdicts in a log of a known kind."""
    facts = []
    for row in trial.rows:
        try:
            facts.append(trial.facts(row))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError):
            facts.append({})
    found = []
    for name in ("correct", "score"):
        verdicts = verdicts_of([one.get(name) for one in facts])
        if verdicts is not None:
            found.append(Label(name, verdicts))
    return found[:1]


def _of_kind(
    trial: Trial, cells: Mapping[str, Sequence[Any]], labels: Sequence[Label], scorer: Scorer
) -> TrialResult:
    readings = _rated(trial, trial.names, labels, scorer)
    if not readings and not trial.joined and trial.chosen.ground_truth is None:
        said = _said(trial.rows, trial.read(trial.names))
        for ground_truth in ground_truths_in(cells, said, None, trial.names, labels) if any(said) else ():
            if is_ground_truth_name(ground_truth):
                names = replace(trial.names, ground_truth=ground_truth)
                readings += _rated(trial, names, labels, scorer)
    taken = _best(trial, readings)
    told = _told(trial, readings)
    if taken is None and told is not None:
        return TrialResult(refused=told) if _contradicted(told, labels) else TrialResult(told)
    if taken is None and not _says_something(labels):
        taken = _undisputed(readings)
    return (
        TrialResult(taken) if taken else TrialResult(offered=_worth_offering(readings), tried=bool(readings))
    )


def _of_columns(
    trial: Trial, cells: Mapping[str, Sequence[Any]], labels: Sequence[Label], scorer: Scorer
) -> TrialResult:
    responses = [trial.chosen.response] if trial.chosen.response else responses_in(cells, trial.names, labels)
    tried: list[Reading] = []
    by_name: list[Reading] = []
    unnamed: list[Reading] = []
    for response in responses:
        truths = _ground_truths(trial, cells, response, labels)
        mine: list[Reading] = []
        for ground_truth in truths[: max(1, _PAIRS - len(tried))]:
            names = replace(trial.names, response=response, ground_truth=ground_truth)
            names = replace(names, prompt=None) if names.prompt == response else names
            near = [*beside(labels, response), *_findings(trial, cells, names)]
            mine += _rated(trial, names, near, scorer, alone=len(responses) == 1)
        taken = _best(trial, mine)
        if taken is not None:
            others = parallel_to(response, responses)
            if others and not trial.chosen.response:
                return TrialResult(responses=(response, *others), parallel=True)
            return TrialResult(taken)
        tried += mine
        first = [one for one in mine if one.names.ground_truth == truths[0]] if truths else []
        if response in (trial.chosen.response, trial.names.response):
            by_name = first
        elif (one := _undisputed(first)) is not None and one.right < one.rows:
            unnamed.append(one)  # If all rows are right, the column may be a reference solution.
    told = _told(trial, by_name)
    if told is not None:
        return TrialResult(refused=told) if _contradicted(told, labels) else TrialResult(told)
    if not _says_something(labels):
        sure = _undisputed(by_name) if by_name else unnamed[0] if len(unnamed) == 1 else None
        if sure is not None:
            return TrialResult(sure)
    right: dict[str | None, int] = {}
    for one in tried:
        right[one.names.response] = max(one.right, right.get(one.names.response, 0))
    most = max(right.values(), default=0)
    likely = [name for name in responses if 2 * right.get(name, 0) >= most]
    worth = _worth_offering([one for one in tried if one.label or one in by_name or one in unnamed])
    return TrialResult(offered=worth, responses=tuple(likely), tried=bool(tried))


def _told(trial: Trial, readings: Sequence[Reading]) -> Reading | None:
    """Return the reading with the data source that the user or the log names, or None."""
    return next((one for one in readings if one.source in (None, trial.source)), None)


def _best(trial: Trial, readings: Sequence[Reading]) -> Reading | None:
    """Return the reading that agrees with the log's own verdicts, or None.

    A reading with the data source that the user or the log names is preferred. Otherwise, the reading with
    the best agreement is returned.
    """
    agreeing = [one for one in readings if one.agrees]
    return _told(trial, agreeing) or max(agreeing, key=lambda one: (one.share, -one.invalid), default=None)


def _ground_truths(
    trial: Trial, cells: Mapping[str, Sequence[Any]], response: str, labels: Sequence[Label]
) -> Sequence[str | None]:
    if trial.joined:
        return [None]
    if trial.chosen.ground_truth:
        return [trial.chosen.ground_truth]
    said = ["\n".join(said_in(value)) for value in cells.get(response, ())]
    return ground_truths_in(cells, said, response, trial.names, labels)


def _says_something(labels: Iterable[Label]) -> bool:
    """Return True if the log has verdicts of its own, at least one of which says that a response is right."""
    return any(label.is_named and True in {*_flat(label.verdicts)} for label in labels)


def _flat(verdicts: Verdicts) -> list[bool | None]:
    return [one for row in verdicts for one in (row if isinstance(row, list) else [row])]


def _contradicted(told: Reading, labels: Sequence[Label]) -> bool:
    """Return True if most of the log's verdicts contradict the reading, and the user named no data source."""
    return told.source is None and bool(told.label) and _says_something(labels) and told.share < 0.5


def _undisputed(readings: Sequence[Reading]) -> Reading | None:
    """Return a plain reading that scores a response as right whenever any plain reading does, or None.

    A reading is plain if its reward has no options. If there are several such readings, the result is the one
    with the fewest unusable ground truths.
    """
    plain = [one for one in readings if ":" not in (one.source or "")]
    paid = frozenset[int]().union(*(one.paid for one in plain))
    if len(paid) < 2:
        return None
    found = min((one for one in plain if one.paid == paid), key=lambda one: one.invalid, default=None)
    return replace(found, label="") if found and found.right >= _FOUND * found.rows else None


def _worth_offering(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return the readings whose number of right rows is no coincidence, the best reading first."""
    kept = [one for one in readings if one.right >= max(1, _OFFERED * one.rows)]
    kept = [one for one in kept if not one.label or one.compared >= _ALL_RIGHT]
    kept = [one for one in kept if (one.share >= _LIKELY if one.label else ":" not in (one.source or ""))]
    return tuple(sorted(kept, key=lambda one: (-one.share, -one.right))[:3])


# --- scoring --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Response:
    """Response with its row and its position in the row."""

    row: int
    place: int
    of: int
    """Number of responses in the row."""
    sample: Sample


def _rated(
    trial: Trial, names: RowNames, labels: Sequence[Label], scorer: Scorer, *, alone: bool = True
) -> list[Reading]:
    """Return a reading of the rows with these names for each data source to try, the log's own first.

    Args:
        trial: Input for the trial.
        names: Names of the fields.
        labels: Verdicts in the log.
        scorer: Scorer for the responses.
        alone: True if no other column is a candidate for the response.
    """
    asked = _responses(trial.rows, trial.read(names))
    if not asked:
        return []
    told = [reward for one in asked if (reward := REGISTRY.find(one.sample.data_source)) is not None]
    if all(reward.readings for reward in told):
        sources = _sources(trial, asked, scorer, is_told=bool(told))
    elif labels and all(reward.running.runs == "sandbox" for reward in told):
        sources, asked = [trial.source], asked[:_PROGRAMS]
    else:
        return []  # Rewards that call a model are too expensive for a trial.
    samples = [_under(one.sample, source) for source in sources for one in asked]
    scores = scorer.score_batch(samples)
    is_known = trial.is_kind or names.response in (trial.names.response, trial.chosen.response) or alone
    is_true = names.ground_truth is None or is_ground_truth_name(names.ground_truth)
    found = []
    for i, source in enumerate(sources):
        mine = scores[i * len(asked) : (i + 1) * len(asked)]
        if not any(score.ok for score in mine):
            continue
        found.append(_reading(names, source, asked, mine, labels, is_known=is_known, is_true=is_true))
    return found


def _sources(trial: Trial, asked: Sequence[_Response], scorer: Scorer, *, is_told: bool) -> list[str | None]:
    """Return the data sources to try. None stands for each row's data source, which is never replaced."""
    if trial.source or is_told:
        return [trial.source]
    sources: list[str | None] = [*REGISTRY.readings()]
    if 2 * sum(bool(_MATHEMATICAL & {*one.sample.ground_truth}) for one in asked) < len(asked):
        marks = scorer.score_batch([_under(_ROUNDED, source) for source in sources])
        last = {source for source, score in zip(sources, marks, strict=True) if is_right(score)}
        sources.sort(key=lambda source: (":" in (source or ""), source in last))
    return sources


_ROUNDED = Sample("", "\\boxed{0.3333}", "1/3")
"""Sample that only rewards for mathematics score as right, because its answer is rounded. If ground truths
are words, these rewards are tried last."""
_MATHEMATICAL = {*"0123456789\\=^+"}


def _said(rows: Sequence[RawRow], read: Callable[[RawRow], Fields]) -> list[str]:
    """Return the text of the model's responses in each row."""
    found = []
    for row in rows:
        try:
            found.append("\n".join(said_in(read(row).response)))
        except UNREADABLE:
            found.append("")
    return found


def _responses(rows: Sequence[RawRow], read: Callable[[RawRow], Fields]) -> list[_Response]:
    found = []
    for i, row in enumerate(rows):
        with contextlib.suppress(*UNREADABLE):
            fields = read(row)
            truth = ground_truth_text(fields.ground_truth)
            said = said_in(fields.response)
            if truth is None:
                continue
            prompt, extra = prompt_of(fields.prompt), plain_mapping(fields.extra_info)
            source = "" if fields.data_source is None else str(fields.data_source)
            found += [
                _Response(i, place, len(said), Sample(source, text, truth, prompt, extra))
                for place, text in enumerate(said)
            ]
    return found[: 4 * ROWS]


def _under(sample: Sample, source: str | None) -> Sample:
    named = sample.data_source if source is None else source
    return Sample(named, sample.response, sample.ground_truth, sample.prompt, sample.extra_info)


def _reading(
    names: RowNames,
    source: str | None,
    asked: Sequence[_Response],
    scores: Sequence[Score],
    labels: Sequence[Label],
    *,
    is_known: bool,
    is_true: bool,
) -> Reading:
    marks = [score.ok and is_right(score) for score in scores]
    paid = frozenset(i for i, mark in enumerate(marks) if mark)
    invalid = sum(score.status == "invalid" for score in scores)
    best = Reading(names, source, len(asked), len(paid), paid, invalid)
    for label in labels:
        said = [_verdict(label.verdicts, one) for one in asked]
        pairs = [(mark, one) for mark, one in zip(marks, said, strict=True) if one is not None]
        if not pairs:
            continue
        agreeing = sum(mark == one for mark, one in pairs)
        if not best.label or agreeing / len(pairs) > best.share:
            is_lenient = ":" in (source or "")
            agrees = _agrees(pairs, is_known=is_known and is_true, is_lenient=is_lenient)
            agrees = agrees and (is_true or not is_lenient)
            best = replace(best, label=label.name, agreeing=agreeing, compared=len(pairs), agrees=agrees)
    return best


def is_right(score: Score) -> bool:
    """Return True if the response is right according to its score."""
    return score.score >= 1.0 if score.correct is None else score.correct


def _verdict(verdicts: Verdicts, one: _Response) -> bool | None:
    said = verdicts[one.row]
    if isinstance(said, list):
        return said[one.place] if len(said) == one.of else None
    return said if one.of == 1 else None


def _agrees(pairs: Sequence[tuple[bool, bool]], *, is_known: bool, is_lenient: bool) -> bool:
    """Return True if the marks in a reading agree with the verdicts in a log.

    Args:
        pairs: Mark and verdict of each response.
        is_known: True if the names identify the columns. Otherwise, a log in which all responses are right
            proves nothing, because a column of reference solutions would also be right.
        is_lenient: True if the reward may find an answer that the response does not state. In this case, more
            agreement is needed.
    """
    right = [mark for mark, said in pairs if said]
    wrong = [not mark for mark, said in pairs if not said]
    if not right or (is_lenient and not wrong):
        return False
    if not wrong and not (is_known and len(right) >= _ALL_RIGHT):
        return False
    enough = all(sum(some) >= _OF_EACH * len(some) for some in (right, wrong))
    least = _LENIENT if is_lenient else AGREES
    return enough and sum(right) + sum(wrong) >= least * len(pairs)
