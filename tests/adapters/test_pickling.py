"""Every adapter can be sent to another process: trainers start workers by spawn and pickle what they call."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.adapters import backend, ms_swift, trl, verl
from rewardkit.adapters.callable import make_async_reward, make_reward
from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import REGISTRY

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


def call(calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]], answers: Any) -> None:
    """What the other process does. Each adapter finds it as if it were the first."""
    for function, args, columns in calls:
        found = function(*args, **columns)
        answers.put(asyncio.run(found) if inspect.isawaitable(found) else found)
        backend.close()


@pytest.mark.parametrize("name", CALLS)
def test_pickling_keeps_what_an_adapter_was_made_with(name: str) -> None:
    function, args, columns = CALLS[name]
    again = pickle.loads(pickle.dumps(function))
    found = again(*args, **columns)
    found = asyncio.run(found) if inspect.isawaitable(found) else found
    assert found["score"] == 1.0 if isinstance(found, dict) else found == [1.0]
    assert pickle.loads(pickle.dumps(trl.make_reward("x", url="http://y"))).args == ("x", "http://y", None)


def test_trl_is_told_that_its_reward_is_a_coroutine_function_with_a_name() -> None:
    for made in (trl.reward, trl.make_reward("gsm8k"), pickle.loads(pickle.dumps(trl.reward))):
        assert inspect.iscoroutinefunction(made) and asyncio.iscoroutinefunction(made)
        assert made.__name__ == "reward"
    assert inspect.iscoroutinefunction(make_async_reward("gsm8k"))


COMPOSED = "data_sources: [adapted/sum]\nsum: [gsm8k, {reward: 'own.py:halves', weight: 0.5}]\n"
OWN = "import rewardkit\n\n@rewardkit.reward('adapted/own', name='halves')\ndef halves(sample):\n    return 0.5\n"


@pytest.fixture
def composed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Compositions and a reward of one's own, beside each other, in a folder that is not the current one."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "rewards.yaml").write_text(COMPOSED.replace("own.py", str(tmp_path / "own.py")))
    for name in ("_exact", "_rewards"):
        monkeypatch.setattr(REGISTRY, name, dict(getattr(REGISTRY, name)))
    backend.close()
    yield str(tmp_path / "rewards.yaml")
    backend.close()


def adapted(rewards: str | None) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    row: dict[str, Any] = {**ROW, "data_source": ["adapted/sum"]}
    source = {"data_source": ["adapted/sum"]}
    one = ("adapted/sum", "#### 72", "72")
    return {
        "trl": (trl.make_reward(rewards=rewards), (), row),
        "callable": (make_reward(rewards=rewards), (["#### 72"], ["72"]), source),
        "callable async": (make_async_reward(rewards=rewards), (["#### 72"], ["72"]), source),
        "verl": (verl.compute_score, one, {"rewards": rewards}),
        "verl async": (verl.acompute_score, one, {"rewards": rewards}),
    } | ({} if rewards else {"ms_swift": (ms_swift.RewardkitORM(), (), row)})


@pytest.mark.parametrize("by_variable", [False, True])
def test_every_adapter_takes_compositions_and_rewards_of_ones_own(
    composed: str, by_variable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_variable:
        monkeypatch.setenv("REWARDKIT_REWARDS", composed)
    for name, (function, args, columns) in adapted(None if by_variable else composed).items():
        found = pickle.loads(pickle.dumps(function))(*args, **columns)
        found = asyncio.run(found) if inspect.isawaitable(found) else found
        assert (found["score"] if isinstance(found, dict) else found[0]) == 1.25, name


@pytest.mark.slow
def test_every_adapter_and_its_compositions_score_in_a_spawned_process(composed: str) -> None:
    calls = [*CALLS.values(), adapted(composed)["trl"]]
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=call, args=(calls, answers))
    process.start()
    found = [answers.get(timeout=300) for _ in calls]
    process.join()
    scores = [answer["score"] if isinstance(answer, dict) else answer[0] for answer in found]
    assert scores == [1.0] * len(CALLS) + [1.25]


def test_rewards_of_this_process_are_not_silently_those_of_a_server(composed: str) -> None:
    with pytest.raises(OptionsError, match="--rewards"):
        verl.compute_score("adapted/sum", "#### 72", "72", url="http://y", rewards=composed)
    with pytest.raises(InputError, match=r"none\.yaml"):
        verl.compute_score("adapted/sum", "#### 72", "72", rewards="none.yaml")


def test_files_of_rewards_are_named_with_their_whole_path(
    composed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(composed).parent)
    assert make_reward(rewards="rewards.yaml, own.py").rewards == (
        composed,
        str(Path(composed).with_name("own.py")),
    )
    assert make_reward(rewards=["x=elsewhere.py:f"]).rewards == ("x=elsewhere.py:f",)


def test_a_reward_of_groups_is_refused_where_responses_come_one_by_one(composed: str) -> None:
    Path(composed).write_text("data_sources: [adapted/groups]\nsum: [math, rank]\n")
    with pytest.raises(OptionsError, match="all responses to a prompt"):
        verl.compute_score("adapted/groups", "#### 72", "72", rewards=composed)
    with pytest.raises(OptionsError, match="all responses to a prompt"):
        asyncio.run(verl.acompute_score("adapted/groups", "#### 72", "72", rewards=composed))
    together = make_reward("adapted/groups", rewards=composed)(["\\boxed{72}", "\\boxed{7}"], ["72", "72"])
    assert together == [2.0, 0.0]
