"""Samples in flight beside each other: none waits for another, and none is lost with one that fails."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

SOURCE = "test/flying"


async def fly(sample: Sample) -> float:
    """Do what the response says, in the folder that is the ground truth."""
    what, _, name = sample.response.partition(" ")
    note = Path(sample.ground_truth, name or "note")
    if what == "wait":  # until another has landed
        while not note.exists():
            await asyncio.sleep(0.01)
    elif what == "note":
        note.touch()
    elif what == "hang":
        time.sleep(1_000)
    elif what == "die":
        os._exit(3)
    elif what == "sleep":
        Path(sample.ground_truth, "asleep").touch()
        try:
            await asyncio.sleep(1_000)
        finally:
            note.touch()
    elif what == "fail":
        raise ValueError("no")
    return 1.0


@pytest.fixture
def scorer() -> Iterator[Scorer]:
    registry = Registry()
    registry.register(
        Reward(
            "fly",
            1,
            fly,
            (SOURCE,),
            reads=(),
            running=Running(runs="process", timeout_s=5.0, processes=1, chunk=4),
        )
    )
    with Scorer(registry=registry) as made:
        yield made


def samples(folder: Path, *responses: str) -> list[Sample]:
    return [Sample(SOURCE, one, str(folder)) for one in responses]


def test_a_sample_that_is_done_makes_room_for_the_next_at_once(scorer: Scorer, tmp_path: Path) -> None:
    first = scorer.submit(samples(tmp_path, "wait", "pass", "pass", "pass", "pass", "pass"))
    second = scorer.score_batch(samples(tmp_path, "pass", "note"))  # while the first of the others waits
    assert [one.score for one in (*first.wait(), *second)] == [1.0] * 8
    assert scorer.worker_counts.started == 1


def test_what_one_does_to_its_worker_is_its_own_affair(scorer: Scorer, tmp_path: Path) -> None:
    scores = scorer.score_batch(samples(tmp_path, "pass", "die", "fail", "pass", "hang", "pass", "pass"))
    statuses = [one.status for one in scores]
    assert statuses == ["ok", "error", "error", "ok", "timeout", "ok", "ok"]
    assert "died twice" in (scores[1].detail or "") and "killed after" in (scores[4].detail or "")


def test_what_nobody_waits_for_is_stopped_and_nothing_else(scorer: Scorer, tmp_path: Path) -> None:
    scorer.score_batch(samples(tmp_path, "pass"))
    staying = scorer.submit(samples(tmp_path, "wait end"))
    leaving = scorer.submit(samples(tmp_path, "sleep stopped"))
    assert scorer.score_batch(samples(tmp_path, "wait asleep"))[0].ok
    leaving.cancel()
    scores = scorer.score_batch(samples(tmp_path, "wait stopped", "note end"))
    assert [one.score for one in (*scores, *staying.wait())] == [1.0] * 3
    assert (scorer.worker_counts.started, scorer.worker_counts.killed) == (1, 0)
