"""The process of a neural reward: loaded once, shared by concurrent callers, killable, never a silent zero."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Sample, Scorer, reward
from rewardkit.cli import run
from rewardkit.errors import InputError, ScoringError
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, register_reward_model, score
from tests.living import alive, descendants
from tests.rewards.model.conftest import same_scores, scorer_of
from tests.server.serving import serve

SOURCE = "Dahoas/full-hh-rlhf"


@pytest.fixture
def obedient(registry: Registry) -> None:
    """A stand-in for a model: it scores a sample with the size of its batch, or does what it says."""

    @reward("test/neural", runs="model", batch=True, timeout_s=2.0)
    def neural(samples: list[Sample]) -> list[float]:
        time.sleep(0.1)
        for sample in samples:
            if sample.response == "hang":
                time.sleep(60)
            if sample.response == "die" or (
                sample.response == "die once" and not Path(sample.ground_truth).exists()
            ):
                Path(sample.ground_truth or os.devnull).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return [float(len(samples))] * len(samples)


def ask(response: str = "", ground_truth: str = "") -> Sample:
    return Sample("test/neural", response, ground_truth)


@pytest.fixture
def scorer(obedient: None) -> Iterator[Scorer]:
    with Scorer(workers=1) as made:
        yield made


_others: set[int] = set()


@pytest.fixture(autouse=True)
def leave_out_what_other_tests_keep_running() -> None:
    _others.clear()
    _others.update(descendants(os.getpid()))


def children() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if pid not in _others and alive(pid)]


def test_concurrent_requests_share_batches_and_one_process(scorer: Scorer) -> None:
    async def many() -> list[float]:
        return [s.score for s in await asyncio.gather(*(scorer.ascore(ask()) for _ in range(40)))]

    sizes = asyncio.run(many())
    assert max(sizes) > 10
    assert sum(1 / size for size in sizes) < 5  # the number of batches
    assert len(children()) == 1


def test_a_large_batch_goes_to_the_model_in_bounded_chunks(scorer: Scorer) -> None:
    assert [s.score for s in scorer.score_batch([ask()] * 300)] == [256.0] * 256 + [44.0] * 44


def test_a_crash_is_tried_once_more_and_then_reported(scorer: Scorer, tmp_path: Path) -> None:
    once = scorer.score_batch([ask(), ask("die once", str(tmp_path / "died")), ask()])
    assert [(s.status, s.score) for s in once] == [("ok", 3.0)] * 3
    twice = scorer.score_batch([ask(), ask("die")])
    assert {s.status for s in twice} == {"error"}
    assert "died twice on 2 samples" in (twice[0].detail or "")
    assert scorer.score(ask()).ok


def test_a_hung_model_is_killed_at_its_deadline(scorer: Scorer) -> None:
    assert scorer.score(ask()).ok
    (before,) = children()
    found = scorer.score_batch([ask("hang"), ask()])
    assert [s.status for s in found] == ["timeout", "timeout"]
    assert "killed after 2 s" in (found[0].detail or "")
    assert not alive(before)
    assert scorer.score(ask()).ok


def test_a_caller_who_leaves_does_not_cost_the_others_their_model(scorer: Scorer) -> None:
    assert scorer.score(ask()).ok
    (before,) = children()

    async def leave() -> float:
        busy = asyncio.create_task(scorer.ascore(ask()))
        await asyncio.sleep(0.02)
        busy.cancel()
        return (await scorer.ascore(ask())).score

    assert asyncio.run(leave()) == 1.0
    assert children() == [before]


def test_closing_leaves_no_process_and_takes_no_more(obedient: None) -> None:
    scorer = Scorer()
    scorer.score(ask())
    scorer.close()
    assert children() == []
    with pytest.raises(ScoringError, match="closed"):
        scorer.score(ask())


@pytest.mark.slow
def test_warming_up_loads_the_model(folder: Path, registry: Registry) -> None:
    register_reward_model(folder, ["Dahoas/*"])
    with Scorer(options={"Dahoas/*": {"max_length": 64}}) as scorer:
        scorer.warm_up()
        (loaded,) = children()
        assert scorer.score(Sample(SOURCE, "hi", "", "q")).scorer == scorer_of(folder)
        assert scorer.score(Sample("Dahoas/other", "hi", "", [{"role": "user", "content": "q"}])).ok
        assert children() == [loaded]


def test_warming_up_says_why_a_model_is_not_ready(obedient: None, registry: Registry) -> None:
    def load(options: object) -> None:
        raise InputError("cannot load the reward model broken: cut off")

    registry.register(registry.resolve("test/neural").with_running(load=load), replace_existing=True)
    with (
        Scorer() as scorer,
        pytest.raises(ScoringError, match=r"test/neural .*cannot load"),
    ):
        scorer.warm_up()


@pytest.mark.slow
def test_a_file_is_scored_by_the_model_named_on_the_command_line(
    folder: Path, tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {
        "data_source": [SOURCE] * 3,
        "prompt": [[{"role": "user", "content": f"question {i}"}] for i in range(3)],
        "response": ["hello", "Tom has 3 apples", ""],
        "ground_truth": ["-"] * 3,
    }
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    command = ["score", str(tmp_path / "in.parquet"), "--out", str(tmp_path / "out.parquet")]
    assert run([*command, "--reward-model", str(folder), "--for", "Dahoas/*"]) == 0
    scored = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert scored["status"] == ["ok"] * 3
    assert len(set(scored["score"])) == 3
    assert set(scored["scorer"]) == {scorer_of(folder)}
    for words, why in (
        (["--reward-model", str(folder)], "--for"),
        (["--for", "Dahoas/*"], "--reward-model"),
        (
            ["--reward-model", str(tmp_path / "none"), "--for", "Dahoas/*"],
            "no such model folder",
        ),
    ):
        assert run([*command, *words]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.slow
def test_the_server_answers_with_the_reward_model(folder: Path) -> None:
    with serve("--no-sandbox", "--reward-model", str(folder), "--for", "Dahoas/*") as server:
        prompt = [{"role": "user", "content": "How many apples has Tom?"}]
        asked = [
            {"data_source": SOURCE, "prompt": prompt, "response": response, "ground_truth": ""}
            for response in ("3", "hello", "3")
        ]
        patient = {"X-Timeout-S": "600"}  # the model is loaded meanwhile
        answer = httpx.post(f"{server.url}/score", json=asked, headers=patient, timeout=600).json()
        assert [one["status"] for one in answer] == ["ok"] * 3
        assert [answer[0]["score"]] == same_scores(folder, [answer[2]["score"]])
        assert abs(answer[0]["score"] - answer[1]["score"]) > 1e-3


def test_pairs_are_evaluated_with_the_scores_of_the_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"prompt": f"{i}?", "chosen": f"It is {i}.", "rejected": "No."} for i in range(4)]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["eval", str(pairs), "--pairs", "--reward-model", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["subsets"]["pairs"]
    texts = [(row["prompt"], row[side]) for side in ("chosen", "rejected") for row in rows]
    samples = [Sample("pairs", response, "", prompt) for prompt, response in texts]
    scores = [one.score for one in score(samples, ModelOptions(path=str(folder), device="cpu"))]
    margins = [c - r for c, r in zip(scores[:4], scores[4:], strict=True)]
    assert found["margin"]["mean"] == pytest.approx(fmean(margins), abs=1e-4)
    assert found["right"] == sum(margin > 0 for margin in margins) and found["ece"] is not None
