"""ROLL's store holds no more bytes than it may, and for no longer than they are needed."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from rewardkit import Sample, Scorer
from rewardkit.errors import OverloadedError
from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.server.admission import Admission
from rewardkit.server.app import create_app
from rewardkit.server.protocols import background
from rewardkit.server.protocols.background import BackgroundSubmission, Store

LARGE = "x" * 400_000


async def answer() -> bytes:
    await asyncio.sleep(0.01)
    return b'{"errcode":0}'


async def fail() -> bytes:
    raise OverloadedError("too much", 3.0)


class Clock:
    """Stands still, so that nothing expires while a busy machine does something else."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(background, "time", made)
    return made


async def answered(store: Store, request_id: str) -> BackgroundSubmission:
    """What is kept under this id, once it is scored."""
    while (kept := store.get(request_id)) is not None and kept.answer is None:
        await asyncio.sleep(0.005)
    assert kept is not None
    return kept


def test_what_is_submitted_is_kept_for_a_time_and_within_a_limit(clock: Clock) -> None:
    async def run() -> None:
        store = Store(limit=2, kept_s=50.0)
        first, second = [await store.start(10, answer()) for _ in range(2)]
        with pytest.raises(OverloadedError, match="results are waiting"):
            await store.start(10, answer())
        for request_id in (first, second):
            assert (await answered(store, request_id)).answer == b'{"errcode":0}'
        clock.now += 49.0
        assert store.get(first) is not None
        clock.now += 1.0
        assert store.get(first) is None
        await store.start(10, answer())  # there is room again

    asyncio.run(run())


def test_bodies_count_until_they_are_scored_and_answers_until_they_are_forgotten(clock: Clock) -> None:
    async def run() -> None:
        admission = Admission(max_bytes=2_500)
        store = Store(admission)
        may_answer = asyncio.Event()

        async def held() -> bytes:
            await may_answer.wait()
            return await answer()

        ids = [await store.start(1_000, held()) for _ in range(2)]
        assert admission.bytes == 2_000
        with pytest.raises(OverloadedError, match="MiB"):
            await store.start(1_000, answer())
        may_answer.set()
        scored = [await answered(store, request_id) for request_id in ids]
        assert admission.bytes == 2 * len(b'{"errcode":0}')
        for kept in scored:
            store.answered(kept)
        clock.now += 3_600.0
        last = await store.start(100, answer())
        assert (len(store), admission.bytes) == (1, 100)
        store.forget(last)  # while it is scored
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (len(store), admission.bytes) == (0, 0)

    asyncio.run(run())


def test_what_cannot_be_begun_is_refused_and_holds_nothing() -> None:
    async def run() -> None:
        admission = Admission()
        store = Store(admission)
        with pytest.raises(OverloadedError, match="too much"):
            await store.start(1_000, fail())
        assert (len(store), admission.bytes) == (0, 0)

    asyncio.run(run())


def test_an_unexpected_failure_is_told_and_holds_nothing() -> None:
    may_fail = asyncio.Event()

    async def broken() -> bytes:
        await may_fail.wait()
        raise ValueError("not foreseen")

    async def run() -> None:
        admission = Admission()
        store = Store(admission)
        request_id = await store.start(1_000, broken())
        may_fail.set()
        while (kept := store.get(request_id)) is not None and kept.failed is None:
            await asyncio.sleep(0.005)
        assert kept is not None and kept.failed == "ValueError: not foreseen"
        assert (kept.task, admission.bytes) == (None, 0)

    asyncio.run(run())


def nap(sample: Sample) -> float:
    import time

    time.sleep(0.002)
    return 1.0


@pytest.fixture
def registry_with_nap(registry: Registry) -> Iterator[Registry]:
    REGISTRY.register(
        Reward(name="nap", version=1, target=nap, data_sources=("nap",), running=Running(runs="process"))
    )
    yield registry


@pytest.mark.slow
def test_many_large_submissions_stay_within_the_memory_that_there_is(registry_with_nap: Registry) -> None:
    limit = 2 << 20
    with Scorer(workers=1) as scorer, TestClient(app := create_app(scorer, max_bytes=limit)) as http:
        admission = app.state.request_scorer.admission
        body = {"prompt": "q", "response": LARGE, "reward_info": {"ground_truth": "1"}}
        ids: list[str] = []
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        while len(ids) < 60:
            submitted = http.post("/roll/submit/nap", json=body)
            assert admission.bytes <= limit
            if submitted.status_code == 503:
                assert int(submitted.headers["retry-after"]) >= 1
                continue
            ids.append(submitted.json()["reward_request_id"])
        for request_id in ids:
            while (
                found := http.request("GET", "/roll/result", json={"reward_request_id": request_id}).json()
            )["errcode"] == 1:
                pass
            assert (found["errcode"], found["reward_score"]) == (0, 1.0)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 10 << 20  # of 24 MB that came
        tracemalloc.stop()
        assert admission.bytes < 60 * 200
