"""A burst queues rather than being refused, and one client's dear work does not hold up another's."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Sample, Scorer
from rewardkit.errors import OverloadedError
from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.jobs import Client
from rewardkit.server.admission import AT_ONCE, Admission, LoopTurns
from rewardkit.server.request import CURRENT, CurrentRequest
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.types import Score


async def never() -> Any:
    await asyncio.Event().wait()


@pytest.fixture
def scorer() -> Iterator[Scorer]:
    registry = Registry()
    for name in ("nap", "other"):
        reward = Reward(
            name=name,
            version=1,
            target=nap,
            data_sources=(name,),
            running=Running(runs="process", timeout_s=60.0),
        )
        registry.register(reward)
    with Scorer(registry=registry, workers=2, express=True) as made:
        yield made


def nap(sample: Sample) -> float:
    import time

    time.sleep(float(sample.ground_truth))
    return 1.0


async def as_client(
    score: RequestScorer, client: str, source: str, seconds: float, n: int = 1, *, timeout_s: float = 60.0
) -> list[Score]:
    """One request of a client."""
    CURRENT.set(CurrentRequest(f"{client}-{seconds}-{n}", never, Client(client)))
    samples = [Sample(source, "", str(seconds))] * n
    return await score.score(samples, timeout_s=timeout_s)


def test_a_burst_that_fills_its_clients_patience_is_wholly_scored(scorer: Scorer) -> None:
    async def main() -> list[Score]:
        score = RequestScorer(scorer)
        await as_client(score, "a", "nap", 0.02, 20)
        burst = [as_client(score, "a", "nap", 0.02, timeout_s=30.0) for _ in range(140)]  # 1.4 s of work
        return [found[0] for found in await asyncio.gather(*(asyncio.create_task(one) for one in burst))]

    assert [found.status for found in asyncio.run(main())] == ["ok"] * 140


@pytest.mark.slow
@pytest.mark.parametrize("client", ["first", "second"])
def test_a_small_request_is_done_before_large_ones_that_came_earlier(scorer: Scorer, client: str) -> None:
    """Also where both come from one address, and of the same reward."""

    ended: list[str] = []

    async def ask(score: RequestScorer, name: str, seconds: float, n: int) -> list[Score]:
        scores = await as_client(score, client if name == "small" else "first", "nap", seconds, n)
        ended.append(name)
        return scores

    async def main() -> list[Score]:
        score = RequestScorer(scorer)
        await as_client(score, "first", "nap", 0.05, 4)
        large = [asyncio.create_task(ask(score, "large", 0.05, 20 + i)) for i in range(4)]
        await asyncio.sleep(0.3)
        small = asyncio.create_task(ask(score, "small", 0.0, 1))
        return [found for scores in await asyncio.gather(small, *large) for found in scores]

    assert {found.status for found in asyncio.run(main())} == {"ok"}
    assert ended == ["small"] + ["large"] * 4


@pytest.mark.slow
def test_a_cheap_sample_does_not_wait_until_a_dear_one_has_ended(scorer: Scorer) -> None:
    async def main() -> list[bool]:
        score = RequestScorer(scorer)
        await as_client(score, "a", "nap", 0.6, 2)
        await as_client(score, "a", "other", 0.0, 4)
        dear = [asyncio.create_task(as_client(score, "a", "nap", 20.0, i + 1)) for i in range(2)]
        await asyncio.sleep(0.2)
        assert (await as_client(score, "b", "other", 0.0))[0].ok
        done = [task.done() for task in dear]
        for task in dear:
            task.cancel()
        return done

    assert asyncio.run(main()) == [False, False]


@pytest.mark.slow
def test_an_express_worker_is_ready_before_the_first_cheap_sample_needs_it(scorer: Scorer) -> None:
    async def main() -> None:
        score = RequestScorer(scorer)
        await as_client(score, "a", "nap", 0.6, 2)
        await as_client(score, "a", "other", 0.0, 4)
        dear = [asyncio.create_task(as_client(score, "a", "nap", 60.0, i + 1)) for i in range(2)]
        while scorer.worker_counts.started < 3:
            await asyncio.sleep(0.02)
        assert (await as_client(score, "b", "other", 0.0))[0].ok
        assert scorer.worker_counts.started == 3
        for task in dear:
            task.cancel()

    asyncio.run(main())


@pytest.mark.slow
def test_what_nobody_knows_yet_waits_behind_nothing_dear_known_or_not(scorer: Scorer) -> None:
    """Neither reward has been scored before: `nap` turns out to be dear, `other` to be cheap."""

    async def main() -> list[bool]:
        score = RequestScorer(scorer)
        dear = asyncio.create_task(as_client(score, "a", "nap", 20.0, 64))
        await asyncio.sleep(0.2)
        assert (await as_client(score, "b", "other", 0.0))[0].ok
        dear_too = asyncio.create_task(as_client(score, "c", "nap", 20.0))  # takes the place of the unknown
        await asyncio.sleep(1.0)
        assert (await as_client(score, "b", "other", 0.0))[0].ok
        done = [dear.done(), dear_too.done()]
        dear.cancel()
        dear_too.cancel()
        return done

    assert asyncio.run(main()) == [False, False]


def test_a_flood_of_small_requests_delays_another_client_by_few_of_them() -> None:
    async def main() -> list[str]:
        turns = LoopTurns()
        order: list[str] = []

        async def ask(client: str) -> None:
            await turns.take(Client(client), 0.5)
            order.append(client)

        await turns.take(Client("quiet"), 0.0)
        flood = [asyncio.create_task(ask("flood")) for _ in range(200)]
        quiet = [asyncio.create_task(ask("quiet")) for _ in range(3)]
        flood[100].cancel()
        await asyncio.gather(*quiet, *flood, return_exceptions=True)
        return order

    order = asyncio.run(main())
    assert order.count("flood") == 199 and order.count("quiet") == 3
    assert max(i for i, client in enumerate(order) if client == "quiet") < 3 * AT_ONCE


def test_an_address_with_few_requests_gets_all_its_turns_in_one_round() -> None:
    async def main() -> list[str]:
        turns = LoopTurns()
        order: list[str] = []

        def begin(client: str) -> None:
            order.append(client)
            if client == "flood" and len(order) < 1_000:
                ask("flood")

        def ask(client: str, size: int = 0) -> None:
            if turns.ask(Client(client), 0.5, size, lambda: begin(client)):
                begin(client)

        turns.is_alone("quiet", 0.0)
        for _ in range(20):
            ask("flood", size=5_000)
        await asyncio.sleep(0)
        order.clear()
        for _ in range(AT_ONCE):
            ask("quiet")
        for _ in range(24):
            await asyncio.sleep(0)
        return list(order)

    order = asyncio.run(main())
    assert order[:AT_ONCE] == ["quiet"] * AT_ONCE
    assert 0 < order.count("flood") <= 8, "a request of the flood takes its turns of three rounds"


def test_a_client_that_is_alone_does_not_wait_for_its_turn() -> None:
    async def main() -> None:
        turns = LoopTurns()
        for i in range(100):
            coroutine = turns.take(Client("alone"), 10.0 + i)
            with pytest.raises(StopIteration):
                for _ in range(AT_ONCE):
                    coroutine.send(None)

    asyncio.run(main())


def names(n: int) -> list[Client]:
    """Clients with different names at the same address."""
    return [Client("flood", str(i)) for i in range(n)]


def test_many_names_at_one_address_take_the_loop_turns_of_one_client() -> None:
    async def main() -> list[Client]:
        turns = LoopTurns()
        order: list[Client] = []

        async def ask(client: Client) -> None:
            await turns.take(client, 0.5)
            order.append(client)

        await turns.take(Client("quiet"), 0.0)
        asked = [*names(200), *names(20), *[Client("quiet")] * 3]
        await asyncio.gather(*(asyncio.create_task(ask(client)) for client in asked))
        return order

    order = asyncio.run(main())
    assert max(i for i, client in enumerate(order) if client.address == "quiet") < 3 * AT_ONCE
    assert len({client.name for client in order[-20:]}) == 20, "the names take turns as well"


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 200), st.integers(1, 40))))
def test_no_number_of_names_takes_another_address_its_share(requests: list[tuple[str, int, int]]) -> None:
    """Whatever is admitted, each address that asks for less than its share gets it, and memory is bounded."""
    limit = 300
    admission = Admission(max_bytes=limit)
    taken: Counter[str] = Counter()
    for address, name, n in requests:
        addresses = len(taken.keys() | {address})
        try:
            admission.take_bytes(n, Client(address, str(name)))
        except OverloadedError:
            assert taken[address] + n > limit // addresses
        else:
            taken[address] += n
    assert taken.total() <= 3 * limit


def test_a_name_is_admitted_beside_a_greedy_name_at_the_same_address() -> None:
    admission = Admission(max_bytes=100)
    admission.take_bytes(100, Client("proxy", "greedy"))
    admission.take_bytes(40, Client("proxy", "small"))
    with pytest.raises(OverloadedError):
        admission.take_bytes(20, Client("proxy", "small"))
