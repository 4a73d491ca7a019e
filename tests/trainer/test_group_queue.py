"""The queue of groups: none too old, none lost, none twice, none stuck, whatever ends when."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.config.root import TrainerConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Lengths
from rewardkit.trainer.group_queue import LATE, ORDERS, GroupQueue


@dataclass
class Run:
    """A run of a queue whose groups end at random; a kill forgets all but what a checkpoint has."""

    size: int
    staleness: int
    depth: int
    order: str
    late: str
    steps: int
    random: random.Random
    taken: list[list[int]] = field(default_factory=list)
    versions: dict[int, int] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    begun: int = 0
    rejects: float = 0.0
    """Share of the groups on which no step can train."""

    def queue(self) -> GroupQueue:
        return GroupQueue(
            self.size, staleness=self.staleness, depth=self.depth, order=self.order, late=self.late
        )

    def play(self, kills: float) -> None:
        """Take all steps. A killed run begins the open groups again, with their versions."""
        queue, running = self.queue(), list[int]()
        for step in range(1, self.steps + 1):
            if self.random.random() < kills:
                queue = self.queue()
                gone = {*self.done, *self.dropped, *self.rejected}
                running = [ordinal for ordinal in self.versions if ordinal not in gone]
                for ordinal in running:
                    queue.begin(ordinal, self.versions[ordinal])
            self.begin(queue, step, running)
            while not (chosen := queue.take(step)):
                assert running, "stuck"
                place = self.random.randrange(min(len(running), 1 + self.random.randrange(2 * self.size)))
                ended = running.pop(place)
                if self.random.random() < self.rejects:
                    queue.reject(ended)
                    self.rejected.append(ended)
                    self.begin(queue, step, running)
                else:
                    queue.end(ended)
            self.taken.append(chosen)
            dropped = queue.drop(step)
            self.dropped += dropped
            running = [ordinal for ordinal in running if ordinal not in dropped]

    def begin(self, queue: GroupQueue, step: int, running: list[int]) -> None:
        for _ in range(queue.room(self.steps - step + 1)):
            queue.begin(self.begun, step - 1)
            self.versions[self.begun] = step - 1
            running.append(self.begun)
            self.begun += 1

    @property
    def done(self) -> Counter[int]:
        return Counter(ordinal for chosen in self.taken for ordinal in chosen)

    def ages(self) -> list[int]:
        return [
            step - 1 - self.versions[ordinal]
            for step, chosen in enumerate(self.taken, 1)
            for ordinal in chosen
        ]


def some_run(seed: int, order: str, late: str) -> Run:
    draw = random.Random(f"{seed} {order} {late}")
    staleness = draw.randrange(6)
    depth = staleness if order == "strict" else draw.randrange(staleness + 1)
    return Run(draw.randrange(1, 9), staleness, depth, order, late, draw.randrange(1, 20), draw)


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("order", ORDERS)
def test_no_group_is_lost_trained_twice_or_stuck_and_none_is_older_than_allowed(
    order: str, late: str
) -> None:
    for seed in range(750):
        run = some_run(seed, order, late)
        run.play(kills=0.2 * (seed % 2))
        assert Counter(run.dropped) + run.done == Counter(range(run.begun)), seed
        assert late == "drop" or run.begun == run.steps * run.size, seed
        assert all(chosen == sorted(chosen) and len(chosen) == run.size for chosen in run.taken), seed
        if order == "strict" or late in ("wait", "drop"):
            assert max(run.ages()) <= run.staleness, seed


@pytest.mark.parametrize("late", LATE)
def test_a_rejected_group_is_replaced_and_no_other_is_lost_late_or_stuck(late: str) -> None:
    for seed in range(750):
        run = some_run(seed, "ready", late)
        run.rejects = 0.7 * run.random.random()
        run.play(kills=0.2 * (seed % 2))
        assert Counter(run.dropped) + Counter(run.rejected) + run.done == Counter(range(run.begun)), seed
        assert all(len(chosen) == run.size for chosen in run.taken), seed
        if late != "mask":
            assert max(run.ages()) <= run.staleness, seed


def test_strict_takes_the_prompts_in_their_order() -> None:
    for seed in range(200):
        run = some_run(seed, "strict", "wait")
        run.play(kills=0.2)
        assert [ordinal for chosen in run.taken for ordinal in chosen] == list(range(run.steps * run.size))


def test_ready_takes_what_has_ended_and_waits_only_for_what_is_due() -> None:
    queue = GroupQueue(2, staleness=2, depth=1, order="ready", late="wait")
    for ordinal in range(queue.room(9)):
        queue.begin(ordinal, 0)
    for ordinal in (3, 1):
        queue.end(ordinal)
    assert queue.take(1) == [1, 3]
    for ordinal in (4, 5):
        queue.begin(ordinal, 1)
        queue.end(ordinal)
    assert queue.take(2) == [4, 5], "0 and 2 may wait for one more step"
    queue.begin(6, 2)
    queue.begin(7, 2)
    queue.end(6)
    queue.end(7)
    assert queue.take(3) == [], "now they are due"
    queue.end(0)
    assert queue.take(3) == []
    queue.end(2)
    assert queue.take(3) == [0, 2]


def test_mask_does_not_wait_for_a_group_that_is_due() -> None:
    queue = GroupQueue(1, staleness=1, depth=1, order="ready", late="mask")
    queue.begin(0, 0)
    for step in (1, 2, 3):
        queue.begin(step, step - 1)
        queue.end(step)
        assert queue.take(step) == [step]
    queue.end(0)
    assert queue.take(4) == [0]


def test_drop_gives_up_what_is_too_old_for_the_next_step_and_makes_room() -> None:
    queue = GroupQueue(1, staleness=1, depth=1, order="ready", late="drop")
    queue.begin(0, 0)
    queue.begin(1, 0)
    queue.end(1)
    assert queue.take(1) == [1]
    assert queue.drop(1) == []
    queue.begin(2, 1)
    queue.end(2)
    assert queue.take(2) == [2]
    assert (queue.drop(2), queue.room(9)) == ([0], 2)


@pytest.mark.parametrize("late", LATE)
def test_a_queue_of_depth_0_takes_what_has_just_begun(late: str) -> None:
    for staleness in (0, 3):
        run = Run(4, staleness, 0, "ready", late, 9, random.Random(0))
        run.play(kills=0.0)
        assert set(run.ages()) == {0}


def trained_lengths(late: str, tail: float) -> list[float]:
    """Train 60 steps on a clock; a step's update takes as long as a mean response. Lengths have a heavy tail."""
    draw, clock, lengths = random.Random(54), 0.0, Lengths()
    queue = GroupQueue(32, staleness=1, depth=1, order="ready", late=late)
    running: list[tuple[float, int]] = []
    tokens: list[int] = []
    dropped = set[int]()
    found: list[float] = []
    for step in range(1, 61):
        for _ in range(queue.room(61 - step)):
            mean = min(16.0, draw.paretovariate(tail) / 2)
            heapq.heappush(running, (clock + mean, len(tokens)))
            queue.begin(len(tokens), step - 1)
            tokens.append(int(100 * mean))
        while (running and running[0][0] <= clock) or not (chosen := queue.take(step)):
            ends, ordinal = heapq.heappop(running)
            clock = max(clock, ends)
            lengths.end(tokens[ordinal])
            if ordinal not in dropped:
                queue.end(ordinal)
        dropped.update(queue.drop(step))
        lengths.train(tokens[ordinal] for ordinal in chosen)
        found.append(lengths.ratio(World(0, 1, torch.device("cpu"))))
        clock += 1
    return found


@pytest.mark.parametrize(("late", "biased"), [("wait", False), ("mask", False), ("drop", True)])
def test_dropping_is_seen_in_the_trained_lengths_and_raises_the_alarm(late: str, biased: bool) -> None:
    alarms = Alarms(TrainerConfig())
    raised = [alarms.look({"feed/length_bias": abs(ratio - 1)}) for ratio in trained_lengths(late, 1.2)]
    assert any("trained_length" in one for one in raised) == biased
