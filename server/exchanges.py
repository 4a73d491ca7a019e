"""Exchanges, each with a pair of functions for one kind of request.

One function reads the samples, and the other converts their Scores to the answer. Both functions are pure, so
the event loop can handle a small request, and a scoring process (`request_runner`) can handle a large
request. Nothing in this module depends on HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rewardkit.errors import InputError
from rewardkit.groups import LOOKS_AT_GROUPS, group_places, needs_group
from rewardkit.registry import REGISTRY
from rewardkit.server.tasks import TaskSet
from rewardkit.server.wire import Reply
from rewardkit.types import Sample, Score, failure

if TYPE_CHECKING:
    from rewardkit.server.ground_truths import GroundTruthIndex

SEND_GROUP = "send all responses to the prompt in one list to POST /score"
"""Advice for a single response whose reward compares several responses to a prompt."""

NO_DATA_SOURCE = (
    "no data source given: put it in the path, send a label "
    '{"data_source": ..., "ground_truth": ...}, or start the server with --gold'
)


@dataclass(frozen=True)
class ServedRows:
    """Rows and settings that exchanges use. Each scoring process gets a copy."""

    ground_truths: GroundTruthIndex | None = None
    tasks: Mapping[str, TaskSet] = field(default_factory=dict)
    """Task sets for environment protocols, by name."""
    on_failure: float = 0.0
    """Reward for a sample that could not be scored."""


class SampleOrProblem(NamedTuple):
    """A sample, with the problem that prevents scoring it, or None if there is no problem."""

    sample: Sample
    problem: str | None = None


@dataclass(slots=True)
class Question:
    """Content of a request: its samples, and other data that the answer needs."""

    samples: list[Sample]
    problems: dict[int, str] = field(default_factory=dict)
    """Problems that prevent scoring a sample, by the sample's index."""
    scorable: list[Sample] = field(default_factory=list, init=False)
    """Samples without a problem, which `read_question` selects."""
    about: Any = None
    """Other data for the answer."""
    timeout_s: float | None = None
    """Time limit in seconds that the body sets."""


Read = Callable[[ServedRows, bytes, str | None], Question]
"""Function that reads a request: (rows, body, data source from the path or another value) -> question."""

Answer = Callable[[ServedRows, Question, Sequence[Score]], Reply]
"""Function that makes an answer: (rows, question, a Score for each sample) -> reply."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A kind of request. Its functions are sent to scoring processes by name.

    Attributes:
        read: Function that reads a request.
        answer: Function that makes the answer.
        timeout_s: Time limit for scoring in seconds, unless the request sets one, or None for the default.
        has_status: True if the answer can report that a sample could not be scored. If False, a request
            without any usable sample is refused, because the number returned for a failure would look like a
            score.
        whole_groups: True if the samples in a request include all responses to their prompts. This is False
            for trainers that send each response of a group separately.
    """

    read: Read
    answer: Answer
    timeout_s: float | None = None
    has_status: bool = False
    whole_groups: bool = False


def question_of(
    asked: Iterable[SampleOrProblem], about: Any = None, *, timeout_s: float | None = None
) -> Question:
    """Return the question with these samples."""
    asked = list(asked)
    problems = {i: one.problem for i, one in enumerate(asked) if one.problem}
    return Question([one.sample for one in asked], problems, about, timeout_s)


def read_question(exchange: Exchange, rows: ServedRows, body: bytes, named: str | None) -> Question:
    """Read a request, and find the samples that cannot be scored.

    Args:
        exchange: Kind of the request.
        rows: Rows and settings of the server.
        body: Body of the request.
        named: Data source from the path, or another value that is not in the body, or None.

    Raises:
        InputError: The body cannot be read, the request has no data source, or all its rewards compare groups
            but no group has two responses.
        UnknownDataSourceError: All data sources are unknown.
    """
    question = exchange.read(rows, body, named)
    if not exchange.has_status:
        _refuse_misaddressed(rows, question)
    if not exchange.whole_groups:
        _refuse_alone(question, all_of_them=not exchange.has_status)
    question.scorable = _scorable(question)
    return question


def refuse_each_of_a_group(question: Question) -> None:
    """Add a problem to each sample whose reward compares groups, because the samples do not form groups."""
    for i, sample in enumerate(question.samples):
        if sample.known is None and REGISTRY.looks_at_groups(sample.data_source):
            question.problems[i] = needs_group(sample.data_source, SEND_GROUP)


def _scorable(question: Question) -> list[Sample]:
    if not question.problems:
        return question.samples
    return [sample for i, sample in enumerate(question.samples) if i not in question.problems]


class Answered(NamedTuple):
    """Answer to a request, with its Scores and the problems to log."""

    reply: Reply
    scores: Sequence[Score]
    """Score for each sample."""
    problems: Sequence[str]
    """Problems of the request, which the server logs."""


def answered(exchange: Exchange, rows: ServedRows, question: Question, scored: Sequence[Score]) -> Answered:
    """Answer a request.

    Args:
        exchange: Kind of the request.
        rows: Rows and settings of the server.
        question: Content of the request.
        scored: A Score for each sample in `question.scorable`.

    Raises:
        InputError: The request needs ground truths but has none, and the answer cannot say so.
    """
    scores = scored
    problems: list[str] = []
    if question.problems:
        problems = sorted(set(question.problems.values()))[:_MAX_PROBLEMS]
        rest = iter(scored)
        scores = [
            failure("invalid", question.problems[i]) if i in question.problems else next(rest)
            for i in range(len(question.samples))
        ]
    without = None if exchange.whole_groups else _without_truths(rows, question, scores)
    if without is not None:
        if not exchange.has_status:
            raise InputError(without)
        problems.append(without)
    return Answered(exchange.answer(rows, question, scores), scores, problems)


_MAX_PROBLEMS = 20
"""Maximum number of different problems of a request that are logged."""


def _refuse_misaddressed(rows: ServedRows, question: Question) -> None:
    """Refuse a request if no data source in it is known."""
    if not question.samples:
        return
    problems = question.problems
    if (
        rows.ground_truths is None
        and len(problems) == len(question.samples)
        and set(problems.values()) == {NO_DATA_SOURCE}
    ):
        raise InputError(NO_DATA_SOURCE)
    sources = {sample.data_source for sample in question.samples} if not problems else set()
    if sources and all(REGISTRY.find(source) is None for source in sources):
        raise REGISTRY.unknown(min(sources))


def _refuse_alone(question: Question, *, all_of_them: bool) -> None:
    """Add a problem to each sample that is alone in its group although its reward compares groups.

    Raises:
        InputError: All samples have this problem, and `all_of_them` is true.
    """
    sources = {sample.data_source for sample in question.samples}
    by_group = {source for source in sources if REGISTRY.looks_at_groups(source)}
    if not by_group:
        return
    problems = question.problems
    places = [
        i for i, sample in enumerate(question.samples) if sample.data_source in by_group and i not in problems
    ]
    for group in group_places([question.samples[i] for i in places]):
        if len(group) == 1:
            alone = places[group[0]]
            problems[alone] = needs_group(question.samples[alone].data_source, SEND_GROUP)
    refused = len(problems) == len(question.samples) and all(LOOKS_AT_GROUPS in p for p in problems.values())
    if all_of_them and refused:
        raise InputError(problems[0])


def _without_truths(rows: ServedRows, question: Question, scores: Sequence[Score]) -> str | None:
    """Return an error message if a request needs ground truths but has none, else None.

    A sample without a ground truth gets the status `invalid` only if its reward needs a ground truth.
    """
    if rows.ground_truths is not None or not question.samples or question.problems:
        return None
    if any(sample.ground_truth for sample in question.samples):
        return None
    if any(score.status != "invalid" for score in scores):
        return None
    why = scores[0].detail
    return f"the request has no ground truth ({why}): send one, or start the server with --gold"
