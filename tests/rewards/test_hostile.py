"""No response chooses its status or holds up who scores it, whatever it says, to whichever reward."""

from __future__ import annotations

import random
import time
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit import faults
from rewardkit.registry import REGISTRY
from rewardkit.rewards.math.guards import budget
from rewardkit.scoring.runner import INLINE_CHARACTERS, RewardRunner
from rewardkit.types import Score
from tests.rewards.hostile import PIECES, QUESTIONS, formulas, programs, repeated, samples, texts

INLINE = [name for name in QUESTIONS if (found := REGISTRY.by_name(name)) and found.running.runs == "inline"]
PROGRAMS = [
    name for name in QUESTIONS if (found := REGISTRY.by_name(name)) and found.running.runs == "sandbox"
]
OTHERS = [name for name in QUESTIONS if name not in INLINE + PROGRAMS]

INLINE_CPU_S = 0.01
"""For a response of 10,000 characters: ten times what it takes, so that no slow machine fails."""


@cache
def runner(name: str) -> RewardRunner:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    return RewardRunner(reward, reward.make_options({}))


def scores(name: str, response: str) -> list[Score]:
    return runner(name).run(samples(name, response))


def assert_ok(name: str, response: str) -> None:
    for score in scores(name, response):
        assert score.status == "ok", (name, response[:200], score.detail)
        assert (score.extracted or "").encode() is not None
        assert (score.detail or "").encode() is not None


def test_every_reward_that_needs_no_model_is_asked() -> None:
    elsewhere = {"reasoning_gym", "environment"}  # its tasks are another package's; it reads no response
    shipped = {
        r.name
        for r in REGISTRY
        if r.running.runs != "model" and r.function.__module__.startswith("rewardkit.rewards.")
    }
    assert shipped - elsewhere == set(QUESTIONS)


@pytest.mark.parametrize("name", [*INLINE, *OTHERS])
def test_no_text_chooses_the_status_of_its_score(name: str) -> None:
    for text in repeated(1_500):
        assert_ok(name, text)


@pytest.mark.parametrize("name", [*INLINE, *OTHERS])
@settings(max_examples=60, deadline=None)
@given(response=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join))
def test_no_mix_of_pieces_does(name: str, response: str) -> None:
    assert_ok(name, response)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*INLINE, *OTHERS])
def test_no_known_name_with_odd_arguments_does(name: str) -> None:
    before = faults.COUNTS.copy()
    for formula in formulas(4_000, seed=52):
        with budget(0.0):
            assert_ok(name, f"#### \\boxed{{{formula}}}")
    assert before == faults.COUNTS, "a reward of ours raised"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_does(name: str) -> None:
    for response in [*programs(), *texts(3_000, 12, seed=1)]:
        assert_ok(name, response)


@pytest.mark.slow
@pytest.mark.parametrize("size", [60_000, 1_000_000])
@pytest.mark.parametrize("name", [*INLINE, *OTHERS])
def test_a_long_text_is_scored_well_before_the_deadline(name: str, size: int) -> None:
    drawn = random.Random(f"{name} {size}").randrange(1_000)
    for response in texts(size, 3 if size > 100_000 else 8, seed=drawn):
        before = time.thread_time()
        assert_ok(name, response)
        took = (time.thread_time() - before) / len(QUESTIONS[name])
        assert took < runner(name).reward.running.timeout_s / 2, (response[:100], took)


@pytest.mark.parametrize("name", INLINE)
def test_an_inline_reward_holds_its_caller_for_milliseconds_at_most(name: str) -> None:
    for response in repeated(INLINE_CHARACTERS):
        assert min(_cpu_s(name, response) for _ in range(3)) < INLINE_CPU_S, response[:100]


def _cpu_s(name: str, response: str) -> float:
    before = time.thread_time()
    scores(name, response)
    return (time.thread_time() - before) / len(QUESTIONS[name])
