"""Other trainers' call signatures: the shapes they send, the shapes they need back, wherever it runs."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from rewardkit.adapters import backend, ms_swift, trl, verifiers, verl
from rewardkit.adapters.callable import make_async_reward, make_reward
from rewardkit.adapters.columns import samples_from
from rewardkit.errors import InputError, ScoringError, ServerError
from tests.server.serving import serve

RIGHT, WRONG = "#### 72", "#### 71"
KEYS = {"score", "acc", "status", "failed", "pred", "detail", "scorer"}


class FakeArray:
    """What verl and datasets hand over in numpy's stead."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def tolist(self) -> list[Any]:
        return self.values


@pytest.fixture(autouse=True)
def closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(backend.URL_VARIABLE, raising=False)
    yield
    backend.close()


# --- verl ---------------------------------------------------------------------------------------------


def test_verl_gets_the_same_keys_whatever_the_sample() -> None:
    answers = [
        verl.compute_score("openai/gsm8k", RIGHT, "72", {"index": 1}),
        verl.compute_score("openai/gsm8k", WRONG, "72"),
        verl.compute_score("openai/gsm8k", "", "72", None),
        verl.compute_score("openai/gsm8k", RIGHT, "no number"),
        verl.compute_score("math_dapo", "Answer: 72", "72"),
        verl.compute_score("no such source", RIGHT, "72", on_failure=-1.0),
    ]
    assert all(set(answer) == KEYS for answer in answers)
    assert all(value is not None for answer in answers for value in answer.values())
    assert [answer["score"] for answer in answers[:4]] == [1.0, 0.1, 0.0, 0.0]
    assert [answer["acc"] for answer in answers[:2]] == [1.0, 0.0]
    assert (answers[3]["status"], answers[3]["failed"]) == ("invalid", 1.0)
    assert (answers[-1]["score"], answers[-1]["acc"]) == (-1.0, 0.0)


def test_verl_passes_what_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy within extra_info, and keyword arguments of its reward router."""
    answer = verl.compute_score(
        data_source="openai/gsm8k",
        solution_str=RIGHT,
        ground_truth="72",
        extra_info={"tools": FakeArray([1, {"a": FakeArray([2])}]), "num_turns": None, "odd": object()},
        reward_router_address="http://x",
        reward_model_tokenizer=object(),
    )
    assert answer["score"] == 1.0


def test_verl_awaits_the_async_one_from_any_loop() -> None:
    assert inspect.iscoroutinefunction(verl.acompute_score)

    async def many() -> list[dict[str, Any]]:
        calls = [verl.acompute_score("openai/gsm8k", f"#### {i}", "3", None) for i in range(50)]
        return await asyncio.gather(*calls)

    for _ in range(2):
        answers = asyncio.run(many())
        assert [answer["acc"] for answer in answers] == [float(i == 3) for i in range(50)]


def test_verl_may_call_from_many_threads() -> None:
    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(verl.compute_score, "math_dapo", f"Answer: {i}", "3") for i in range(16)]
        assert [job.result()["acc"] for job in jobs] == [float(i == 3) for i in range(16)]


def test_verl_is_told_what_is_no_response() -> None:
    for given in (
        None,
        {"error": {"message": RIGHT}},
        [RIGHT, WRONG],
    ):
        answer = verl.compute_score("openai/gsm8k", given, "72", on_failure=-1.0)  # type: ignore[arg-type]
        assert (answer["status"], answer["score"], answer["acc"]) == ("invalid", -1.0, 0.0)
        assert answer["detail"] and set(answer) == KEYS
        assert asyncio.run(verl.acompute_score("openai/gsm8k", given, "72"))["status"] == "invalid"  # type: ignore[arg-type]


# --- TRL ----------------------------------------------------------------------------------------------


def test_trl_gets_none_where_nothing_could_be_scored() -> None:
    logged: dict[str, float] = {}
    rewards = asyncio.run(
        trl.reward(
            prompts=["q"] * 3,
            completions=[RIGHT, WRONG, RIGHT],
            completion_ids=[[1], [2], [3]],
            data_source=["gsm8k", "gsm8k", "no such source"],
            ground_truth=["72", "72", "72"],
            trainer_state=object(),
            log_extra=lambda *_: None,
            log_metric=logged.__setitem__,
        )
    )
    assert rewards == [1.0, 0.1, None]
    assert logged == {
        "rewardkit/failed": pytest.approx(1 / 3),
        "rewardkit/correct": 0.5,
        "rewardkit/format": 1.0,
    }


def test_trl_may_await_the_rewards_or_use_them_as_a_list() -> None:
    columns = {"data_source": ["gsm8k"] * 2, "ground_truth": ["72"] * 2}
    rewards = trl.reward([RIGHT, WRONG], **columns)
    assert rewards == [1.0, 0.1] and isinstance(rewards, list)
    assert asyncio.run(rewards) == [1.0, 0.1]

    async def main() -> list[object]:
        async def awaits(found: Any) -> object:
            return await found

        return list(
            await asyncio.gather(
                trl.reward([RIGHT], data_source=["gsm8k"], ground_truth=["72"]), awaits(rewards)
            )
        )

    assert asyncio.run(main()) == [[1.0], [1.0, 0.1]]


def test_trl_takes_conversations_and_verls_columns() -> None:
    prompts = [[{"role": "user", "content": "6 * 12?"}]]
    completions = [[{"role": "assistant", "content": RIGHT}]]
    reward_model = [{"style": "rule", "ground_truth": "72"}]
    columns: dict[str, Any] = {"data_source": ["gsm8k"], "reward_model": reward_model}
    assert asyncio.run(trl.reward(completions, prompts, **columns)) == [1.0]
    assert asyncio.run(trl.make_reward("gsm8k")(completions, prompts, solution=["72"])) == [1.0]


def test_a_dataset_without_data_source_is_told_what_to_add() -> None:
    with pytest.raises(InputError, match="'data_source'; add the column"):
        asyncio.run(trl.reward([RIGHT], ["q"], ground_truth=["72"]))
    with pytest.raises(InputError, match=r"'ground_truth'.*2 completions"):
        samples_from([RIGHT, WRONG], {"ground_truth": ["72"]}, data_source="gsm8k")


# --- ms-swift -----------------------------------------------------------------------------------------


def test_ms_swift_finds_the_rewards_in_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    swift, rewards = ModuleType("swift"), ModuleType("swift.rewards")
    rewards.orms = {}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", swift)
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    namespace: dict[str, Any] = {"__name__": "plugin"}
    with open(ms_swift.__file__) as file:
        exec(compile(file.read(), ms_swift.__file__, "exec"), namespace)  # as --external_plugins does
    assert set(rewards.orms) == {"rewardkit", "rewardkit_sync"}  # type: ignore[attr-defined]


def test_ms_swift_rewards_score_completions() -> None:
    columns = {
        "data_source": ["gsm8k"] * 3,
        "solution": ["72", "72", "nothing"],
        "messages": [[{"role": "user", "content": "q"}]] * 3,
        "trainer_state": object(),
    }
    completions = [RIGHT, WRONG, RIGHT]
    assert ms_swift.RewardkitORM(object())(completions, **columns) == [1.0, 0.1, None]
    assert inspect.iscoroutinefunction(ms_swift.RewardkitAsyncORM().__call__)
    assert asyncio.run(ms_swift.RewardkitAsyncORM()(completions, **columns)) == [1.0, 0.1, None]


# --- anything else ------------------------------------------------------------------------------------


def test_a_plain_callable_takes_lists_and_gives_numbers() -> None:
    reward = make_reward("gsm8k", on_failure=-1.0)
    assert reward([RIGHT, WRONG, RIGHT], ["72", "72", "?"]) == [1.0, 0.1, -1.0]
    assert make_reward()([RIGHT], [72], data_source=["gsm8k"]) == [1.0]
    assert asyncio.run(make_async_reward("gsm8k")([RIGHT], ["?"])) == [None]


# --- where it runs ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve("--no-sandbox") as server:
        yield server.url


def test_a_server_scores_where_an_address_is_given(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "Scorer", None)  # nothing is scored here
    assert verl.compute_score("gsm8k", RIGHT, "72", url=url)["score"] == 1.0
    monkeypatch.setenv(backend.URL_VARIABLE, url)
    assert asyncio.run(verl.acompute_score("gsm8k", RIGHT, "72", {"odd": object()}))["score"] == 1.0
    columns = {"data_source": ["gsm8k"] * 2, "solution": ["72"] * 2}
    for _ in range(2):
        assert asyncio.run(trl.reward([RIGHT, WRONG], **columns)) == [1.0, 0.1]


def test_a_server_that_is_not_there_is_an_error_not_a_zero() -> None:
    with pytest.raises(ServerError, match="rewardkit serve"):
        verl.compute_score("gsm8k", RIGHT, "72", url="http://127.0.0.1:9")


def _in_child(results: Any) -> None:
    results.put(verl.compute_score("math_dapo", "Answer: 72", "72")["acc"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_a_process_that_has_scored_score_too(method: str) -> None:
    assert verl.compute_score("math_dapo", "Answer: 72", "72")["acc"] == 1.0
    processes = multiprocessing.get_context(method)
    results = processes.SimpleQueue()
    children = [processes.Process(target=_in_child, args=(results,)) for _ in range(2)]  # type: ignore[attr-defined]
    for child in children:
        child.start()
    for child in children:
        child.join(300)
        assert child.exitcode == 0
    assert [results.get(), results.get()] == [1.0, 1.0]
    assert verl.compute_score("math_dapo", "Answer: 71", "72")["acc"] == 0.0


@pytest.mark.slow
def test_the_workers_end_with_the_process() -> None:
    program = (
        "from rewardkit.adapters import verl, backend\n"
        "assert verl.compute_score('math_dapo', 'Answer: 72', '72')['acc'] == 1.0\n"
        "print('done')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


# --- verifiers ----------------------------------------------------------------------------------------


def test_a_rubric_gets_a_number_or_an_exception_and_the_state_all_of_it() -> None:
    reward = verifiers.make_reward()
    given = {"prompt": [{"role": "user", "content": "6 * 12"}], "task": "gsm8k", "info": {"index": 1}}
    state: dict[str, Any] = {}
    said = [{"role": "assistant", "content": RIGHT}]
    assert asyncio.run(reward(completion=said, answer="72", state=state, **given)) == 1.0
    assert state["rewardkit"]["correct"] is True
    assert asyncio.run(verifiers.make_reward("gsm8k")("?", WRONG, "72", state)) == 0.1
    with pytest.raises(ScoringError, match="invalid"):
        asyncio.run(reward(completion=said, answer="no number", state=state, **given))
    assert state["rewardkit"]["status"] == "invalid"
