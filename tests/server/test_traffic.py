from __future__ import annotations

from rewardkit import Scorer
from rewardkit.server.observability.traffic import BINS, MAX_SOURCES, SECONDS, Traffic
from rewardkit.server.tally import OTHERS, SourceLabels, tally_of
from rewardkit.types import Sample, Score, failure

LABELS = SourceLabels(Scorer())


class Clock:
    now = 1000.5

    def __call__(self) -> float:
        return self.now


def sample(source: str = "gsm8k", response: str = "#### 1") -> Sample:
    return Sample(source, response, "1")


def record(traffic: Traffic, samples: list[Sample], scores: list[Score]) -> None:
    traffic.observe(tally_of(samples, scores, LABELS), 0.0)


def test_rates_means_and_failures_are_counted_per_data_source() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    record(
        traffic,
        [sample(), sample(), sample("math")],
        [Score(1.0, correct=True), Score(0.1, correct=False), Score(0.5)],
    )
    clock.now += 1
    record(traffic, [sample()], [failure("timeout", "too slow")])
    clock.now += 1
    seen = traffic.snapshot()["sources"]
    assert list(seen) == ["gsm8k", "math"]
    assert seen["gsm8k"]["per_second"][-2:] == [2, 1] and sum(seen["gsm8k"]["per_second"]) == 3
    assert seen["gsm8k"]["total"] == 3 and seen["gsm8k"]["failed"] == 1
    assert seen["gsm8k"]["mean"] == 0.55 and seen["gsm8k"]["correct"] == 0.5
    assert seen["math"]["correct"] is None  # this reward has called nothing right or wrong
    assert seen["gsm8k"]["scores"] == [(0.1, 1), (1.0, 1)]


def test_data_sources_and_aliases_are_added_up_under_their_reward() -> None:
    traffic = Traffic(Clock())
    right = Score(1.0, correct=True)
    record(traffic, [sample("openai/gsm8k"), sample("gsm8k"), sample("math")], [right, right, right])
    seen = traffic.snapshot(reward_of=lambda source: source.rpartition("/")[2])
    assert {name: one["total"] for name, one in seen["rewards"].items()} == {"gsm8k": 2, "math": 1}
    assert seen["rewards"]["gsm8k"]["scores"] == [(1.0, 2)]
    assert seen["sources"]["openai/gsm8k"]["reward"] == "gsm8k"


def test_memory_is_bounded_whatever_names_scores_and_times_come() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for i in range(500):
        clock.now += 1
        record(traffic, [sample(f"source-{i}"), sample("one")], [Score(float(i)), Score(i * 7.3)])
    seen = traffic.snapshot()["sources"]
    assert len(seen) == MAX_SOURCES + 1 and seen[OTHERS]["total"] > 0
    assert len(seen["one"]["scores"]) <= 2 * BINS
    assert len(seen["one"]["per_second"]) == SECONDS
