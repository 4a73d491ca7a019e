"""Samples whose programs run in the sandbox: one that sleeps or spins holds up no other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.sandbox.levels import why_not
from rewardkit.scoring.jobs import WorkerJob
from rewardkit.scoring.runner import RewardRunner
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

pytestmark = pytest.mark.skipif(
    bool(why_not("warm") and why_not("guard")), reason="no level of the sandbox holds on this host"
)

CHEAP = "print(int(input()) + 1)"
SLEEPS = "import time\ntime.sleep(600)"
SPINS = "while True: pass"


def sample(program: str, cpu_s: float = 60.0) -> Sample:
    truth = {"inputs": ["1\n"], "outputs": ["2\n"], "limits": {"cpu_s": cpu_s}}
    return Sample("apps", f"```python\n{program}\n```", json.dumps(truth))


@pytest.fixture
def scorer() -> Iterator[Scorer]:
    with Scorer(workers=1) as made:
        yield made


@pytest.mark.parametrize("program", [SLEEPS, SPINS])
def test_a_cheap_program_is_scored_before_the_slow_ones_that_came_earlier(
    scorer: Scorer, program: str
) -> None:
    slow = [scorer.submit([sample(f"{program} # {n}")]) for n in range(6)]
    assert scorer.score(sample(CHEAP)).correct
    assert not any(one.futures[0].done() for one in slow)
    for one in slow:
        one.cancel()
    assert scorer.score(sample(CHEAP)).correct
    assert (scorer.worker_counts.started, scorer.worker_counts.killed) == (1, 0)


def test_a_right_program_passes_however_many_spin_beside_it(scorer: Scorer) -> None:
    right = f"import time\nwhile time.process_time() < 0.3: pass\n{CHEAP}"
    slow = [scorer.submit([sample(SPINS, cpu_s=0.5)]) for _ in range(6)]
    assert scorer.score(sample(right, cpu_s=2.0)).correct
    found = [score for one in slow for score in one.wait()]
    assert [(score.status, score.correct, score.parts["timed_out"]) for score in found] == [
        ("ok", False, 1.0)
    ] * 6


def test_a_program_that_sleeps_costs_no_more_than_its_cpu_time(scorer: Scorer) -> None:
    assert scorer.typical_s("apps") is None
    slept = scorer.score_batch([sample(SLEEPS, cpu_s=1.0)] * 2)
    assert [score.seconds > 1.5 for score in slept] == [True] * 2
    assert (scorer.typical_s("apps") or 9.0) < 1.0


def test_what_is_typical_of_many_programs_is_not_set_by_a_few_slow_ones() -> None:
    job = WorkerJob(0, "any", 1.0, lambda: RewardRunner(REGISTRY.resolve("apps"), None))
    for seconds in [0.01] * 20 + [5.0] * 5 + [0.01]:
        job.learn_typical(seconds)
    assert job.expected_s < 0.2
    for _ in range(100):
        job.learn_typical(5.0)
    assert job.expected_s == pytest.approx(5.0, rel=0.01)


def test_programs_of_several_rewards_share_the_workers(scorer: Scorer) -> None:
    query = json.dumps(
        {"schema": "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2);", "sql": "SELECT x FROM t"}
    )
    slow = scorer.submit([sample(SLEEPS)])
    both = [Sample("sql", "```sql\nSELECT x FROM t\n```", query), sample(CHEAP)]
    found = scorer.score_batch(both)
    assert [score.status for score in found] == ["ok", "ok"], found
    assert not slow.futures[0].done()
    slow.cancel()
    assert scorer.worker_counts.started == 1


def test_a_reward_that_exits_in_a_thread_costs_only_its_own_sample() -> None:
    registry = Registry()
    running = Running(runs="sandbox", timeout_s=30.0)
    registry.register(Reward("exits", 1, exits, ("test/exits",), reads=(), running=running))
    with Scorer(registry=registry, workers=1) as own:
        found = own.score_batch([Sample("test/exits", one, "") for one in ("", "exit", "")])
    assert [score.status for score in found] == ["ok", "error", "ok"]


def exits(sample: Sample) -> float:
    """Exit if the response says so."""
    if sample.response:
        raise SystemExit(3)
    return 1.0
