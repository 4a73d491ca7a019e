"""Every sample gets exactly one Score, in order, whatever its reward does, wherever it is called from."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rewardkit import Sample, Score, Scorer, reward
from rewardkit.errors import InputError, OptionsError, ScoringError, UnknownDataSourceError
from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.scoring import pending
from tests.living import alive, descendants, held, nothing_more_than, until


@pytest.fixture
def misbehaving(registry: Registry) -> None:
    """A reward that does what the response says, and an async and a batch one."""

    @reward("test/obey", timeout_s=2.0)  # long enough for one that works, on any machine
    def obey(sample: Sample) -> object:
        if sample.response == "hang":
            while True:
                pass
        if sample.response == "hang in C":
            return 10 ** (10**9)
        if sample.response == "die":
            os._exit(3)
        if sample.response == "die once" and not Path(sample.ground_truth).exists():
            Path(sample.ground_truth).touch()
            os._exit(3)
        if sample.response == "print":
            print("this must not reach the pipe")
        if sample.response == "raise":
            raise ValueError("on purpose")
        return {
            "nan": math.nan,
            "none": None,
            "text": "1.0",
            "pair": (1.0, {}),
            "dict": {"acc": True},
            "true": True,
        }.get(sample.response, 0.5)

    @reward("test/target", timeout_s=60.0)
    def target(sample: Sample) -> float:
        """The first time, name the own process and wait to be killed."""
        named = Path(sample.ground_truth)
        if named.exists():
            return 0.5
        unnamed = named.with_suffix(".part")
        unnamed.write_text(str(os.getpid()))
        unnamed.rename(named)
        time.sleep(120)
        return 0.0

    @reward("test/async", timeout_s=2.0)
    async def wait(sample: Sample) -> float:
        await asyncio.sleep(60 if sample.response == "hang" else 0.1)
        return 1.0

    running = 0

    @reward("test/together", timeout_s=60.0)
    async def together(sample: Sample) -> float:
        """How many run beside this one."""
        nonlocal running
        running += 1
        await asyncio.sleep(0.1)
        found, running = running, running - 1
        return float(found)

    @reward("test/batch", batch=True)
    def batch(samples: list[Sample]) -> list[float]:
        return [float(len(samples))] * (len(samples) - any(s.response == "lose one" for s in samples))


@pytest.fixture
def scorer(misbehaving: None) -> Iterator[Scorer]:
    with Scorer(workers=2) as made:
        yield made


def _obey(response: str, ground_truth: str = "") -> Sample:
    return Sample("test/obey", response, ground_truth)


def _children() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if alive(pid)]


def test_failures_of_every_kind_cost_only_their_own_sample(scorer: Scorer) -> None:
    responses = [
        "a",
        "hang",
        "b",
        "die",
        "c",
        "raise",
        "nan",
        "none",
        "text",
        "pair",
        "dict",
        "print",
        "true",
    ]
    scores = scorer.score_batch([_obey(r) for r in responses])
    by_response = dict(zip(responses, scores, strict=True))
    assert [by_response[r].score for r in ("a", "b", "c", "print", "true")] == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert by_response["true"].correct is True
    assert by_response["hang"].status == "timeout"
    for response, detail in {
        "die": "died twice",
        "raise": "ValueError: on purpose",
        "nan": "score nan",
        "none": "returned None",
        "text": "returned '1.0'",
        "pair": "returned (1.0, {}); expected a Score, a number",
        "dict": "without 'score'",
    }.items():
        assert by_response[response].status == "error"
        assert detail in (by_response[response].detail or "")
    assert all(s.score == 0.0 for s in scores if s.status != "ok")


_ODD: dict[str, dict[str, Any]] = {
    "numpy": {"score": np.float32(0.5), "correct": np.bool_(True), "parts": {"a": np.int64(1)}},
    "bools": {"score": True, "correct": 1, "parts": {"a": True}},
    "a status that is none": {"score": 0.5, "status": "fine"},
    "a text for a part": {"score": 0.5, "parts": {"a": "much"}},
    "parts that are none": {"score": 0.5, "parts": None},
    "a text for a score": {"score": "a lot"},
}


def test_a_score_with_fields_of_other_types_is_taken_or_costs_only_its_own_sample(registry: Registry) -> None:
    @reward("test/odd")
    def odd(sample: Sample) -> Score:
        return Score(**_ODD[sample.response])

    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch([Sample("test/odd", response, "") for response in _ODD])
    found = {
        name: (score.status, score.score, score.correct, score.parts)
        for name, score in zip(_ODD, scores, strict=True)
    }
    assert found["numpy"] == ("ok", 0.5, True, {"a": 1.0})
    assert found["bools"] == ("ok", 1.0, True, {"a": 1.0})
    assert [status for status, *_ in list(found.values())[2:]] == ["error"] * 4


def test_a_killed_worker_loses_no_sample(scorer: Scorer, tmp_path: Path) -> None:
    scores = scorer.score_batch([_obey("a"), _obey("die once", str(tmp_path / "died")), _obey("b")])
    assert [s.status for s in scores] == ["ok", "ok", "ok"]


@pytest.mark.slow
def test_workers_killed_from_outside_while_busy_lose_no_sample(scorer: Scorer, tmp_path: Path) -> None:
    """Each 400th sample names its worker and is killed in its midst, while others wait behind it."""
    targets = [tmp_path / str(i) for i in range(8)]
    samples = [_obey("a")] * 4_000
    for i, named in enumerate(targets, 1):
        samples[400 * i] = Sample("test/target", "", str(named))
    with ThreadPoolExecutor(1) as beside:
        scoring = beside.submit(scorer.score_batch, samples)
        for named in targets:
            until(lambda named=named: named.exists() or scoring.done())
            os.kill(int(named.read_text()), signal.SIGKILL)
        scores = scoring.result()
    assert [s.score for s in scores] == [0.5] * 4_000


def test_a_hang_that_holds_the_interpreter_lock_is_killed_too(scorer: Scorer) -> None:
    assert scorer.score(_obey("hang in C")).status == "timeout"


def test_order_is_kept_across_rewards_and_places(scorer: Scorer) -> None:
    samples = [
        Sample("gsm8k", "#### 1", "1"),
        _obey("x"),
        Sample("nowhere", "", ""),
        Sample("test/async", "", ""),
        Sample("gsm8k", "#### 2", "1"),
    ]
    scores = scorer.score_batch(samples)
    gsm8k = REGISTRY.resolve("gsm8k").scorer
    assert [s.scorer for s in scores] == [gsm8k, "obey@1", "", "wait@1", gsm8k]
    assert [s.score for s in scores] == [1.0, 0.5, 0.0, 1.0, 0.1]


def test_an_unknown_data_source_is_invalid_and_names_the_nearest(scorer: Scorer) -> None:
    score = scorer.score(Sample("gms8k", "#### 1", "1"))
    assert score.status == "invalid"
    assert "did you mean gsm8k" in (score.detail or "")
    with pytest.raises(UnknownDataSourceError):
        scorer.check(["gsm8k", "gms8k"])


def test_many_unknown_data_sources_cost_few_searches_for_similar_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []

    def search(name: str, known: object) -> str:
        searched.extend([name] if known else [])
        return ""

    monkeypatch.setattr("rewardkit.registry.did_you_mean", search)
    with Scorer() as scorer:
        scores = scorer.score_batch([Sample(f"unknown-{i}", "", "") for i in range(5_000)])
    assert {score.status for score in scores} == {"invalid"}
    assert len(searched) < 500


def test_async_rewards_run_at_the_same_time_and_time_out_alone(scorer: Scorer) -> None:
    samples = [Sample("test/async", "hang" if i == 7 else "", "") for i in range(64)]
    scores = scorer.score_batch(samples)
    assert [i for i, s in enumerate(scores) if s.status == "timeout"] == [7]
    beside = [s.score for s in scorer.score_batch([Sample("test/together", "", "")] * 64)]
    assert max(beside) > 1.0


def test_a_batch_reward_gets_its_samples_together_and_must_answer_for_each(scorer: Scorer) -> None:
    assert [s.score for s in scorer.score_batch([Sample("test/batch", "", "")] * 3)] == [3.0] * 3
    scores = scorer.score_batch([Sample("test/batch", "lose one", "")] * 3)
    assert {s.status for s in scores} == {"error"}
    assert "2 results for 3 samples" in (scores[0].detail or "")


def test_a_stream_keeps_order_and_reads_only_a_little_ahead(scorer: Scorer) -> None:
    read = 0

    def samples() -> Iterator[Sample]:
        nonlocal read
        for read in range(1, 100_001):
            yield _obey("true" if read % 2 else "x")

    scores = scorer.stream(samples(), batch_size=100)
    assert [next(scores).score for _ in range(4)] == [1.0, 0.5, 1.0, 0.5]
    assert read <= 100 * (2 * scorer.workers + 2)


def test_it_works_from_threads(scorer: Scorer) -> None:
    with ThreadPoolExecutor(8) as threads:
        batches = list(threads.map(scorer.score_batch, [[_obey(r)] * 50 for r in ("a", "true") * 8]))
    assert [b[0].score for b in batches] == [0.5, 1.0] * 8


def test_it_works_in_an_event_loop_without_holding_it(scorer: Scorer) -> None:
    async def main() -> tuple[Score, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        score = await scorer.ascore(_obey("hang"))
        ticking.cancel()
        return score, ticks

    score, ticks = asyncio.run(main())
    assert score.status == "timeout"
    assert ticks > 5


def _turns_while(scorer: Scorer, samples: list[Sample]) -> tuple[list[Score], int]:
    """Score in an event loop; return also how often another task got its turn meanwhile."""

    async def main() -> tuple[list[Score], int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        scores = await scorer.ascore_batch(samples)
        counting.cancel()
        return scores, turns

    return asyncio.run(main())


@pytest.mark.slow
def test_a_large_batch_leaves_the_event_loop_to_others_after_every_slice(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "TURN_S", 0.0)  # no matter how fast this machine is
    samples = [Sample("gsm8k", f"#### {i % 3}", "1") for i in range(6_400)]
    scores, turns = _turns_while(scorer, samples)
    assert turns >= 6_400 / pending.SLICE
    assert scores == [
        replace(score, seconds=mine.seconds)
        for score, mine in zip(scorer.score_batch(samples), scores, strict=True)
    ]


def test_a_worker_with_too_much_memory_is_replaced_and_that_is_logged(
    scorer: Scorer, caplog: pytest.LogCaptureFixture
) -> None:
    sample = Sample("math", "\\boxed{x + 1}", "1 + x")
    assert scorer.worker_memory == 0
    assert scorer.score(sample).correct
    size = scorer.worker_memory
    assert size > 1 << 20
    scorer.kill_larger_workers(100 * size)
    assert scorer.score(sample).correct and scorer.worker_counts.died == 0
    scorer.kill_larger_workers(1 << 20)
    until(lambda: scorer.worker_counts.died == 1)
    assert scorer.score(sample).correct
    assert "SIGKILL" in caplog.text


def test_cancelling_short_samples_again_and_again_starts_no_new_worker(scorer: Scorer) -> None:
    @reward("test/short", timeout_s=600.0)
    def short(sample: Sample) -> float:
        time.sleep(0.02)
        return 1.0

    sample = Sample("test/short", "", "")
    assert scorer.score(sample).ok
    for _ in range(5):
        begun = scorer.worker_counts.begun
        pending = scorer.submit([sample])
        until(lambda begun=begun: scorer.worker_counts.begun > begun)
        pending.cancel()
    assert scorer.score(sample).ok
    assert scorer.worker_counts.killed == 0 and scorer.worker_counts.started <= 2


def test_a_batch_in_an_event_loop_has_a_deadline_that_keeps_what_is_done(scorer: Scorer) -> None:
    samples = [Sample("gsm8k", "#### 1", "1"), Sample("test/async", "hang", ""), Sample("nowhere", "", "")]
    scores = asyncio.run(scorer.ascore_batch(samples, timeout_s=1.0))
    assert [score.status for score in scores] == ["ok", "timeout", "invalid"]


def test_cancelling_kills_the_worker(scorer: Scorer) -> None:
    async def main() -> None:
        await asyncio.wait_for(scorer.ascore(Sample("test/slow", "", "")), 1.0)

    @reward("test/slow", timeout_s=600.0)
    def slow(sample: Sample) -> float:
        time.sleep(600)
        return 1.0

    children = set(_children())
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(main())
    until(lambda: set(_children()) <= children)
    assert scorer.score(_obey("a")).ok


def test_it_works_in_a_forked_child(scorer: Scorer) -> None:
    assert scorer.score(_obey("a")).ok
    child = os.fork()
    if child == 0:
        ok = scorer.score(_obey("true")).score == 1.0
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert scorer.score(_obey("a")).ok


def test_nothing_is_left_after_close(misbehaving: None) -> None:
    before, children = held(), set(_children())
    for _ in range(3):
        with Scorer(workers=2) as scorer:
            scorer.score_batch([_obey("a")] * 100)
    until(lambda: set(_children()) <= children)
    until(lambda: nothing_more_than(before))


def test_close_ends_what_still_runs_with_an_error(misbehaving: None) -> None:
    scorer = Scorer(workers=1)
    running = scorer.submit([Sample("test/async", "hang", "")] * 3)
    scorer.close()
    with pytest.raises(ScoringError, match="closed"):
        running.wait()
    with pytest.raises(ScoringError, match="closed"):
        scorer.score(_obey("a"))


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_die_with_their_owner_even_while_they_hang(tmp_path: Path, blow: signal.Signals) -> None:
    script = tmp_path / "owner.py"
    script.write_text(
        "import sys\n"
        "from rewardkit import Sample, Scorer, reward\n"
        "@reward('test/forever', timeout_s=600)\n"
        "def forever(sample):\n"
        "    print('hanging', file=sys.stderr, flush=True)\n"
        "    return 10 ** (10 ** 9)\n"
        "Scorer(workers=1).score(Sample('test/forever', '', ''))\n"
    )
    owner = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    assert owner.stderr is not None
    assert owner.stderr.readline() == b"forever: hanging\n"
    (worker,) = descendants(owner.pid)
    owner.send_signal(blow)
    owner.wait()
    owner.stderr.close()
    until(lambda: not alive(worker))


def test_text_and_data_that_cannot_cross_a_pipe_are_handled(scorer: Scorer) -> None:
    surrogate, unsendable, huge = scorer.score_batch(
        [
            _obey("half a pair \ud800"),
            Sample("test/obey", "", "", extra_info={"lock": threading.Lock()}),
            Sample("test/obey", "", "", extra_info={"n": 2**80}),
        ]
    )
    assert surrogate.score == 0.5
    assert unsendable.status == huge.status == "invalid"
    assert "extra_info" in (unsendable.detail or "") and "lock" in (unsendable.detail or "")


_NO_TEXT = st.one_of(
    st.none(), st.binary(), st.integers(), st.floats(), st.lists(st.text()), st.just({"a": 1})
)
_NO_DATA = st.one_of(st.integers(2**64), st.complex_numbers(), st.builds(object), st.just(print))
_WRONG = {
    **dict.fromkeys(("data_source", "response", "ground_truth"), _NO_TEXT),
    "extra_info": st.one_of(
        st.none(),
        st.text(),
        st.integers(),
        st.lists(st.integers()),
        st.just(np.int64(1)),
        st.just(np.zeros(2)),
    ),
    "prompt": st.one_of(st.integers(), st.binary(), st.just({"a": 1})),
}
_INSIDE = {
    "prompt": st.lists(st.integers() | st.none(), min_size=1),
    "extra_info": st.one_of(
        st.dictionaries(st.integers() | st.none() | st.binary(), st.integers(), min_size=1),
        st.dictionaries(st.text(), _NO_DATA | st.lists(_NO_DATA, min_size=1), min_size=1),
    ),
}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_sample_of_wrong_types_is_invalid_alone_and_says_which_field(
    scorer: Scorer, data: st.DataObject
) -> None:
    samples = [Sample(source, "a", "1") for source in ("gsm8k", "test/obey") for _ in range(2)]
    wrong = {}
    for i in data.draw(st.sets(st.integers(0, len(samples) - 1), min_size=1, max_size=3)):
        name = data.draw(st.sampled_from([*_WRONG]))
        # What is inside prompt and extra_info matters where it has to be sent.
        inside = _INSIDE.get(name) if samples[i].data_source == "test/obey" else None
        value = data.draw(_WRONG[name] | inside if inside is not None else _WRONG[name])
        samples[i] = replace(samples[i], **{name: value})
        wrong[i] = name
    scores = scorer.score_batch(samples) if data.draw(st.booleans()) else [*scorer.stream(samples)]
    for i, score in enumerate(scores):
        assert (score.status == "invalid") is (i in wrong)
        assert i not in wrong or (score.detail or "").startswith(f"{wrong[i]} must be ")
    assert scorer.worker_counts.died == 0


class _Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize("kind", [np.str_, _Text])
def test_a_text_of_a_subclass_of_str_is_the_same_text_wherever_it_is_scored(kind: type[str]) -> None:
    def exact(sample: Sample) -> float:
        texts = (sample.data_source, sample.response, sample.ground_truth, sample.prompt)
        return float({type(text) for text in texts} == {str} and sample.response.endswith("7"))

    registry = Registry()
    for place in ("inline", "process"):
        registry.register(Reward(place, 1, exact, (place,), running=Running(runs=place)))
    within = {"prompt": [{"role": "user", "content": kind("Q")}], "extra_info": {"a": [kind("b")]}}
    with Scorer(registry=registry, workers=1) as scorer:
        for place, long in itertools.product(("inline", "process"), (1, 20_000)):
            sample = Sample(kind(place), kind("7" * long), kind("7"), kind("Q"))
            assert (scorer.score(sample).score, scorer.score(sample).status) == (1.0, "ok")
        sent = scorer.score(replace(Sample("process", "7", "7"), **within))
        assert sent.status == "ok", sent.detail


def test_values_of_numpy_are_numbers_and_lists_to_a_reward_in_a_worker() -> None:
    registry = Registry()
    registry.register(
        Reward(
            "mine",
            1,
            lambda sample: float(sum(sample.extra_info["a"])),
            ("mine",),
            running=Running(runs="process"),
        )
    )
    given = {"a": np.array([1, 2]), "b": {"c": [np.int64(3), np.float32(0.5), np.bool_(True)]}}
    with Scorer(registry=registry, workers=1) as scorer:
        score = scorer.score(Sample("mine", "7", "7", extra_info=given))
    assert (score.status, score.score) == ("ok", 3.0), score.detail


@pytest.mark.parametrize("found", [{"response": "7"}, None, "7", 7])
def test_what_is_no_sample_is_refused_in_one_line(scorer: Scorer, found: Any) -> None:
    given = [Sample("gsm8k", "7", "7"), found]
    for call in (
        scorer.score_batch,
        scorer.score_here,
        scorer.submit,
        lambda samples: [*scorer.stream(samples)],
    ):
        with pytest.raises(InputError, match=r"must be a rewardkit\.Sample, found \w+: ") as refused:
            call(given)
        assert "\n" not in str(refused.value)
    for one in (scorer.score, scorer.explain):
        with pytest.raises(InputError, match=r"must be a rewardkit\.Sample"):
            one(found)
    with pytest.raises(InputError, match=r"must be a rewardkit\.Sample"):
        asyncio.run(scorer.ascore_batch(given))
    assert scorer.score(given[0]).ok


@pytest.mark.parametrize("source", ["gsm8k", "test/obey", "nobody/knows"])
def test_a_closed_scorer_scores_nothing_wherever_the_reward_runs(misbehaving: None, source: str) -> None:
    scorer = Scorer(workers=1)
    scorer.close()
    sample = Sample(source, "#### 7", "7")
    for call in (
        scorer.score_batch,
        scorer.score_here,
        scorer.submit,
        lambda samples: [*scorer.stream(samples)],
    ):
        with pytest.raises(ScoringError, match="this Scorer is closed"):
            call([sample])
    with pytest.raises(ScoringError, match="closed"):
        scorer.score(sample)
    with pytest.raises(ScoringError, match="closed"):
        asyncio.run(scorer.ascore(sample))


def test_a_long_response_is_scored_the_same_by_an_inline_reward_though_in_a_worker() -> None:
    short = [Sample("gsm8k", f"#### {i % 7}", "3") for i in range(8)]
    long = [Sample("gsm8k", "so " * 5_000 + sample.response, "3") for sample in short]
    with Scorer(workers=1) as scorer:
        expected = [(s.score, s.extracted, s.parts) for s in scorer.score_batch(short)]
        assert scorer.worker_counts.started == 0
        assert [(s.score, s.extracted, s.parts) for s in scorer.score_batch(long)] == expected
        assert scorer.worker_counts.started == 1


def test_a_long_response_to_an_inline_reward_has_the_deadline_of_the_reward() -> None:
    def endless(sample: Sample) -> float:
        while len(sample.response) > 10:
            pass
        return 1.0

    registry = Registry()
    registry.register(
        Reward("endless", 1, endless, ("endless",), running=Running(runs="inline", timeout_s=0.5))
    )
    with Scorer(registry=registry) as scorer:
        short, long = scorer.score_batch([Sample("endless", "x" * n, "") for n in (1, 20_000)])
        alone = scorer.score(Sample("endless", "x" * 20_000, ""))
    assert (short.status, long.status, alone.status) == ("ok", "timeout", "timeout")


def test_an_inline_reward_that_exits_costs_only_its_own_sample() -> None:
    def exits(sample: Sample) -> float:
        if sample.response == "exit":
            sys.exit(0)
        return 1.0

    registry = Registry()
    registry.register(Reward("exits", 1, exits, ("exits",), running=Running(runs="inline")))
    with Scorer(registry=registry) as scorer:
        found = scorer.score_batch([Sample("exits", text, "") for text in ("stay", "exit", "stay")])
    assert [score.status for score in found] == ["ok", "error", "ok"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_reward_that_exits_in_a_worker_costs_only_its_own_sample_and_is_named(
    kind: type[BaseException],
) -> None:
    def exits(sample: Sample) -> float:
        if sample.response == "exit":
            raise kind
        return 1.0

    registry = Registry()
    registry.register(Reward("exits", 1, exits, ("exits",), running=Running(runs="process")))
    with Scorer(registry=registry, workers=1) as scorer:
        found = scorer.score_batch([Sample("exits", text, "") for text in ("stay", "exit", "stay")])
    assert [score.status for score in found] == ["ok", "error", "ok"]
    assert found[1].detail == kind.__name__


def test_a_forked_child_of_a_reward_answers_for_nobody() -> None:
    def forks(sample: Sample) -> float:
        return 0.75 if os.fork() else 0.1

    registry = Registry()
    registry.register(Reward("forks", 1, forks, ("forks",), running=Running(runs="process")))
    with Scorer(registry=registry, workers=1) as scorer:
        found = scorer.score_batch([Sample("forks", str(i), "") for i in range(40)])
    assert {(score.status, score.score) for score in found} == {("ok", 0.75)}


@pytest.mark.parametrize(
    "given",
    [
        *({"workers": -1}, {"workers": "2"}, {"timeout_s": math.nan}),
        *({"timeout_s": math.inf}, {"timeout_s": -1}, {"timeout_s": True}, {"timeout_s": "1"}),
    ],
)
def test_limits_with_which_nothing_would_end_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(OptionsError, match=f"{next(iter(given))} must be"):
        Scorer(**given)
    if "timeout_s" in given:
        with pytest.raises(OptionsError, match="timeout_s must be"):
            Running(**given)


def test_options_apply_by_name_then_glob_then_exact_source() -> None:
    options = {
        "gsm8k": {"score": 2.0, "format_score": 0.2},
        "openai/*": {"score": 3.0},
        "openai/gsm8k": {"neither_score": -1.0},
    }
    with Scorer(options=options) as scorer:
        right, wrong, none = scorer.score_batch(
            [Sample("openai/gsm8k", r, "1") for r in ("#### 1", "#### 2", "")]
        )
    assert (right.score, wrong.score, none.score) == (3.0, 0.2, -1.0)


def test_options_for_nothing_are_an_error_at_the_door() -> None:
    with pytest.raises(UnknownDataSourceError, match="did you mean gsm8k"):
        Scorer(options={"gsm9k": {"score": 1.0}})
    with pytest.raises(OptionsError, match="did you mean method"):
        Scorer(options={"gsm8k": {"methot": "strict"}})
