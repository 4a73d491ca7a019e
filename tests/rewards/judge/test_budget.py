"""A budget of a judge is a limit, for one process and for several, and whatever a server answers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer, run_folder
from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.registry import Registry
from rewardkit.rewards.judge.budget import JudgeBudget, share_budget
from rewardkit.rewards.judge.file import judge_of_file, register_judge
from rewardkit.rewards.judge.spending import Cost, JudgeSpending, OverBudgetError, TokenPrice
from tests.rewards.judge.conftest import JudgeServer, marker_in
from tests.rewards.judge.test_cost import SOURCE, judged, total

LONG = {"prompt_tokens": 100, "completion_tokens": 1000}
PRICES = {"m": TokenPrice(1.0, 10.0)}
"""A question and an answer of `LONG` cost $0.0101."""


def slow(server: JudgeServer, seconds: float = 0.1) -> None:
    """Let all requests that are allowed at once arrive before the first is answered."""

    def answer(body: dict[str, Any]) -> str:
        time.sleep(seconds)
        return f"{marker_in(body)} 7"

    server.answer = answer
    server.usage = LONG


@pytest.mark.parametrize("limit", [{"budget_usd": 5 * 0.0101}, {"budget_tokens": 5 * 1100}])
def test_forty_requests_at_once_stay_within_a_budget_for_five(
    judge_server: JudgeServer, limit: dict[str, Any]
) -> None:
    slow(judge_server)
    spending = JudgeSpending(concurrency=40, prices=PRICES, **limit)
    scores = judged(judge_server, [f"response {n}" for n in range(40)], spending, max_tokens=1000)
    asked = len(judge_server.bodies)
    assert 3 <= asked <= 5
    assert total(scores, "calls") == asked == sum(one.ok for one in scores)
    assert total(scores, "cost_usd") <= 5 * 0.0101
    assert total(scores, "over_budget") == 40 - asked
    assert all("budget" in (one.detail or "") for one in scores if not one.ok)


def test_two_processes_of_a_run_share_a_budget(
    judge_server: JudgeServer, tmp_path: Path, registry: Registry
) -> None:
    slow(judge_server)
    judge = tmp_path / "judge.yaml"
    judge.write_text(
        f"{{url: '{judge_server.url}', model: m, concurrency: 40, max_tokens: 1000, budget_usd: 0.0505, "
        "prices: {m: {input: 1, output: 10}}}"
    )
    register_judge(judge, ["test/*"])
    samples = [Sample(f"test/{n % 2}", f"response {n}", "", "?") for n in range(40)]
    with Scorer(options={"test/1": {"system": "Be strict."}}) as scorer:  # other options, another process
        scores = scorer.score_batch(samples)
        assert scorer.worker_counts.started == 2
    assert 3 <= len(judge_server.bodies) <= 5
    assert 0.0 < total([one for one in scores if one.parts], "cost_usd") <= 0.0505


def test_a_budget_is_used_up_although_answers_are_shorter_than_allowed(judge_server: JudgeServer) -> None:
    """Requests wait for the reservations of others, instead of giving up while most of the budget is left."""
    spending = JudgeSpending(budget_tokens=5000, concurrency=40)
    scores = judged(judge_server, [f"response {n}" for n in range(60)], spending, max_tokens=1000)
    assert 110 * len(judge_server.bodies) > 5000 - 2500
    assert total(scores, "input_tokens") + total(scores, "output_tokens") <= 5000


def test_what_was_paid_for_is_kept_for_resume(
    judge_server: JudgeServer,
    tmp_path: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("rewardkit.files.formats.CHUNK_ROWS", 15)  # three chunks, all of them in flight
    slow(judge_server)
    judge, data, out = tmp_path / "judge.yaml", tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    text = f"{{url: '{judge_server.url}', model: m, concurrency: 40, max_tokens: 1000, temperature: 0.7, "
    judge.write_text(f"{text} budget_tokens: 20000}}")  # without a seed, nothing is cached
    rows = [{"data_source": SOURCE, "response": f"response {n}", "ground_truth": ""} for n in range(40)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", str(data), "--judge", str(judge), "--for", SOURCE, "--out", str(out)]
    assert run(command) == 1
    paid = len(judge_server.bodies)
    assert 10 <= paid <= 18
    for _ in range(2):  # each run has its own budget
        monkeypatch.setenv(run_folder.VARIABLE, run_folder.value_for(Path(tempfile.mkdtemp(dir=tmp_path))))
        code = run([*command, "--resume"])
    assert code == 0 and "--resume" in capsys.readouterr().err
    assert len(judge_server.bodies) == 40
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["response"] for row in scored] == [row["response"] for row in rows]
    assert {row["status"] for row in scored} == {"ok"} and sum(row["parts"]["calls"] for row in scored) == 40


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": "The answer is"}, "finish_reason": "length"},
        {"message": {"content": None}, "finish_reason": "stop"},
        {"message": {"content": None, "refusal": "I cannot judge this."}, "finish_reason": "stop"},
        {"message": {"content": None}, "finish_reason": "content_filter"},
        {"message": None, "finish_reason": "error"},
    ],
)
def test_an_answer_without_text_costs_what_the_server_says(
    judge_server: JudgeServer, choice: dict[str, Any]
) -> None:
    judge_server.answer = lambda body: choice
    spending = JudgeSpending(concurrency=1, budget_tokens=4000, prices={"m": TokenPrice(1.0, 2.0)})
    scores = judged(judge_server, [f"response {n}" for n in range(200)], spending, max_tokens=500)
    asked = len(judge_server.bodies)
    assert 10 <= asked <= 4000 // 110
    assert (total(scores, "calls"), total(scores, "input_tokens")) == (asked, 100 * asked)
    assert total(scores, "cost_usd") == pytest.approx(asked * 120e-6)
    assert total(scores, "over_budget") == 200 - asked


def test_tokens_are_estimated_for_a_server_that_counts_none(judge_server: JudgeServer) -> None:
    judge_server.usage = None
    (one,) = judged(judge_server, ["a"], JudgeSpending())
    assert 100 < one.parts["input_tokens"] < 400 and 1 <= one.parts["output_tokens"] < 20
    judge_server.usage = {"prompt_tokens": 50, "total_tokens": 80}
    (one,) = judged(judge_server, ["b"], JudgeSpending())
    assert (one.parts["input_tokens"], one.parts["output_tokens"]) == (50, 30)


def test_each_attempt_of_a_request_is_counted(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: (
        {"message": {"content": None}, "finish_reason": "content_filter"}
        if len(judge_server.bodies) == 1
        else f"{marker_in(body)} 7"
    )
    (one,) = judged(judge_server, ["a"], JudgeSpending(), retries=2, temperature=0.7)
    assert one.ok and (one.parts["calls"], one.parts["input_tokens"]) == (2, 200)


def test_a_filter_is_not_asked_again_at_temperature_0(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: {"message": {"content": None}, "finish_reason": "content_filter"}
    (one,) = judged(judge_server, ["a"], JudgeSpending(), retries=2)
    assert len(judge_server.bodies) == 1 and "filter" in (one.detail or "")


def test_a_cut_off_answer_says_to_raise_max_tokens(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: {"message": {"content": "So"}, "finish_reason": "length"}
    (one,) = judged(judge_server, ["a"], JudgeSpending())
    assert one.status == "error" and "raise max_tokens" in (one.detail or "")


def test_a_lost_answer_counts_as_the_longest_and_a_refused_connection_as_nothing(
    judge_server: JudgeServer,
) -> None:
    judge_server.answer = lambda body: None
    (one,) = judged(judge_server, ["a"], JudgeSpending(), max_tokens=500)
    assert (one.parts["calls"], one.parts["output_tokens"]) == (1, 500)
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        (one,) = judged(judge_server, ["a"], JudgeSpending(), url=url, retries=1)
    assert (one.status, one.parts["calls"], one.parts["output_tokens"]) == ("error", 0, 0)


def test_a_cancelled_request_counts_as_the_longest(judge_server: JudgeServer) -> None:
    slow(judge_server, 5.0)
    spending = JudgeSpending(budget_tokens=3000)

    async def cancelled() -> None:
        from rewardkit.rewards.judge.judge_reward import score
        from rewardkit.rewards.judge.options import JudgeOptions

        options = JudgeOptions(url=judge_server.url, model="m", max_tokens=2000)
        asked = asyncio.create_task(score(Sample("s", "a", ""), options, spending=spending))
        while not judge_server.bodies:
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(cancelled())
    (one,) = judged(judge_server, ["b"], spending, max_tokens=10)
    assert one.parts["over_budget"] == 1.0 and len(judge_server.bodies) == 1


def test_what_a_dead_process_had_reserved_is_spent() -> None:
    spending = JudgeSpending(budget_tokens=100)
    code = (
        "import asyncio, os\n"
        "from rewardkit.rewards.judge.budget import JudgeBudget\n"
        "from rewardkit.rewards.judge.spending import Cost, JudgeSpending\n"
        "budget = JudgeBudget(JudgeSpending(budget_tokens=100), 'judge')\n"
        "asyncio.run(budget.reserve(Cost(60, 0)))\n"
        "os.abort()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    budget = JudgeBudget(spending, "judge")
    with pytest.raises(OverBudgetError, match="60 tokens spent"):
        asyncio.run(budget.reserve(Cost(50, 0)))
    asyncio.run(budget.reserve(Cost(40, 0)))


def test_training_processes_divide_a_budget_and_say_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spending = JudgeSpending(budget_tokens=1000, budget_usd=2.0, prices=PRICES)
    monkeypatch.setenv("WORLD_SIZE", "4")
    for rank in range(4):
        monkeypatch.setenv("RANK", str(rank))
        share_budget(spending, "the judge 'j'")
        budget = JudgeBudget(spending, "judge")
        asyncio.run(budget.reserve(Cost(250, 0, 0.5)))
        budget.settle(Cost(250, 0, 0.5), Cost(250, 0, 0.5))
        with pytest.raises(OverBudgetError, match="among 4 processes"):
            asyncio.run(budget.reserve(Cost(1, 0)))
    (record,) = caplog.records
    assert "$0.5 and 250 tokens" in record.getMessage()


def test_the_folder_of_a_run_is_shared_by_its_processes_and_deleted_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != run_folder.VARIABLE}
    code = (
        "import os, subprocess, sys\n"
        "from rewardkit.run_folder import run_folder\n"
        "child = 'from rewardkit.run_folder import run_folder; print(run_folder())'\n"
        "print(run_folder(), flush=True)\n"
        "subprocess.run([sys.executable, '-c', child])\n"
        "os.fork() or sys.exit()\n"
        "os.wait()\n"
        "print(run_folder().is_dir())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    first, second, there = done.stdout.split()
    assert first == second and there == "True" and not Path(first).exists()
    monkeypatch.setenv(run_folder.VARIABLE, f"elsewhere:{tmp_path}")
    with pytest.raises(InputError, match="on the machine elsewhere"):
        run_folder.run_folder()
    (tmp_path / "judge.yaml").write_text("{url: http://h, model: m, budget_tokens: 5}")
    with pytest.raises(InputError):
        judge_of_file(tmp_path / "judge.yaml", [SOURCE])
