"""Scoring within requests: order, deadlines that kill, cancelling that kills, and the limits on what is taken on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import OverloadedError
from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.jobs import Client
from rewardkit.server.admission import Admission, Body
from rewardkit.server.request import CurrentRequest
from rewardkit.server.request_scoring import RequestScorer


def quick(sample: Sample) -> float:
    return float(sample.response)


def nap(sample: Sample) -> float:
    time.sleep(float(sample.ground_truth))
    return float(sample.response)


def hang(sample: Sample) -> float:
    Path(sample.response).touch()
    time.sleep(3_600)
    return 0.0


@pytest.fixture
def scorer() -> Iterator[Scorer]:
    registry = Registry()
    registry.register(
        Reward(
            name="quick",
            version=1,
            target=quick,
            data_sources=("quick", "q/*"),
            running=Running(runs="inline"),
        )
    )
    for function in (nap, hang):
        name = function.__name__
        registry.register(
            Reward(
                name=name,
                version=1,
                target=function,
                data_sources=(name,),
                running=Running(runs="process", timeout_s=60.0),
            )
        )
    with Scorer(registry=registry, workers=1) as made:
        yield made


def test_a_mixed_batch_keeps_its_order(scorer: Scorer) -> None:
    samples = [Sample(["quick", "nap", "nowhere"][i % 3], str(i), "0") for i in range(90)]
    scores = asyncio.run(RequestScorer(scorer).score(samples))
    assert [s.score for s in scores] == [0.0 if i % 3 == 2 else i for i in range(90)]
    assert [s.status for s in scores[:3]] == ["ok", "ok", "invalid"]


@pytest.mark.slow
def test_the_deadline_kills_what_runs_and_keeps_what_is_done(scorer: Scorer, tmp_path: Path) -> None:
    samples = [Sample("nap", "1", "0"), Sample("hang", str(tmp_path / "x"), ""), Sample("quick", "2", "")]
    request_scorer = RequestScorer(scorer)
    asyncio.run(request_scorer.score(samples[:1]))  # the worker is up
    scores = asyncio.run(request_scorer.score(samples, timeout_s=3.0))
    assert [(s.score, s.status) for s in scores] == [(1.0, "ok"), (0.0, "timeout"), (2.0, "ok")]
    assert asyncio.run(request_scorer.score(samples[:1]))[0].ok  # by a new worker
    assert (scorer.worker_counts.killed, scorer.worker_counts.started) == (1, 2)
    assert (request_scorer.admission.samples, request_scorer.admission.wait_s) == (0, 0.0)


def test_beyond_the_limit_samples_are_refused_at_once_and_later_taken_again(scorer: Scorer) -> None:
    request_scorer = RequestScorer(scorer, admission=Admission(max_samples=2))

    async def main() -> None:
        first = asyncio.create_task(request_scorer.score([Sample("nap", "1", "0.2")] * 2))
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError) as caught:
            await request_scorer.score([Sample("nap", "1", "0")])
        assert caught.value.retry_after_s >= 1
        assert (await request_scorer.score([Sample("quick", "1", "")]))[0].ok  # needs no worker, nor a place
        await first
        assert (await request_scorer.score([Sample("nap", "1", "0")]))[0].ok

    asyncio.run(main())
    assert request_scorer.admission.refused == 1


def test_a_batch_over_the_limit_is_taken_when_it_is_alone(scorer: Scorer) -> None:
    request_scorer = RequestScorer(scorer, admission=Admission(max_samples=2))
    assert len(asyncio.run(request_scorer.score([Sample("nap", "1", "0")] * 5))) == 5


def test_what_cannot_be_scored_in_time_is_not_taken_on() -> None:
    admission = Admission(workers=2)
    admission.learn("slow", 1.0)
    with admission.room_for({"slow": 20}, timeout_s=10.0):  # alone it may
        assert admission.wait_s == 10.0
        with pytest.raises(OverloadedError) as caught, admission.room_for({"slow": 20}, timeout_s=22.0):
            pass
        assert caught.value.retry_after_s == 5.0
        with admission.room_for({"slow": 20}, timeout_s=26.5):
            pass
        with admission.room_for({"slow": 1}, timeout_s=2.6):  # the other must let it have its share
            pass
    assert (admission.samples, admission.wait_s) == (0, 0.0)


def test_one_client_cannot_use_up_the_places_of_others() -> None:
    admission = Admission(max_samples=100)
    with admission.room_for({"slow": 100}, timeout_s=60.0, client="a"):
        with pytest.raises(OverloadedError), admission.room_for({"slow": 1}, timeout_s=60.0, client="a"):
            pass
        with admission.room_for({"slow": 50}, timeout_s=60.0, client="b"):
            with pytest.raises(OverloadedError), admission.room_for({"slow": 1}, timeout_s=60.0, client="b"):
                pass
            with admission.room_for({"slow": 30}, timeout_s=60.0, client="c"):
                pass
    assert admission.samples == 0


def test_samples_of_unknown_cost_count_as_expensive_for_others_but_are_not_refused_themselves() -> None:
    admission = Admission()
    admission.learn("known", 0.1)
    with admission.room_for({"unknown": 1_000}, timeout_s=60.0, client="a"):
        assert admission.wait_s == 250.0
        with admission.room_for({"unknown": 1_000}, timeout_s=60.0, client="a"):
            pass
        with pytest.raises(OverloadedError), admission.room_for({"known": 300}, timeout_s=60.0, client="b"):
            pass
        with admission.room_for({"known": 200}, timeout_s=60.0, client="b"):
            pass


def test_a_body_is_counted_as_it_arrives_and_not_as_announced() -> None:
    admission = Admission(max_bytes=1_000)

    async def arriving() -> Any:
        return {"type": "http.request", "body": b"x" * 10, "more_body": True}

    def body() -> Body:
        request = CurrentRequest("id", arriving, Client("a"))
        return Body(request, {}, admission, {b"content-length": b"900"}, max_bytes=1_000, streamed=False)

    bodies = [body() for _ in range(5)]
    for one in bodies:
        one.open()
        asyncio.run(one.receive())
    assert admission.bytes == 50
    for one in bodies:
        one.release()
    assert admission.bytes == 0


def test_any_number_of_made_up_names_costs_no_memory(scorer: Scorer) -> None:
    request_scorer = RequestScorer(scorer)
    made_up = [Sample(f"q/{i}", "1", "") for i in range(10_000)] + [Sample("x" * 1_000_000, "1", "")]
    scores = asyncio.run(request_scorer.score(made_up))
    assert all(s.ok for s in scores[:-1])
    assert scores[-1].status == "invalid" and len(scores[-1].detail or "") < 200
    assert len(scorer._plans) <= 4_096
    assert {request_scorer.label(sample.data_source) for sample in made_up} == {"q/*", "unknown"}
