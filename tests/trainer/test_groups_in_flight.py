"""Groups in flight over kills: each prompt is trained on once, by one process and by two, in both orders."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ConfigError, ScoringError
from rewardkit.trainer.config.root import TrainerConfig
from rewardkit.trainer.data import PromptLoader
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Feed, Group

ROWS, BATCH, STEPS = 24, 4, 12
State = dict[str, Any]


class Party:
    """Processes that are threads here, and that meet where processes gather."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._barrier = threading.Barrier(size, timeout=60)
        self._items: list[Any] = [None] * size

    def world(self, rank: int) -> World:
        party = self

        class Met(World):
            def gather(self, item: Any) -> list[Any]:
                party._items[rank] = item
                party._barrier.wait()
                found = list(party._items)
                party._barrier.wait()
                return found

        return Met(rank, self.size, torch.device("cpu"))


def config(order: str, staleness: int = 2, **more: Any) -> TrainerConfig:
    mode = {"mode": "async", "max_staleness": staleness} if order else {}
    return TrainerConfig(**mode, order=order or "strict", **more)


def draw_at_random(dice: random.Random) -> Any:
    """End the groups at once, in any order."""

    def draw(groups: Sequence[Group[int]], _: Any) -> None:
        for group in dice.sample(groups, len(groups)):
            group.drawn.set_result(group.place)

    return draw


def train(
    size: int,
    given: TrainerConfig,
    state: State | None,
    steps: range,
    batch: int = BATCH,
    fits_of: Callable[[int], Callable[[int], bool]] | None = None,
    **more: Any,
) -> tuple[list[list[int]], State]:
    """Take these steps, after a checkpoint if there is one; return the prompts of each, and a checkpoint.

    `fits_of` returns what decides in a process whether a step can train on a prompt.
    """
    party, taken, states = Party(size), [[[] for _ in steps] for _ in range(size)], [State()] * size
    errors: list[Exception] = []

    def work(rank: int) -> None:
        loader = PromptLoader(list(range(ROWS)), batch, shuffle=True, seed=0)
        fits = fits_of(rank) if fits_of else None
        feed: Feed[int] = Feed(loader, given, STEPS, party.world(rank), fits=fits, **more)
        if state is not None:
            loader.load_state_dict(state["loader"])
            feed.load_state_dict(state["feed"], {})
        draw = draw_at_random(random.Random(rank))
        feed.begin(steps.start - 1, draw)
        for number, step in enumerate(steps):
            rows = feed.take(step) if feed.background else feed.rows()[rank::size]
            taken[rank][number] = rows
            feed.take_rejected()
            feed.begin(step, draw)
        saved = {"feed": feed.state_dict(), "loader": loader.state_dict()}
        states[rank] = json.loads(json.dumps(saved))

    def caught(rank: int) -> None:
        try:
            work(rank)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
    assert all(one == states[0] for one in states)
    return [[row for share in taken for row in share[number]] for number in range(len(steps))], states[0]


def whole(*parts: tuple[int, TrainerConfig, range], **more: Any) -> list[list[int]]:
    """Train in parts, each of which goes on from the checkpoint of the one before."""
    state, found = None, []
    for size, given, steps in parts:
        taken, state = train(size, given, state, steps, **more)
        found += taken
    return found


SYNC = config("")


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("order", ["strict", "ready"])
def test_a_run_that_goes_on_trains_on_each_prompt_once(order: str, size: int) -> None:
    given = config(order, save_freq=1)
    found = whole((size, given, range(1, 4)), (size, given, range(4, 5)), (size, given, range(5, STEPS + 1)))
    assert Counter(row for step in found for row in step) == dict.fromkeys(range(ROWS), 2)
    if order == "strict":
        in_order = whole((1, SYNC, range(1, STEPS + 1)))
        assert [sorted(step) for step in found] == [sorted(step) for step in in_order]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((1, config("ready")), (2, config("ready"))),
        ((2, config("ready")), (1, config("ready"))),
        ((2, config("ready")), (2, config("strict"))),
        ((1, config("strict", 3)), (2, config("ready", 1))),
        ((2, config("ready")), (2, SYNC)),
        ((1, SYNC), (2, config("ready"))),
    ],
)
def test_processes_orders_and_modes_may_change_and_no_prompt_is_lost(
    first: tuple[int, TrainerConfig], then: tuple[int, TrainerConfig]
) -> None:
    found = whole((*first, range(1, 4)), (*then, range(4, 6)), (*then, range(6, STEPS + 1)))
    assert Counter(row for step in found for row in step) == dict.fromkeys(range(ROWS), 2)


@pytest.mark.parametrize("size", [1, 2])
def test_prompts_that_version_0_2_had_begun_are_not_lost(size: int) -> None:
    taken, state = train(1, SYNC, None, range(1, 4))
    loader = PromptLoader(list(range(ROWS)), BATCH, shuffle=True, seed=0)
    loader.load_state_dict(state["loader"])
    begun = [(step, loader.take_places(), loader.epoch) for step in (4, 5)]
    older = {"loader": loader.state_dict(), "feed": {"ahead": 2, "begun": begun}}
    rest, _ = train(size, config("strict"), older, range(4, STEPS + 1))
    assert Counter(row for step in taken + rest for row in step) == dict.fromkeys(range(ROWS), 2)


def test_a_step_of_another_size_is_refused_while_groups_are_in_flight() -> None:
    _, state = train(1, config("ready"), None, range(1, 3))
    with pytest.raises(ConfigError, match="train_batch_size"):
        train(1, config("ready"), state, range(3, 4), batch=2)


class OneStraggler:
    """Ends all groups at once but the first of a prompt, which ends when it is let go."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.held: list[Group[int]] = []
        self.begun: list[int] = []

    def __call__(self, groups: Sequence[Group[int]], _: Any) -> None:
        for group in groups:
            self.begun.append(group.place)
            group.tokens = 1000 if group.place == self.place else 10
            if group.place == self.place and not self.held:
                self.held.append(group)
            else:
                group.drawn.set_result(group.place)

    def let_go(self) -> None:
        for group in self.held:
            group.drawn.set_result(group.place)


def test_a_late_group_is_dropped_counted_and_begun_once_more_after_the_epoch() -> None:
    given = config("ready", 1, late="drop", pipeline_depth=1)
    loader = PromptLoader(list(range(8)), 2, shuffle=False, seed=0)
    feed: Feed[int] = Feed(loader, given, 9, World(0, 1, torch.device("cpu")))
    draw = OneStraggler(1)
    feed.begin(0, draw)
    taken, dropped, bias = list[int](), list[float](), list[float]()
    for step in range(1, 10):
        taken += feed.take(step)
        dropped.append(feed.metrics["feed/dropped"])
        bias.append(feed.metrics["feed/length_bias"])
        if step == 2:
            saved = json.loads(json.dumps(feed.state_dict()))
            draw.let_go()
        feed.begin(step, draw)
    assert dropped == [0, 1] + [0] * 7
    assert draw.begun[:9] == [*range(8), 1]
    assert draw.begun.count(1) == 4, "once in each epoch, and once more"
    assert 1 not in taken[:4] and sorted(taken[:8]) == list(range(8))
    assert max(bias[:2]) == 0 and bias[2] > 0.1, "its length is known when it has ended"
    again: Feed[int] = Feed(PromptLoader(list(range(8)), 2, shuffle=False, seed=0), given, 9, feed._world)
    again.load_state_dict(saved, {})
    assert json.loads(json.dumps(again.state_dict()["open"])) == saved["open"]
    assert [1, 1, 0, None, True] in saved["open"]


def test_a_group_that_fails_ends_the_run_in_all_processes() -> None:
    def draw(groups: Sequence[Group[int]], _: Any) -> None:
        raise ConfigError("no server")

    loader = PromptLoader(list(range(ROWS)), BATCH, shuffle=True, seed=0)
    feed: Feed[int] = Feed(loader, config("ready"), STEPS, Party(1).world(0))
    feed.begin(0, draw)
    with pytest.raises(ConfigError, match="no server"):
        feed.take(1)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 2, 2), (2, 1, 2)])
@pytest.mark.parametrize("late", ["wait", "mask", "drop"])
def test_rejected_prompts_are_replaced_in_every_process_and_over_kills(
    late: str, sizes: Sequence[int]
) -> None:
    """Five of six prompts are rejected in some processes, so that these begin many more than others."""
    judged: list[int] = []

    def fits(place: int) -> bool:
        judged.append(place)
        return place % 6 == 0

    given = config("ready", late=late, save_freq=1)
    parts = [
        (size, given, steps)
        for size, steps in zip(sizes, (range(1, 4), range(4, 7), range(7, 10)), strict=True)
    ]
    found = whole(*parts, fits_of=lambda _: fits)
    often = Counter(row for step in found for row in step)
    assert set(often) == {0, 6, 12, 18} and [len(step) for step in found] == [BATCH] * 9
    assert max(often.values()) - min(often.values()) <= 3, "each once in an epoch, but for those in flight"
    assert len(judged) > 5 * 9 * BATCH


def test_rejections_beyond_the_limit_end_the_run_in_all_processes() -> None:
    with pytest.raises(ScoringError, match="max_num_gen_batches"):
        train(2, config("ready"), None, range(1, 3), fits_of=lambda _: lambda place: False, most_rejected=8)


def test_a_step_that_replaces_many_prompts_says_so_again_and_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged: list[int] = []

    def fits(place: int) -> bool:
        judged.append(place)
        return len(judged) > 45 * BATCH

    train(1, config("ready"), None, range(1, 3), fits_of=lambda _: fits)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and all("step 1 is not full yet" in line for line in said)


def test_a_failure_in_judging_a_group_ends_the_run() -> None:
    def fits(place: int) -> bool:
        raise ScoringError("no response could be scored")

    with pytest.raises(ScoringError, match="no response"):
        train(2, config("ready"), None, range(1, 3), fits_of=lambda _: fits)


@pytest.mark.parametrize("late", ["wait", "mask"])
@pytest.mark.parametrize("sizes", [(2, 1, 2), (2, 2, 1), (4, 2, 1)])
def test_processes_that_reject_unequally_may_change_in_number(late: str, sizes: Sequence[int]) -> None:
    """The first process has begun groups of later prompts than the others, which must not wait."""
    given = config("ready", late=late, save_freq=1)
    steps = (range(1, 5), range(5, 8), range(8, STEPS + 1))
    parts = [(size, given, some) for size, some in zip(sizes, steps, strict=True)]
    found = whole(*parts, fits_of=lambda rank: lambda place: rank > 0 or place % 6 == 0)
    assert [len(step) for step in found] == [BATCH] * STEPS


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 1), (1, 4), (2, 4)])
def test_processes_that_change_in_number_share_the_groups_that_must_be_trained_on_soon(
    before: int, after: int
) -> None:
    """The groups that are due may have belonged to any processes, in any order."""
    given = config("ready", late="wait", save_freq=1)
    _, state = train(before, given, None, range(1, 5))
    for seed in range(20):
        dice = random.Random(seed)
        # Step s can train on the weights s - 3 at the earliest: 2 must be trained on now, 3 one step later.
        versions = [2] * BATCH + [3] * BATCH + [4] * BATCH
        dice.shuffle(versions)
        assert len(state["feed"]["open"]) == len(versions)
        for group, version in zip(state["feed"]["open"], versions, strict=True):
            group[3] = version
        found, _ = train(after, given, json.loads(json.dumps(state)), range(5, 9))
        assert [len(step) for step in found] == [BATCH] * 4


def test_a_step_that_would_wait_for_ever_ends_the_run() -> None:
    _, state = train(1, config("ready"), None, range(1, 5))
    for group in state["feed"]["open"]:
        group[3] = 2  # step 5 must train on all of them
    with pytest.raises(RuntimeError, match="step 5"):
        train(1, config("ready"), state, range(5, 6))


@pytest.mark.parametrize("late", ["mask", "drop"])
def test_a_run_that_now_waits_begins_groups_again_that_could_become_too_old(late: str) -> None:
    _, state = train(1, config("ready", late=late, save_freq=1), None, range(1, 5))
    for group in state["feed"]["open"]:
        group[3] = 0
    assert len(state["feed"]["open"]) > BATCH
    found, _ = train(1, config("ready", late="wait", save_freq=1), state, range(5, 8))
    assert [len(step) for step in found] == [BATCH] * 3


def test_rejections_beyond_the_limit_do_not_end_a_run_whose_step_is_full() -> None:
    loader = PromptLoader(list(range(ROWS)), BATCH, shuffle=False, seed=0)
    world = World(0, 1, torch.device("cpu"))
    feed: Feed[int] = Feed(
        loader, config("ready"), STEPS, world, fits=lambda place: place < 4, most_rejected=4
    )
    feed.begin(0, draw_at_random(random.Random(0)))
    while feed._ended.qsize() < 12:
        time.sleep(0.01)
    assert (feed.take(1), sorted(feed.take_rejected())) == ([0, 1, 2, 3], list(range(4, 12)))
    feed.begin(1, draw_at_random(random.Random(0)))
    with pytest.raises(ScoringError, match="max_num_gen_batches"):
        feed.take(2)
