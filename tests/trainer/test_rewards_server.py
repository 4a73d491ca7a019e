"""Group rewards of a reward server: asked for whole groups, however many responses a request has otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from rewardkit.client import Client
from rewardkit.client.wire import BATCH_SAMPLES, batches
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.rewards import REQUEST_SAMPLES, ServerRewards
from rewardkit.types import Sample, Score
from tests.server.serving import serving


class Counting:
    """A server whose rewards score a sample by the size of its request; `whole` is scored by group."""

    def check(self, data_sources: object) -> frozenset[str]:
        return frozenset({"whole"})

    def score_batch(self, samples: list[Sample]) -> list[Score]:
        return [Score(float(sum(s.prompt == each.prompt for s in samples))) for each in samples]

    def close(self) -> None: ...


def test_a_group_is_one_request_and_other_responses_are_divided() -> None:
    rewards = ServerRewards(cast("Client", Counting()), in_flight=2)
    rewards.check(["whole", "single"])
    assert rewards.scores_by_group("whole") and not rewards.scores_by_group("single")
    size = REQUEST_SAMPLES + 8
    samples = [Sample("whole", "x", "t", f"p{i % 2}") for i in range(2 * size)]
    samples += [Sample("single", "x", "t", "q") for _ in range(size)]
    found = [score.score for score in rewards.submit(samples).wait()]
    assert found == [float(size)] * (2 * size) + [float(REQUEST_SAMPLES)] * REQUEST_SAMPLES + [8.0] * 8
    rewards.close()


def test_a_body_of_the_client_ends_where_a_group_ends() -> None:
    samples = [Sample("x", "r", "t", f"p{i // 10}") for i in range(BATCH_SAMPLES + 50)]
    assert [batch.size % 10 for batch in batches(samples)] == [0, len(samples) % 10]
    endless = [Sample("x", "r", "t", "p") for _ in range(3 * BATCH_SAMPLES)]
    assert [batch.size for batch in batches(endless)] == [2 * BATCH_SAMPLES, BATCH_SAMPLES]


@pytest.mark.slow
def test_a_server_scores_groups_as_they_are_scored_here(tmp_path: Path) -> None:
    samples = [Sample("diversity", f"word{i} is one of {i % 7} words", "", f"p{i % 2}") for i in range(80)]
    samples += [Sample("gsm8k", "#### 1", "1", "p")]
    with serving(tmp_path) as server, Scorer(workers=1) as scorer:
        client = Client(server.url)
        rewards = ServerRewards(client, in_flight=2)
        rewards.check(["diversity", "gsm8k"])
        assert rewards.scores_by_group("diversity") and not rewards.scores_by_group("gsm8k")
        there = [score.score for score in rewards.submit(samples).wait(60.0)]
        here = [score.score for score in scorer.score_batch(samples)]
        assert there == here and len(set(here)) > 2
        rewards.close()
