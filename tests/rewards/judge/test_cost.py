"""What a judge costs: each question is asked once, and limits are kept."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Score, Scorer
from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import Registry
from rewardkit.rewards.judge import cache
from rewardkit.rewards.judge.file import register_judge
from rewardkit.rewards.judge.judge_reward import score
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.spending import JudgeSpending, RequestPace
from tests.rewards.judge.conftest import JudgeServer, marker_in, text_in

SOURCE = "test/judged"


def judged(server: JudgeServer, responses: list[str], spending: JudgeSpending, **options: Any) -> list[Score]:
    """The scores of responses that are judged together, in a loop of their own."""
    made = JudgeOptions(**{"url": server.url, "model": "m", "retries": 0, **options})

    async def all_of_them() -> list[Score]:
        return await asyncio.gather(
            *(score(Sample("s", one, "", "?"), made, spending=spending) for one in responses)
        )

    return asyncio.run(all_of_them())


def total(scores: list[Score], part: str) -> float:
    return sum(one.parts[part] for one in scores)


def test_three_hundred_samples_of_ten_kinds_make_ten_requests(
    judge_server: JudgeServer, tmp_path: Path, registry: Registry
) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text(f"url: {judge_server.url}\nmodel: m\ncache: {tmp_path}/answers.sqlite\nconcurrency: 50\n")
    register_judge(path, [SOURCE])
    samples = [Sample(SOURCE, f"response {i % 10}", "", "?") for i in range(300)]
    for requests in (10, 0):  # and none with another Scorer, as the answers are on disk
        with Scorer() as scorer:
            scores = scorer.score_batch(samples)
            assert {one.score for one in scores} == {0.7}
            assert (total(scores, "calls"), total(scores, "cached")) == (requests, 300 - requests)
            assert total(scores, "input_tokens") == 100 * requests
            assert scorer.worker_counts.started == 1
    assert len(judge_server.bodies) == 10


def test_equal_questions_that_come_together_are_asked_once(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: time.sleep(0.2) or f"{marker_in(body)} 7"  # type: ignore[func-returns-value]
    scores = judged(judge_server, ["same"] * 20, JudgeSpending())
    assert (len(judge_server.bodies), total(scores, "calls"), total(scores, "cached")) == (1, 1, 19)


@pytest.mark.parametrize(
    ("cache", "changes", "requests"),
    [
        ("memory", {}, 1),
        ("off", {}, 3),
        ("memory", {"temperature": 1.0}, 3),  # each is a draw of its own
        ("memory", {"temperature": 1.0, "extra_body": {"seed": 1}}, 1),
    ],
)
def test_only_what_is_bound_to_be_the_same_is_kept(
    judge_server: JudgeServer, cache: str, changes: dict[str, Any], requests: int
) -> None:
    judged(judge_server, ["same"] * 3, JudgeSpending(cache=cache), **changes)
    assert len(judge_server.bodies) == requests


def test_failures_are_not_kept(judge_server: JudgeServer, tmp_path: Path) -> None:
    spending = JudgeSpending(cache=str(tmp_path / "new" / "answers.sqlite"))
    judge_server.answer = lambda body: 400
    assert judged(judge_server, ["a"], spending)[0].status == "error"
    judge_server.answer = lambda body: f"{marker_in(body)} 7"
    assert judged(judge_server, ["a"], spending)[0].ok
    judge_server.answer = lambda body: 400
    assert judged(judge_server, ["a"], spending)[0].ok  # from the file
    (tmp_path / "torn").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="judge's cache"):
        judged(judge_server, ["a"], JudgeSpending(cache=str(tmp_path / "torn")))


def test_an_answer_without_a_verdict_is_not_kept(judge_server: JudgeServer, tmp_path: Path) -> None:
    spending = JudgeSpending(cache=str(tmp_path / "answers.sqlite"))
    judge_server.answer = lambda body: "The server is overloaded."
    assert judged(judge_server, ["a"], spending)[0].status == "error"
    judge_server.answer = lambda body: f"{marker_in(body)} 7"
    assert judged(judge_server, ["a"], spending)[0].ok
    asked = len(judge_server.bodies)
    assert judged(judge_server, ["a"], spending)[0].ok  # from the file
    assert len(judge_server.bodies) == asked


def test_a_cached_answer_without_a_verdict_is_asked_for_again(
    judge_server: JudgeServer, tmp_path: Path
) -> None:
    spending = JudgeSpending(cache=str(tmp_path / "answers.sqlite"))
    same = "Rate <{fence}>{response}</{fence}>, then write {marker} and a number."
    judge_server.answer = lambda body: f"{marker_in(body)} 7"
    assert judged(judge_server, ["a"], spending, prompt=same)[0].ok
    judge_server.answer = lambda body: f"{marker_in(body)} 5"
    (one,) = judged(judge_server, ["a"], spending, prompt=same, score_range=(0.0, 5.0))
    assert one.ok and one.score == 1.0


@pytest.mark.parametrize("written", ["off", "'off'", "false"])
def test_the_cache_is_off_however_yaml_writes_it(written: str, tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text(f"url: http://h\nmodel: m\ncache: {written}\n")
    register_judge(path, [SOURCE])
    path.write_text("url: http://h\nmodel: m\ncache: on\n")
    with pytest.raises(OptionsError, match="cache must be"):
        register_judge(path, [SOURCE])


def test_memory_keeps_the_latest_answers_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "MOST_IN_MEMORY", 3)
    for path, kept in (("memory", 3), (str(tmp_path / "answers"), 5)):
        answers = cache.AnswerCache(path)
        for i in range(5):
            answers.put(str(i), cache.JudgeAnswer(f"answer {i}"))
        found = [answers.get(str(i)) for i in range(5)]
        assert [one.text for one in found if one] == [f"answer {i}" for i in range(5 - kept, 5)]
        answers.close()


def test_one_who_gives_up_does_not_take_the_answer_from_others(judge_server: JudgeServer) -> None:
    held = threading.Event()
    judge_server.answer = lambda body: held.wait(60) and f"{marker_in(body)} 7"
    made = JudgeOptions(url=judge_server.url, model="m")

    async def three() -> list[Score | BaseException]:
        spending = JudgeSpending()
        asked = [
            asyncio.create_task(score(Sample("s", "same", ""), made, spending=spending)) for _ in range(3)
        ]
        while not judge_server.bodies:
            await asyncio.sleep(0.01)
        asked[0].cancel()
        await asyncio.sleep(0.05)
        held.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    first, *others = asyncio.run(three())
    assert isinstance(first, asyncio.CancelledError)
    assert [one.score for one in others if isinstance(one, Score)] == [0.7, 0.7]
    assert len(judge_server.bodies) == 1


def test_requests_in_flight_are_bounded_for_all_criteria_together(judge_server: JudgeServer) -> None:
    at_once = [0, 0]

    def answer(body: dict[str, Any]) -> str:
        with judge_server.lock:
            at_once[0] += 1
            at_once[1] = max(at_once)
        time.sleep(0.05)
        with judge_server.lock:
            at_once[0] -= 1
        return f"{marker_in(body)} yes"

    judge_server.answer = answer
    criteria = '["a", "b", "c", "d", "e"]'
    made = JudgeOptions(url=judge_server.url, model="m", rubric=True)

    async def both() -> list[Score]:
        samples = [Sample("s", response, criteria) for response in "xy"]
        return await asyncio.gather(
            *(score(one, made, spending=JudgeSpending(concurrency=3)) for one in samples)
        )

    assert all(one.score == 1.0 for one in asyncio.run(both()))
    assert (at_once[1], len(judge_server.bodies)) == (3, 10)


def test_requests_and_tokens_are_spread_over_the_minute(judge_server: JudgeServer) -> None:
    async def waits(amounts: list[float], a_minute: int) -> list[float]:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(round(seconds, 1))

        pace = RequestPace(a_minute)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio, "sleep", sleep)
            for amount in amounts:
                await pace.wait(amount)
        return slept

    assert asyncio.run(waits([1, 1, 1], 60)) == [1.0, 2.0]
    assert asyncio.run(waits([500, 100, 1], 1000)) == [30.0, 36.0]
    assert asyncio.run(waits([5, 5], 0)) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("concurrency: 0", "concurrency must be"),
        ("budget_usd: 5", "no price for m"),
        ("budget_tokens: -1", "must not be below 0"),
        ("prices: {m: 3}", "prices"),
    ],
)
def test_spending_that_cannot_work_is_refused(
    line: str, why: str, tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "judge.yaml").write_text(f"url: http://h\nmodel: m\n{line}\n")
    with pytest.raises(OptionsError, match=why):
        register_judge(tmp_path / "judge.yaml", [SOURCE])


def test_the_text_of_the_question_is_all_that_decides(judge_server: JudgeServer) -> None:
    judged(judge_server, ["a", "b", "a"], JudgeSpending())
    assert len({text_in(body) for body in judge_server.bodies}) == len(judge_server.bodies) == 2
