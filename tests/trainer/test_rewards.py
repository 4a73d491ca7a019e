"""Scores onto the last token; failures masked and counted, or raised; the same from a Scorer or a server."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch")

from rewardkit.client import Client
from rewardkit.errors import ScoringError, ServerError
from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer import rewards
from rewardkit.trainer.batch import Batch, PromptRow
from rewardkit.trainer.config.root import Config, RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.rewards import RewardServer, ServerRewards, model_sources, open_rewards
from rewardkit.trainer.steps.scoring import PendingScores, place_scores
from rewardkit.types import Sample, Score, failure


class FakeClient:
    """A reward server that gives these answers, one a request; the last one again and again."""

    def __init__(self, *answers: float | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[int] = []

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        self.requests.append(len(samples))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return [Score(answer)] * len(samples)

    def close(self) -> None: ...


class Busy(ServerError):
    retry_after_s = 0.01


def server(client: FakeClient) -> ServerRewards:
    return ServerRewards(cast("Client", client), in_flight=2)


def settings(**changes: Any) -> RewardConfig:
    return RewardConfig(**changes)


GOOD = [Score(float(i)) for i in range(8)]


def test_the_score_stands_on_the_last_token(batch: Batch, world: World) -> None:
    assert place_scores(batch, GOOD, world, settings(on_error="raise")) == {
        "timing_s/reward_scoring": 0.0,
        "timing_s/reward_slowest": 0.0,
    }
    for i, row in enumerate(batch["token_level_scores"]):
        last = int(batch["response_mask"][i].sum()) - 1
        expected = [0.0] * 8
        expected[last] = float(i)
        assert row.tolist() == expected


def test_what_could_not_be_scored_is_masked_and_counted(batch: Batch, world: World) -> None:
    scores = [*GOOD[:5], failure("timeout", "slow"), failure("error", "x"), failure("timeout", "slow")]
    found = place_scores(batch, scores, world, settings())
    assert (found["reward/failed/timeout"], found["reward/failed/error"]) == (2.0, 1.0)
    assert "reward/failed/invalid" not in found
    assert not bool(batch["response_mask"][5:].any())
    assert not bool(batch["token_level_scores"][5:].any())
    assert bool(batch["attention_mask"][5:, -8:].any()), "lengths are still known"
    assert batch["scored"].tolist() == [True] * 5 + [False] * 3


def test_on_error_raise_says_what_failed(batch: Batch, world: World) -> None:
    scores = [*GOOD[:7], failure("timeout", "took 10 s", scorer="math@1")]
    with pytest.raises(ScoringError, match=r"1 of 8 .* math@1 .*'timeout': took 10 s"):
        place_scores(batch, scores, world, settings(on_error="raise"))


@pytest.mark.parametrize("on_error", ["mask", "raise", "value"])
def test_a_reward_that_scores_nothing_ends_the_run(batch: Batch, world: World, on_error: str) -> None:
    with pytest.raises(ScoringError, match="none of the 8 "):
        place_scores(batch, [failure("error", "boom")] * 8, world, settings(on_error=on_error))


def test_on_error_value_scores_what_could_not_be_scored_and_counts_it(batch: Batch, world: World) -> None:
    before = batch["response_mask"].clone()
    scores = [*GOOD[:7], failure("error", "x")]
    found = place_scores(batch, scores, world, settings(on_error="value", error_value=-1.0))
    assert found["reward/failed/error"] == 1.0
    assert torch.equal(batch["response_mask"], before)
    assert float(batch["token_level_scores"][7].sum()) == -1.0
    assert bool(batch["scored"].all())


def test_the_time_of_the_rewards_is_added_up_and_the_slowest_named(batch: Batch, world: World) -> None:
    found = place_scores(batch, [Score(0.0, seconds=float(i)) for i in range(8)], world, settings())
    assert (found["timing_s/reward_scoring"], found["timing_s/reward_slowest"]) == (28.0, 7.0)


class Numbers:
    """A tokenizer: the token 7 reads "7"."""

    def batch_decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        return ["".join(map(str, row)) for row in ids]


def begun(source: Any, rows: Sequence[PromptRow], timeout_s: float = 60.0) -> PendingScores:
    """The scores of a response to each row, the row's number, all of which ended at once."""
    pending = PendingScores(source, Numbers(), rows, timeout_s)
    pending.take({i: [i] for i in range(len(rows))})
    return pending


def scores_of(source: Any, rows: Sequence[PromptRow], world: World, timeout_s: float = 60.0) -> list[Score]:
    return [one.score for one in begun(source, rows, timeout_s).wait()]


def test_a_server_that_is_gone_is_asked_again_and_then_what_it_had_to_score_failed(
    batch: Batch, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = FakeClient(ServerError("no answer"), 1.0)
    assert [s.score for s in scores_of(server(back), batch.rows, world)] == [1.0] * 8
    monkeypatch.setattr(rewards, "PATIENCE_S", 0.1)
    gone = FakeClient(ServerError("no answer"))
    found = scores_of(server(gone), batch.rows, world)
    assert {(s.status, s.detail) for s in found} == {("error", "no answer")}
    assert gone.requests == [8, 8]


def test_a_reward_model_gets_the_rows_that_are_its_own(
    batch: Batch, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config()
    config.reward_model.enable = True
    monkeypatch.setattr(rewards, "Client", lambda *_, **__: FakeClient(0.25))
    sources = ["gsm8k", "my/chat"]
    at = RewardServer("http://x", None)
    assert model_sources(config, sources) == sources
    whole = open_rewards(config, sources, server=at)
    config.reward_model.scores = "rest"
    assert model_sources(config, sources) == ["my/chat"]
    config.reward.num_workers = 1
    divided = open_rewards(config, sources, server=at)
    rows = [replace(row, data_source=sources[i % 2]) for i, row in enumerate(batch.rows)]
    for source, expected in ((whole, [0.25] * 8), (divided, [0.0, 0.25] * 4)):
        assert [s.score for s in scores_of(source, rows, world)] == expected
        source.close()


def test_a_busy_server_is_asked_until_it_has_time(batch: Batch, world: World) -> None:
    client = FakeClient(*[Busy("503")] * 10, 0.5)
    assert {s.score for s in scores_of(server(client), batch.rows, world)} == {0.5}


def test_a_server_too_busy_for_the_deadline_times_out_rather_than_scores_as_wrong(
    batch: Batch, world: World
) -> None:
    scores = scores_of(server(FakeClient(Busy("503"))), batch.rows, world, timeout_s=0.1)
    assert [s.status for s in scores] == ["timeout"] * 8


MINE = """
import asyncio, time

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if solution_str == "7":
        time.sleep(60)
    return {"score": float(solution_str), "acc": ground_truth == "3"}

async def compute_later(data_source, solution_str, ground_truth, extra_info=None):
    await asyncio.sleep(0.01)
    return float(solution_str) + 1.0
"""


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Opens a custom reward function for the data source of `rows`."""
    (tmp_path / "mine.py").write_text(MINE)
    opened: list[Any] = []
    for held in ("_exact", "_rewards"):  # what is registered here is forgotten afterwards
        monkeypatch.setattr(REGISTRY, held, dict(getattr(REGISTRY, held)))

    def open_custom(name: str) -> Any:
        config = Config()
        config.custom_reward_function.path = str(tmp_path / "mine.py")
        config.custom_reward_function.name = name
        config.reward.num_workers = 1
        opened.append(open_rewards(config, {"gsm8k"}))
        return opened[-1]

    yield open_custom
    for source in opened:
        source.close()


def test_a_custom_function_may_be_async(batch: Batch, world: World, custom: Any) -> None:
    scores = scores_of(custom("compute_later"), batch.rows, world)
    assert [s.score for s in scores] == [float(i + 1) for i in range(8)]


@pytest.mark.slow
def test_what_is_scored_by_the_deadline_is_kept_and_the_rest_timed_out(
    batch: Batch, world: World, custom: Any
) -> None:
    source = custom("compute_score")
    scores_of(source, batch.rows[:7], world)  # the worker is warm
    scores = scores_of(source, batch.rows, world, timeout_s=4.0)
    assert [s.score for s in scores[:7]] == [float(i) for i in range(7)]
    assert all(s.correct for s in scores[:7])
    assert scores[7].status == "timeout"
    assert scores_of(source, batch.rows[:7], world)[6].score == 6.0, "the next step has a fresh worker"


def test_responses_are_scored_as_they_end_and_come_back_in_order(batch: Batch, world: World) -> None:
    client = FakeClient(0.5)
    pending = PendingScores(server(client), Numbers(), batch.rows, 60.0)
    pending.take({5: [5, 5], 0: [0]})
    concurrent.futures.wait(pending._decoded)
    (_, first) = cast("Any", pending)._submitted[0]
    first.wait()
    assert client.requests == [2], "the others are still being generated"
    pending.take({i: [i] for i in (1, 2, 3, 4, 6, 7)})
    found = pending.wait()
    assert [one.text for one in found] == ["0", "1", "2", "3", "4", "55", "6", "7"]
    assert [one.row for one in found] == list(batch.rows)
    assert client.requests == [2, 6]


def test_a_submission_that_fails_is_heard_of_in_wait(batch: Batch, world: World) -> None:
    class Refusing(Scorer):
        def submit(self, samples: Sequence[Sample]) -> Any:
            raise ScoringError("this Scorer is closed")

    pending = begun(Refusing(), batch.rows, 1.0)
    with pytest.raises(ScoringError, match="closed"):
        pending.wait()


def test_the_text_of_a_response_is_without_special_tokens(batch: Batch, world: World, tokenizer: Any) -> None:
    pending = PendingScores(server(FakeClient(0.5)), tokenizer, batch.rows[:1], 60.0)
    pending.take({0: tokenizer("1+2=3<|end|>")["input_ids"]})
    assert pending.wait()[0][1] == "1+2=3"


def test_an_engine_goes_on_while_its_responses_are_decoded(batch: Batch, world: World) -> None:
    went_on = threading.Event()

    class Slow(Numbers):
        def batch_decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
            assert went_on.wait(30), "the engine waits for its responses to be decoded"
            return super().batch_decode(ids, skip_special_tokens)

    pending = PendingScores(server(FakeClient(0.5)), Slow(), batch.rows, 60.0)
    for i in range(len(batch.rows)):
        pending.take({i: [i]})
    went_on.set()
    assert [one.text for one in pending.wait()] == [str(i) for i in range(len(batch.rows))]


def test_a_response_that_cannot_be_decoded_ends_the_run(batch: Batch, world: World) -> None:
    class Broken(Numbers):
        def batch_decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
            raise OverflowError("token 99999 is not in the vocabulary")

    pending = PendingScores(server(FakeClient(0.5)), Broken(), batch.rows, 60.0)
    pending.take({0: [0]})
    with pytest.raises(OverflowError, match="99999"):
        pending.wait()


def test_summaries_have_mean_max_and_min_and_nothing_for_nothing(world: World) -> None:
    found = summarize({"a": torch.tensor([1.0, 2.0, 6.0]), "b": torch.tensor([])}, world)
    assert found == {"a/mean": 3.0, "a/max": 6.0, "a/min": 1.0}


def test_a_group_is_held_back_until_it_is_whole_and_others_are_not(batch: Batch, world: World) -> None:
    def by_group(samples: list[Sample]) -> list[float]:
        return [float(len(samples))] * len(samples)

    registry = Registry()
    registry.register(Reward("size", 1, by_group, ("whole",), running=Running(batch="group")))
    registry.register(Reward("plain", 1, lambda sample: 0.5, ("single",)))
    sources = ["whole", "single", "whole", "whole"]
    rows = [replace(batch.rows[0], data_source=s, ground_truth="1") for s in sources]
    with Scorer(registry=registry, workers=1) as scorer:
        pending = PendingScores(scorer, Numbers(), rows, 60.0)
        for i in (2, 1, 0):
            pending.take({i: [i]})
        concurrent.futures.wait(pending._decoded)
        assert [places for places, _ in pending._submitted] == [[1]], "of the group, nothing has gone yet"
        pending.take({3: [3]})
        found = pending.wait()
    assert [one.score.score for one in found] == [3.0, 0.5, 3.0, 3.0]
    assert [one.text for one in found] == ["0", "1", "2", "3"]
