"""Groups of samples. A group consists of the responses to one prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from rewardkit.messages import plain_prompt
from rewardkit.types import Sample, fits

GROUP_KEYS = ("group", "uid", "prompt_id")
"""Keys of `extra_info` that may name the group of a sample, in order of precedence."""

LOOKS_AT_GROUPS = "looks at all responses to a prompt at once"
"""Phrase in every error message about a group reward that received only one response."""


def group_of(sample: Sample) -> str:
    """Return the key of a sample's group, which all samples of the group share.

    The key is the group that the row or its `extra_info` names. If neither names a group, the key consists of
    the data source, prompt and ground truth.
    """
    if sample.group is not None:
        return json.dumps([sample.data_source, sample.group])
    for key in GROUP_KEYS:
        if (named := sample.extra_info.get(key)) is not None:
            return json.dumps([sample.data_source, key, named], default=str)
    return json.dumps([sample.data_source, plain_prompt(sample.prompt), sample.ground_truth], default=str)


def needs_group(data_source: str, instead: str) -> str:
    """Return a message that explains why a single response is not scored.

    A group reward compares responses, so a single response has no meaningful score.

    Args:
        data_source: Data source of the sample.
        instead: Advice on how to score the response.
    """
    return f"the reward of '{data_source}' {LOOKS_AT_GROUPS}, but was given only one response; {instead}"


def group_places(samples: Sequence[Sample]) -> list[list[int]]:
    """Return the indices of the samples in each group. Groups are ordered by their first sample."""
    places: dict[str, list[int]] = {}
    for i, sample in enumerate(samples):
        places.setdefault(group_of(sample), []).append(i)
    return list(places.values())


class Peekable(Iterator[Sample]):
    """Iterator over samples that can look ahead to the next sample."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._rest = iter(samples)
        self._next: Sample | None = None

    def __next__(self) -> Sample:
        if self._next is not None:
            sample, self._next = self._next, None
            return sample
        return next(self._rest)

    def next_belongs_to(self, sample: Sample) -> bool:
        """Return True if there is a next sample and it is in the same group as this one."""
        if self._next is None:
            self._next = next(self._rest, None)
        following = self._next
        return following is not None and fits(following) and group_of(following) == group_of(sample)
