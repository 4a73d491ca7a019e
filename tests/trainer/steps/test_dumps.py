"""Which responses of a run are kept to be looked at."""

from __future__ import annotations

from rewardkit.trainer.steps.dumps import few, has_samples


def test_few_responses_go_from_the_worst_to_the_best() -> None:
    assert few([0.5, 1.0, None, 0.0, 0.7]) == [2, 3, 0, 1]
    assert few([1.0, 0.0]) == [1, 0]
    assert few([]) == []


def test_responses_are_kept_of_ever_fewer_steps() -> None:
    assert all(has_samples(step) for step in range(101))
    assert [step for step in range(101, 150) if has_samples(step)] == [110, 120, 130, 140]
    assert sum(map(has_samples, range(1, 100_001))) < 500
