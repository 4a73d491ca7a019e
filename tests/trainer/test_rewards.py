"""Scores onto the last token; failures masked and counted, or raised; the same from a Scorer or a server."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ScoringError, ServerError
from rewardkit.trainer.batch import Batch, Row
from rewardkit.trainer.distributed import World
from rewardkit.trainer.metrics import Clock, summarize
from rewardkit.trainer.rewards import decode, judge, place_scores
from rewardkit.trainer.validation import validation_metrics
from rewardkit.types import Sample, Score, failure


class Fake:
    """A reward source that returns what it is told to."""

    def __init__(self, scores: list[Score] | Exception) -> None:
        self.scores = scores

    def check(self, data_sources: Iterable[str]) -> None: ...

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores

    def close(self) -> None: ...


GOOD = [Score(float(i)) for i in range(8)]


def test_the_score_stands_on_the_last_token(batch: Batch, world: World) -> None:
    assert place_scores(batch, GOOD, world, "raise") == {}
    for i, row in enumerate(batch["token_level_scores"]):
        last = int(batch["response_mask"][i].sum()) - 1
        expected = [0.0] * 8
        expected[last] = float(i)
        assert row.tolist() == expected


def test_what_could_not_be_judged_is_masked_and_counted(batch: Batch, world: World) -> None:
    scores = [*GOOD[:5], failure("timeout", "slow"), failure("error", "x"), failure("timeout", "slow")]
    found = place_scores(batch, scores, world, "mask")
    assert found == {"reward/failed/timeout": 2.0, "reward/failed/error": 1.0}
    assert not bool(batch["response_mask"][5:].any())
    assert not bool(batch["token_level_scores"][5:].any())
    assert bool(batch["attention_mask"][5:, -8:].any()), "lengths are still known"
    assert batch["judged"].tolist() == [True] * 5 + [False] * 3


def test_on_error_raise_says_what_failed(batch: Batch, world: World) -> None:
    scores = [*GOOD[:7], failure("timeout", "took 10 s", scorer="math@1")]
    with pytest.raises(ScoringError, match=r"1 of 8 .* math@1 gave status 'timeout': took 10 s"):
        place_scores(batch, scores, world, "raise")


def test_a_reward_that_judges_nothing_ends_the_run(batch: Batch, world: World) -> None:
    with pytest.raises(ScoringError, match="none of the 8 responses could be judged"):
        place_scores(batch, [failure("error", "boom")] * 8, world, "mask")


def test_a_server_that_is_gone_ends_the_run(batch: Batch, world: World) -> None:
    with pytest.raises(ServerError, match="no answer"):
        judge(Fake(ServerError("no answer")), batch.rows, ["x"] * 8, world)


def test_decoding_stops_at_the_end_of_the_response(tokenizer: Any) -> None:
    ids = tokenizer("1+2=3<|end|>")["input_ids"]
    responses = torch.tensor([ids + [ids[0]] * 3])
    mask = torch.tensor([[1] * len(ids) + [0] * 3])
    assert decode(tokenizer, responses, mask) == ["1+2=3"]


def test_validation_averages_per_data_source_and_leaves_failures_out(world: World) -> None:
    def judged(source: str, score: Score) -> tuple[Row, str, Score]:
        return Row(source, [], "", {}, []), "", score

    found = validation_metrics(
        [
            judged("gsm8k", Score(1.0, correct=True, parts={"format": 1.0})),
            judged("gsm8k", Score(0.1, correct=False, parts={"format": 1.0})),
            judged("gsm8k", failure("timeout", "slow")),
            judged("essays", Score(0.5)),
        ],
        2,
        world,
    )
    assert found == {
        "val-core/essays/reward/mean@2": 0.5,
        "val-aux/essays/failed": 0.0,
        "val-core/gsm8k/acc/mean@2": 0.5,
        "val-aux/gsm8k/format/mean@2": 1.0,
        "val-aux/gsm8k/reward/mean@2": pytest.approx(0.55),
        "val-aux/gsm8k/failed": 1.0,
    }


def test_summaries_have_mean_max_and_min_and_nothing_for_nothing(world: World) -> None:
    found = summarize({"a": torch.tensor([1.0, 2.0, 6.0]), "b": torch.tensor([])}, world)
    assert found == {"a/mean": 3.0, "a/max": 6.0, "a/min": 1.0}


def test_the_clock_adds_up_phases() -> None:
    clock = Clock(torch.device("cpu"))
    for _ in range(2):
        with clock("gen"):
            pass
    assert list(clock.metrics()) == ["timing_s/gen"]
