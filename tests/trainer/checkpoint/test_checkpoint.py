"""What a checkpoint holds, which one a run goes on from, and what a failed or interrupted save costs: nothing."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardkit.cli import run as cli
from rewardkit.errors import ConfigError, InputError, RewardkitError
from rewardkit.files import publishing
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.checkpoint import damage, find, save
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.data import PromptLoader
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.sharding import full_tensors, language_model
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.preflight import check
from tests.trainer.conftest import write_parquet

Settings = Callable[..., Config]


@pytest.fixture(scope="module")
def settings(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    parquet = write_parquet(tmp_path_factory.mktemp("data"))

    def make(out: Path, *more: str) -> Config:
        return load_config(
            "tiny-cpu",
            [
                f"data.train_files={parquet}",
                "data.train_batch_size=4",
                "data.max_response_length=4",
                f"actor_rollout_ref.model.path={model_folder}",
                "actor_rollout_ref.actor.ppo_mini_batch_size=4",
                "actor_rollout_ref.actor.entropy_coeff=0.1",  # an untrained model never earns a reward
                "trainer.total_training_steps=3",
                "trainer.save_freq=1",
                "trainer.critic_warmup=0",
                "trainer.val_before_train=false",
                "trainer.test_freq=-1",
                "trainer.logger=[jsonl]",
                f"trainer.default_local_dir={out}",
                *more,
            ],
        )

    return make


@pytest.fixture(scope="module")
def finished(world: World, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, its weights beside it."""
    folder = tmp_path_factory.mktemp("finished")
    with open_run(settings(folder), world) as run:
        train(run)
        torch.save(
            {name: tensor.clone() for name, tensor in full_tensors(run.actor.model)}, folder / "weights"
        )
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "global_step" in path.name)


def steps(folder: Path) -> list[float]:
    return [
        json.loads(line)["training/global_step"]
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


@pytest.mark.slow
def test_a_checkpoint_has_verl_s_layout_and_the_last_one_the_model(
    finished: Path, model_folder: Path
) -> None:
    assert names(finished) == ["global_step_1", "global_step_2", "global_step_3"]
    assert (finished / "latest_checkpointed_iteration.txt").read_text() == "3"
    described = finished / "global_step_3" / "actor" / "huggingface"
    assert (finished / "global_step_1" / "actor" / "huggingface" / "config.json").is_file()
    assert not (finished / "global_step_1" / "actor" / "huggingface" / "model.safetensors").exists()
    trained, start = (AutoModelForCausalLM.from_pretrained(f) for f in (described, model_folder))
    assert not torch.equal(trained.model.embed_tokens.weight, start.model.embed_tokens.weight)
    assert trained.lm_head.weight is trained.model.embed_tokens.weight
    assert AutoTokenizer.from_pretrained(described).chat_template


def test_an_exported_checkpoint_is_the_trained_model(finished: Path, tmp_path: Path) -> None:
    assert cli(["export", str(finished), str(tmp_path / "model")]) == 0
    weights = torch.load(finished / "weights")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert all(torch.equal(parameter, weights[name]) for name, parameter in loaded.named_parameters())
    assert AutoTokenizer.from_pretrained(tmp_path / "model").chat_template
    earlier = str(finished / "global_step_1")
    assert cli(["export", earlier, str(tmp_path / "half"), "--dtype", "bfloat16"]) == 0
    half = AutoModelForCausalLM.from_pretrained(tmp_path / "half")
    assert half.dtype == torch.bfloat16
    assert not torch.equal(half.lm_head.weight, loaded.lm_head.weight.bfloat16())


def test_an_export_overwrites_nothing(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["export", str(finished), str(tmp_path)]) == InputError.exit_code
    assert "already exists" in capsys.readouterr().err
    assert cli(["export", str(tmp_path), str(tmp_path / "new")]) == InputError.exit_code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_finished_run_has_nothing_left_to_train_and_more_steps_go_on_from_it(
    world: World, settings: Settings, tmp_path: Path
) -> None:
    with open_run(settings(tmp_path, "trainer.total_training_steps=1"), world) as run:
        train(run)
    for total in (1, 2):
        with open_run(settings(tmp_path, f"trainer.total_training_steps={total}"), world) as run:
            assert run.checkpoints.restore() == 1
            train(run)
        assert steps(tmp_path) == list(range(1, total + 1))


@pytest.mark.slow
def test_a_resumed_run_has_the_reference_of_an_uninterrupted_run(
    world: World, settings: Settings, tmp_path: Path
) -> None:
    follows = ("actor_rollout_ref.actor.use_kl_loss=true", "actor_rollout_ref.ref.sync_steps=1")
    steps = "trainer.total_training_steps=2"
    halfway = ("trainer.resume_mode=resume_path", f"trainer.resume_from_path={tmp_path}/whole/global_step_1")
    found = []
    for name, more in (("whole", ()), ("resumed", halfway)):
        with open_run(settings(tmp_path / name, steps, *follows, *more), world) as run:
            train(run)
            assert run.reference is not None
            weights = torch.cat([tensor.flatten() for _, tensor in full_tensors(run.reference.model)])
        line = (tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1]
        found.append((json.loads(line)["actor/kl_loss"], weights))
    assert found[0][0] == found[1][0] > 0
    assert torch.equal(found[0][1], found[1][1])
    without = settings(tmp_path / "other", steps, *follows, "trainer.resume_mode=resume_path")
    without.trainer.resume_from_path = str(tmp_path / "whole" / "global_step_1")
    shutil.rmtree(tmp_path / "whole" / "global_step_1" / "reference")
    with pytest.raises(ConfigError, match="contains no reference"), open_run(without, world):
        pass


@pytest.mark.slow
def test_old_checkpoints_go_and_disable_starts_anew(world: World, settings: Settings, tmp_path: Path) -> None:
    keep = ("trainer.max_actor_ckpt_to_keep=1", "trainer.max_critic_ckpt_to_keep=2")
    for more in ((), ("trainer.total_training_steps=2", "trainer.resume_mode=disable")):
        with open_run(settings(tmp_path, *keep, *more), world) as run:
            train(run)
    assert names(tmp_path) == ["global_step_1", "global_step_2", "global_step_3"]
    assert (tmp_path / "latest_checkpointed_iteration.txt").read_text() == "2"
    assert steps(tmp_path) == [1, 2]
    assert find.latest(tmp_path) == tmp_path / "global_step_2"


@pytest.mark.slow
@pytest.mark.parametrize("background", [False, True])
def test_a_failed_save_is_one_line_and_leaves_the_last_good_one(
    world: World, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    original = save._write_rest

    def fail(content: Any, folder: Path) -> None:
        original(content, folder)
        if content.step == 2:
            raise OSError("No space left on device")

    monkeypatch.setattr(save, "_write_rest", fail)
    more = f"actor_rollout_ref.actor.checkpoint.async_save={background}"
    with (
        pytest.raises(RewardkitError, match=r"step 2 .*: No space left"),
        open_run(settings(tmp_path, more), world) as run,
    ):
        train(run)
    assert find.latest(tmp_path) == tmp_path / "global_step_1"
    assert names(tmp_path) == ["global_step_1"], "what is written in part may fill the disk"
    with open_run(settings(tmp_path, "trainer.total_training_steps=1"), world) as run:
        train(run)
    assert names(tmp_path) == ["global_step_1"]
    assert steps(tmp_path) == [1]


def test_a_failed_save_is_explained_by_what_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_torch = RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598")
    assert "unexpected pos" in damage.why_not_written(tmp_path, of_torch)

    def full(**_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(damage, "TemporaryFile", full)
    assert damage.why_not_written(tmp_path, of_torch) == "No space left on device"


def test_a_second_run_of_a_folder_is_told_of_the_first_and_touches_nothing(
    world: World, settings: Settings, tmp_path: Path
) -> None:
    first, second = (settings(tmp_path, f"algorithm.gamma={gamma}") for gamma in (1.0, 0.5))
    writing = tmp_path / ".global_step_9.tmp"
    with save.open_folder(first, world):
        writing.mkdir()
        before = (tmp_path / "config.yaml").read_text()
        said = rf"another run is writing to {tmp_path}; .* set another trainer.default_local_dir"
        with pytest.raises(InputError, match=said), save.open_folder(second, world):
            pass
        assert writing.is_dir()
        assert (tmp_path / "config.yaml").read_text() == before
    with save.open_folder(second, world):
        assert not writing.exists(), "a killed run left it"


def test_a_restarted_run_waits_for_the_one_that_died(
    world: World, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(find.RESTARTED, "1")
    with ExitStack() as died:
        died.enter_context(save.open_folder(settings(tmp_path), world))
        monkeypatch.setattr(publishing.time, "sleep", lambda seconds: died.close())
        with save.open_folder(settings(tmp_path), world):
            pass


def test_a_full_disk_leaves_the_settings_of_the_run_before(
    world: World, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with save.open_folder(settings(tmp_path), world):
        before = (tmp_path / "config.yaml").read_text()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(publishing.os, "fsync", full)
    with (
        pytest.raises(InputError, match=r"config.yaml: No space left"),
        save.open_folder(settings(tmp_path, "algorithm.gamma=0.5"), world),
    ):
        pass
    assert (tmp_path / "config.yaml").read_text() == before


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a truncated tensor file": lambda at: os.truncate(at / "actor" / "__0_0.distcp", 5000),
    "a lost tensor file": lambda at: (at / "actor" / "__0_0.distcp").unlink(),
    "an empty index": lambda at: os.truncate(at / "actor" / ".metadata", 0),
    "an index of another program": lambda at: (at / "actor" / ".metadata").write_text("hello"),
    "a lost index": lambda at: (at / "actor" / ".metadata").unlink(),
    "a lost model": lambda at: shutil.rmtree(at / "actor"),
    "facts that are no object": lambda at: (at / find.FACTS).write_text("[]"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_checkpoint_is_one_line_that_says_what_to_do(
    world: World,
    settings: Settings,
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    damaged = shutil.copytree(finished / "global_step_3", tmp_path / "global_step_3")
    (tmp_path / find.TRACKER).write_text("3")
    DAMAGE[kind](damaged)
    with (
        pytest.raises(ConfigError, match=rf"^cannot read .*{damaged}.*; set trainer.resume_mode=[^\n]*$"),
        open_run(settings(tmp_path), world) as run,
    ):
        run.checkpoints.restore()
    described = shutil.copytree(finished / "global_step_3" / "actor" / "huggingface", tmp_path / "hf")
    shutil.copytree(described, damaged / "actor" / "huggingface", dirs_exist_ok=True)
    capsys.readouterr()
    assert cli(["export", str(damaged), str(tmp_path / "model")]) == ConfigError.exit_code
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: cannot read ")
    assert not (tmp_path / "model").exists()


def test_facts_of_another_form_are_damage_too(
    world: World, settings: Settings, finished: Path, tmp_path: Path
) -> None:
    damaged = shutil.copytree(finished / "global_step_3", tmp_path / "global_step_3")
    facts = find.read_facts(damaged)
    (tmp_path / find.TRACKER).write_text("3")
    for name, value in (("loader", 3), ("random", [{}])):
        (damaged / find.FACTS).write_text(json.dumps({**facts, name: value}))
        with (
            pytest.raises(ConfigError, match=f"cannot read the checkpoint {damaged}"),
            open_run(settings(tmp_path), world) as run,
        ):
            run.checkpoints.restore()


def test_another_model_or_other_data_is_refused_and_other_settings_are_told(
    world: World, settings: Settings, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("trainer.resume_mode=resume_path", f"trainer.resume_from_path={finished}/global_step_2")
    with open_run(settings(tmp_path, *given, "algorithm.gamma=0.5", "trainer.save_freq=5"), world) as run:
        assert run.checkpoints.restore() == 2
        assert (
            "global_step_2 was saved with other settings: algorithm.gamma 1.0 -> 0.5\n"
            in capsys.readouterr().err
        )
        policy = language_model(run.actor.model)
        name, weight = next((n, p) for n, p in policy.named_parameters() if "norm" in n)
        owner = policy.get_submodule(name.removesuffix(".weight"))
        owner.weight = torch.nn.Parameter(torch.zeros(weight.shape[0] + 1))
        with pytest.raises(ConfigError, match=f"a different model: {name} is"):
            run.checkpoints.restore()
    loader = PromptLoader([PromptRow("s", [], "", {}, [])] * 5, 2, shuffle=False, seed=0)
    with pytest.raises(InputError, match=r" 24 .*data.train_files.* 5"):
        loader.load_state_dict(find.read_facts(finished / "global_step_2")["loader"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["trainer.resume_mode=resume_path"], "needs trainer.resume_from_path"),
        (["trainer.resume_mode=resume_path", "trainer.resume_from_path=/nowhere"], "is not a checkpoint"),
        (["trainer.del_local_ckpt_after_load=true"], "could not be resumed"),
        (["trainer.default_hdfs_dir=hdfs://x"], "trainer.default_hdfs_dir=.* is not supported"),
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(
    settings: Settings, tmp_path: Path, more: list[str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        check(settings(tmp_path, *more))


def test_a_tracker_without_its_checkpoint_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("7")
    with pytest.raises(
        ConfigError,
        match=r"global_step_7.*resume_mode=disable",
    ):
        find.latest(tmp_path)
    (tmp_path / "latest_checkpointed_iteration.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"refers to global_step_.*resume_mode=disable"):
        find.latest(tmp_path)


def test_the_log_of_a_resumed_run_has_each_step_once(tmp_path: Path) -> None:
    start = tmp_path / "global_step_2"
    start.mkdir()
    (start / find.FACTS).write_text('{"step": 2, "metrics": {"training/global_step": 2.0, "a": 5}}')
    log = tmp_path / "metrics.jsonl"
    for lines, kept in (
        ([0, 1, 2, 3], [0, 1, 2]),
        ([0, 1], [0, 1, 2]),
        ([], [2]),
    ):
        log.write_text("".join(f'{{"training/global_step": {n}.0}}\n' for n in lines) + '{"training/glo')
        find.prepare(tmp_path, start)
        assert steps(tmp_path) == kept
    with log.open("ab") as file:
        file.write(b'[]\n3\n"\xff\xfe\n')
    find.prepare(tmp_path, start)
    assert steps(tmp_path) == [2]


def test_a_restarted_process_goes_on_from_what_the_run_has_written(
    settings: Settings, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ("trainer.resume_mode=resume_path", f"trainer.resume_from_path={finished}/global_step_1")
    disabled, given = settings(finished, "trainer.resume_mode=disable"), settings(finished, *first)
    assert find.find_checkpoint(disabled) is None
    assert find.find_checkpoint(given) == finished / "global_step_1"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert find.find_checkpoint(disabled) == find.find_checkpoint(given) == finished / "global_step_3"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"files": [("a.parquet", "1"), ("c.parquet", "3")]}, "the rows of c.parquet, .* b.parquet when"),
        ({"files": [("a.parquet", "1")]}, "saved with 2 files in data.train_files, which now has 1"),
        ({"seed": 4}, "saved with data.seed=3, .* is now 4"),
        ({"shuffle": False}, "saved with data.shuffle=True"),
    ],
)
def test_a_loader_with_other_rows_or_another_order_does_not_go_on(given: dict[str, Any], said: str) -> None:
    rows = [PromptRow("s", [], str(i), {}, []) for i in range(7)]
    then: dict[str, Any] = {"shuffle": True, "seed": 3, "files": [("a.parquet", "1"), ("b.parquet", "2")]}
    saved = json.loads(json.dumps(PromptLoader(rows, 2, **then).state_dict()))
    PromptLoader(rows, 2, **then | {"files": [("moved.parquet", "1"), ("b.parquet", "2")]}).load_state_dict(
        saved
    )
    with pytest.raises(InputError, match=said):
        PromptLoader(rows, 2, **then | given).load_state_dict(saved)


def test_the_loader_goes_on_in_mid_epoch_and_over_its_end() -> None:
    rows = [PromptRow("s", [], str(i), {}, []) for i in range(7)]

    def loader() -> PromptLoader:
        return PromptLoader(rows, 2, shuffle=True, seed=3)

    one, two = loader(), loader()
    served = [[row.ground_truth for row in one.take()] for _ in range(8)]
    for _ in range(4):
        two.take()
    resumed = loader()
    resumed.load_state_dict(json.loads(json.dumps(two.state_dict())))
    assert [[row.ground_truth for row in resumed.take()] for _ in range(4)] == served[4:]
    assert resumed.epoch == one.epoch == 2
