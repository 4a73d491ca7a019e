"""Whose turn it is: clients get equal shares, small requests are done soon, and none waits for ever."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rewardkit.scoring.jobs import Chunk, Client, IncomingScores, ScoringJob, ScoringTurn
from rewardkit.scoring.turns import Waiting


class Cheap(ScoringJob):
    def __init__(self, seconds: float) -> None:
        self.expected_s = seconds


def chunk(seconds: float, client: Any = None, request: Any = None) -> Chunk:
    made = Chunk(Cheap(seconds), [b""], [(IncomingScores(1), 0)], ScoringTurn(client, request))  # type: ignore[list-item]
    return made


def drain(waiting: Waiting) -> list[Chunk]:
    found = []
    while waiting.first() is not None:
        found.append(waiting.pop())
    return found


def test_without_clients_it_is_first_come_first_served() -> None:
    waiting = Waiting()
    chunks = [chunk(seconds) for seconds in (3.0, 0.1, 1.0, 0.2)]
    for one in chunks:
        waiting.add(one)
    assert drain(waiting) == chunks


def test_equal_shares_are_of_time_not_of_chunks() -> None:
    waiting = Waiting()
    for i in range(100):
        waiting.add(chunk(1.0, "dear", i))
        waiting.add(chunk(0.1, "cheap", i))
    first = Counter(one.turn.client for one in drain(waiting)[:55])
    assert first["dear"] in (5, 6) and first["cheap"] in (49, 50)


def test_names_at_one_address_share_the_time_of_one_client() -> None:
    """Also names that are used once and never again, as many as there are requests."""
    waiting = Waiting()
    for i in range(100):
        waiting.add(chunk(1.0, Client("honest"), i))
    order = []
    for i in range(60):
        waiting.add(chunk(1.0, Client("flood", str(i)), i))
        waiting.add(chunk(1.0, Client("flood", str(i % 3)), i))
        order.append(waiting.pop().turn.client.address)
    assert abs(order.count("honest") - order.count("flood")) <= 1


def test_a_late_client_does_not_get_what_it_has_not_asked_for_before() -> None:
    waiting = Waiting()
    for i in range(100):
        waiting.add(chunk(1.0, "early", i))
    for _ in range(50):
        waiting.pop()
    for i in range(50):
        waiting.add(chunk(1.0, "late", i))
    first = Counter(one.turn.client for one in drain(waiting)[:20])
    assert abs(first["early"] - first["late"]) <= 2


def test_a_small_request_is_done_soon_beside_large_ones_of_the_same_client() -> None:
    waiting = Waiting()
    for request in range(4):
        for _ in range(100):
            waiting.add(chunk(1.0, "one", request))
    for _ in range(20):
        waiting.pop()
    waiting.add(chunk(1.0, "one", "small"))
    assert [one.turn.request for one in drain(waiting)].index("small") <= 5


def test_a_dear_request_does_not_wait_for_ever_behind_cheap_ones_that_keep_coming() -> None:
    waiting = Waiting()
    waiting.add(chunk(1.0, "one", "dear"))
    taken = []
    for i in range(400):
        waiting.add(chunk(0.01, "one", i))
        waiting.add(chunk(0.01, f"client {i}", i))
        taken += [waiting.pop(), waiting.pop()]
    assert "dear" in [one.turn.request for one in taken]


def test_what_nobody_waits_for_is_dropped() -> None:
    for prune in (True, False):
        waiting = Waiting()
        chunks = [chunk(1.0, i % 3, i) for i in range(30)]
        for one in chunks:
            waiting.add(one)
        waiting.add_first(first := chunk(1.0))
        for one in [first, *chunks[::2]]:
            one.slots[0][0].future.cancel()
        if prune:
            waiting.prune()
            assert len(list(waiting)) == 15
        assert sorted(one.turn.request for one in drain(waiting)) == list(range(1, 30, 2))
        assert waiting.first() is None and list(waiting) == []


class Piece(Cheap):
    """A job whose chunks count as dear, as the requests do that a server passes on."""

    dear = True
    seen = True


def test_no_process_for_cheap_chunks_takes_a_piece_that_counts_as_dear() -> None:
    waiting = Waiting()
    waiting.add(Chunk(Piece(0.001), [b""], [(IncomingScores(1), 0)], ScoringTurn("large")))
    assert waiting.pop_cheap(0.1, unknown=True) is None
    small = chunk(0.001, "small")
    small.job.seen = True
    waiting.add(small)
    assert waiting.pop_cheap(0.1, unknown=True) is small
