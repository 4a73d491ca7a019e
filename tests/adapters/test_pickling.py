"""Every adapter can be sent to another process: trainers start workers by spawn and pickle what they call."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import pickle
from typing import Any

import pytest

from rewardkit.adapters import backend, ms_swift, trl, verl
from rewardkit.adapters.callable import make_async_reward, make_reward

ROW: dict[str, Any] = {"completions": ["#### 72"], "ground_truth": ["72"], "data_source": ["gsm8k"]}
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "trl": (trl.reward, (), ROW),
    "trl made": (trl.make_reward("gsm8k"), (), {"completions": ["#### 72"], "solution": ["72"]}),
    "ms_swift": (ms_swift.RewardkitORM(), (), ROW),
    "ms_swift async": (ms_swift.RewardkitAsyncORM(), (), ROW),
    "callable": (make_reward("gsm8k"), (["#### 72"], ["72"]), {}),
    "callable async": (make_async_reward("gsm8k"), (["#### 72"], ["72"]), {}),
    "verl": (verl.compute_score, ("gsm8k", "#### 72", "72"), {}),
    "verl async": (verl.acompute_score, ("gsm8k", "#### 72", "72"), {}),
}


def call(function: Any, args: tuple[Any, ...], columns: dict[str, Any], answers: Any) -> None:
    """What the other process does."""
    found = function(*args, **columns)
    answers.put(asyncio.run(found) if inspect.isawaitable(found) else found)
    backend.close()


@pytest.mark.slow
def test_every_adapter_scores_in_a_spawned_process() -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    processes = [context.Process(target=call, args=(*made, answers)) for made in CALLS.values()]
    for process in processes:
        process.start()
    found = [answers.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    assert [answer["score"] if isinstance(answer, dict) else answer[0] for answer in found] == [1.0] * len(
        CALLS
    )


@pytest.mark.parametrize("name", CALLS)
def test_pickling_keeps_what_an_adapter_was_made_with(name: str) -> None:
    function, args, columns = CALLS[name]
    again = pickle.loads(pickle.dumps(function))
    found = again(*args, **columns)
    found = asyncio.run(found) if inspect.isawaitable(found) else found
    assert found["score"] == 1.0 if isinstance(found, dict) else found == [1.0]
    assert pickle.loads(pickle.dumps(trl.make_reward("x", url="http://y"))).args == ("x", "http://y")


def test_trl_is_told_that_its_reward_is_a_coroutine_function_with_a_name() -> None:
    for made in (trl.reward, trl.make_reward("gsm8k"), pickle.loads(pickle.dumps(trl.reward))):
        assert inspect.iscoroutinefunction(made) and asyncio.iscoroutinefunction(made)
        assert made.__name__ == "reward"
    assert inspect.iscoroutinefunction(make_async_reward("gsm8k"))
