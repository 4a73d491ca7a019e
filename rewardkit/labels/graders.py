"""Additional graders, since a mistake by rewardkit's grader alone may look like a wrong ground truth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import msgspec

from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_OTHERS: Mapping[str, tuple[tuple[str, str, dict[str, Any]], ...]] = {
    "gsm8k": (
        ("verl", "gsm8k", {"compat": "verl"}),
        ("math-verify", "math", {"compat": "math_verify"}),
    ),
    "math": (
        ("verl", "math", {"compat": "verl_math_reward"}),
        ("math-verify", "math", {"compat": "math_verify"}),
    ),
    "math_dapo": (
        ("verl", "math", {"compat": "math_dapo"}),
        ("math-verify", "math", {"compat": "math_verify"}),
    ),
    "qa": (("verl", "qa", {"compat": "verl"}),),
}
"""Additional graders by name of the reward. Each grader has a name, and the reward and options that imitate
it."""
OURS = "rewardkit"
_READ_BY = {"gsm8k": "math"}
"""Data sources by name of a reward that requires a specific form of answers. The data source's reward reads
the same answers in any form (`#### 72`, a box, a sentence), so that responses from models that were not
trained for this form count, too."""


@dataclass(frozen=True)
class Grader:
    """Grader that decides whether a response gives a certain answer."""

    name: str
    scorer: Scorer
    data_source: str | None = None
    """Data source with which samples are scored, or None to use the samples' own data sources."""

    def taken(self, sample: Sample) -> Sample:
        """Return the sample with the data source of this grader."""
        if self.data_source is None:
            return sample
        return msgspec.structs.replace(sample, data_source=self.data_source)

    def right(self, samples: Iterable[Sample]) -> int:
        """Return the number of samples whose responses give their ground truths."""
        scores = self.scorer.score_batch([self.taken(sample) for sample in samples])
        return sum(score.correct is True for score in scores)


class Graders:
    """Graders by data source. This class is a context manager because graders have worker processes."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._stack = contextlib.ExitStack()
        self._others: dict[str, list[Grader]] = {}

    def __enter__(self) -> Graders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        self._stack.close()

    def of(self, data_source: str) -> list[Grader]:
        """Return the graders for a data source, beginning with rewardkit's.

        Raises:
            UnknownDataSourceError: The data source has no reward.
        """
        name = self._scorer.reward_for(data_source).name
        if name not in self._others:
            self._others[name] = [
                Grader(label, self._stack.enter_context(Scorer(options={source: options})), source)
                for label, source, options in _OTHERS.get(name, ())
                if label != "math-verify" or find_spec("math_verify")
            ]
        return [Grader(OURS, self._scorer, _READ_BY.get(name)), *self._others[name]]
