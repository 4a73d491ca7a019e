"""Execution of the members of compositions. The module `combining` combines their scores.

If all members may run in the calling thread, samples are scored there one by one. Otherwise a batch is scored
in rounds, and each member has its own workers and time limit.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from rewardkit import pickling
from rewardkit.composition.combining import combine
from rewardkit.composition.tree import Combine, Composition, CompositionNode, Member, asks_models, walk
from rewardkit.registry import Registry, Reward, Running
from rewardkit.reward_options import NoOptions
from rewardkit.scoring.runner import RewardRunner, is_async
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import COST_PARTS, COSTS, OVERRULED, UNDECIDED, Sample, Score
from rewardkit.user_files import UserFile, import_as_read, user_reward_file

BATCH_TIMEOUT_S = 86_400.0
"""Time limit of a batch.

Each member has its own time limit, which normally ends a batch much earlier.
"""


def runs_inline(composition: Composition) -> bool:
    """Return True if all members may run in the calling thread, one sample at a time."""
    return all(
        m.reward.running.runs == "inline" and not m.reward.running.batch and not is_async(m.reward)
        for m in composition.members
    )


def reward_from(composition: Composition) -> Reward:
    """Create a reward from a composition, ready to be registered."""
    inline = runs_inline(composition)
    reads = tuple(sorted({name for member in composition.members for name in member.reward.reads}))
    made = Reward(
        name=composition.name,
        version=composition.version,
        target=InlineComposite(composition) if inline else BatchComposite(composition),
        data_sources=composition.data_sources,
        parts=(
            *(member.path for member in composition.members),
            *((*COST_PARTS, OVERRULED) if asks_models(composition.root) else ()),
            *((UNDECIDED,) if any(UNDECIDED in m.reward.parts for m in composition.members) else ()),
        ),
        options_type=NoOptions,
        reads=reads if inline else tuple(sorted({*reads, "extra_info", "prompt"})),
        summary=f"Composition: {composition.root.label} of {len(composition.members)} rewards",
        running=Running(
            runs="inline" if inline else "process",
            needs={
                k: extra for member in composition.members for k, extra in member.reward.running.needs.items()
            },
        ),
    )
    if inline:
        return made
    by_group = any(member.reward.running.by_group for member in composition.members)
    return made.with_running(batch=True, finds_groups=by_group, processes=1, timeout_s=BATCH_TIMEOUT_S)


class InlineComposite:
    """Composition that scores one sample at a time in the calling thread."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self._members = [_Inline(member) for member in composition.members]

    def __call__(self, sample: Sample, options: NoOptions) -> Score:
        """Return the composition's score for a sample. Only members that affect the score are run."""
        known: dict[str, Score] = {}

        def lookup(member: Member) -> Score | None:
            score = known.get(member.path)
            if score is None:
                score = known[member.path] = self._members[member.index].score(sample)
            return score

        found = combine(self.composition.root, lookup)
        assert found is not None
        return with_parts(found, known, self.composition.root)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpickled, (InlineComposite, *_pickled(self.composition))

    def explain(self, sample: Sample) -> CompositionExplanation:
        """Return the tree of the composition, with each member's score for a sample."""
        return _explained(self.composition, self(sample, NoOptions()))


class _Inline:
    """Member that is called in the current thread."""

    def __init__(self, member: Member) -> None:
        self.runner = RewardRunner(member.reward, member.options)
        self.call = self.runner.reward.function
        self.options = member.options

    def score(self, sample: Sample) -> Score:
        return self.runner.run_one(sample)


class BatchComposite:
    """Composition that scores a batch in rounds.

    Each round requests the scores that are needed next from all members at once.
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self._scorers: dict[int, Scorer] = {}

    def __call__(self, samples: list[Sample], options: NoOptions) -> list[Score]:
        """Return the composition's scores, in order."""
        rounds = _Rounds(self.composition, samples)
        while (asked := rounds.asked()) is not None:
            pending = [
                (member, places, self._scorer(member).submit([samples[i] for i in places]))
                for member, places in asked
            ]
            for member, places, scores in pending:
                rounds.put(member, places, scores.wait())
        return rounds.results()

    def _scorer(self, member: Member) -> Scorer:
        """Return a scorer that uses this member for every data source. The scorer is created on first use."""
        if member.index not in self._scorers:
            registry = Registry()
            registry.use_for_all(member.reward)
            self._scorers[member.index] = Scorer(registry=registry)
            atexit.register(self._scorers[member.index].close)
        return self._scorers[member.index]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpickled, (BatchComposite, *_pickled(self.composition))

    def explain(self, sample: Sample) -> CompositionExplanation:
        """Return the tree of the composition, with each member's score for a sample."""
        return _explained(self.composition, self([sample], NoOptions())[0])


class _Rounds:
    """Scores known so far for a batch, and requests for the scores that are needed next."""

    def __init__(self, composition: Composition, samples: Sequence[Sample]) -> None:
        self.root = composition.root
        self.known: list[dict[str, Score]] = [{} for _ in samples]
        self.found: list[Score | None] = [None] * len(samples)

    def asked(self) -> list[tuple[Member, list[int]]] | None:
        """Return the members to run next, each with its samples' indices, or None if all are scored."""
        members: dict[str, tuple[Member, list[int]]] = {}
        for i, known in enumerate(self.known):
            if self.found[i] is None:
                self.found[i] = combine(self.root, partial(_look, i=i, known=known, members=members))
        return list(members.values()) or None

    def put(self, member: Member, places: list[int], scores: Sequence[Score]) -> None:
        """Store the scores of a member for the samples with these indices."""
        for i, score in zip(places, scores, strict=True):
            self.known[i][member.path] = score

    def results(self) -> list[Score]:
        """Return the composition's score for each sample, in order."""
        return [
            with_parts(score, known, self.root)
            for score, known in zip(self.found, self.known, strict=True)
            if score
        ]


def _look(
    member: Member, i: int, known: dict[str, Score], members: dict[str, tuple[Member, list[int]]]
) -> Score | None:
    """Return a member's score for sample `i`, or request the score and return None."""
    score = known.get(member.path)
    if score is None:
        members.setdefault(member.path, (member, []))[1].append(i)
    return score


def with_parts(found: Score, known: dict[str, Score], root: CompositionNode) -> Score:
    """Return a score whose parts are the members' scores by path and the costs of calling models.

    The costs of failed members are included, but their scores are left out.
    """
    parts = {path: score.score for path, score in known.items() if score.status == "ok"}
    judged = [score.parts for score in known.values() if score.parts.keys() >= COSTS]
    if judged:
        costs = {name: sum(one[name] for one in judged) for name in COST_PARTS}
        parts |= costs | {OVERRULED: float(any(_overruled(node, known) for node in walk(root)))}
    if any(UNDECIDED in score.parts for score in known.values()):
        parts[UNDECIDED] = found.parts.get(UNDECIDED, 0.0)
    value = found.score if found.status == "ok" else 0.0
    return Score(value, found.status, found.correct, found.extracted, parts, found.detail)


def _overruled(node: CompositionNode, known: dict[str, Score]) -> bool:
    """Return True if a model accepted a response that an earlier rule in a `first` node had not accepted."""
    if not isinstance(node, Combine) or node.kind != "first":
        return False
    asked = [(item, known[item.path]) for item in node.items if item.path in known]
    decided = [(asks_models(item), score.correct) for item, score in asked if score.status == "ok"]
    return decided[-1:] == [(True, True)] and any(not models for models, _ in decided[:-1])


@dataclass(frozen=True)
class Branch:
    """Item in a composition's tree."""

    depth: int
    """Number of items above this item."""
    role: str
    """`then` or `else` for the items of a gate, and "" for any other item."""
    label: str
    score: float | None
    """Score of a member, or None for a combining node or a member without a score."""
    asked: bool
    """True for a combining node or a member with a score."""


@dataclass(frozen=True)
class CompositionExplanation:
    """Tree of a composition, with the score of each member."""

    tree: str
    score: Score
    members: tuple[Branch, ...]
    """Items of the tree, from the root down, for drawing the tree."""

    def __str__(self) -> str:
        lines = [self.tree, ""]
        lines += [f"  {path}: {value:g}" for path, value in self.score.parts.items() if isfinite(value)]
        outcome = f"{self.score.score:g}" if self.score.status == "ok" else self.score.status
        return "\n".join([*lines, f"  = {outcome} ({self.score.detail})"])


def _explained(composition: Composition, score: Score) -> CompositionExplanation:
    return CompositionExplanation(composition.draw(), score, tuple(_branches(composition.root, score)))


def _branches(node: Member | Combine, score: Score, depth: int = 0, role: str = "") -> Iterator[Branch]:
    weight = "" if node.weight == 1.0 else f" x {node.weight:g}"
    found = score.parts.get(node.path) if isinstance(node, Member) else None
    value = found if found is not None and isfinite(found) else None
    yield Branch(
        depth, role, f"{node.label}{weight}", value, asked=isinstance(node, Combine) or value is not None
    )
    if isinstance(node, Combine):
        for how, below in (("", node.items), ("then", node.then), ("else", node.otherwise)):
            for item in below:
                yield from _branches(item, score, depth + 1, how)


def _pickled(composition: Composition) -> tuple[list[UserFile], bytes]:
    """Return a pickled composition, and the reward files that another process must import before it unpickles
    the composition."""
    files = [user_reward_file(member.reward.target) for member in composition.members]
    return [file for file in files if file], pickling.dumps(composition)


def _unpickled(kind: type[Any], files: list[UserFile], composition: bytes) -> Any:
    import_as_read(files)
    return kind(pickling.loads(composition))
