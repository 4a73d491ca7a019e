"""What the config accepts and refuses, and everything preflight finds before a model is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")


from rewardkit.cli import run as cli
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.config.explain import explain
from rewardkit.trainer.config.load import as_dict, as_yaml, load_config
from rewardkit.trainer.config.root import Config, bypasses, loss_mode
from rewardkit.trainer.config.schema import PPO, leaves
from rewardkit.trainer.run.build import needs_old_log_probs
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.run.preflight import check

NEEDED = ["data.train_files=train.parquet", "actor_rollout_ref.model.path=model"]


def test_defaults_follow_each_other() -> None:
    config = load_config(
        None, [*NEEDED, "actor_rollout_ref.actor.clip_ratio=0.3", "data.max_response_length=9"]
    )
    assert config.actor_rollout_ref.actor.clip_ratio_high == 0.3
    assert config.actor_rollout_ref.rollout.response_length == 9
    assert config.critic.model.path == "model"
    assert config.critic.ppo_mini_batch_size == config.actor_rollout_ref.actor.ppo_mini_batch_size
    assert config.trainer.default_local_dir == "checkpoints/rewardkit/ppo"


def test_a_recipe_is_changed_by_the_command_line(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        "data: {train_batch_size: 8, seed: 3}\nreward: {options: {gsm8k: {method: flexible}}}\n"
    )
    config = load_config(recipe, [*NEEDED, "data.seed=4", "reward.options.gsm8k.window=300"])
    assert (config.data.train_batch_size, config.data.seed) == (8, 4)
    assert config.reward.options == {"gsm8k": {"method": "flexible", "window": 300}}


def test_a_written_config_loads_again(tmp_path: Path) -> None:
    config = load_config("tiny-cpu", NEEDED)
    (tmp_path / "config.yaml").write_text(as_yaml(config))
    assert load_config(tmp_path / "config.yaml") == config


@pytest.mark.parametrize(
    ("override", "needed"),
    [
        ("data.train_max_samples=5", False),
        ("actor_rollout_ref.actor.ppo_epochs=2", True),
        ("actor_rollout_ref.actor.ppo_mini_batch_size=4", True),
        ("algorithm.use_kl_in_reward=true", True),
        ("algorithm.rollout_correction.rollout_is=token", True),
        ("actor_rollout_ref.actor.policy_loss.loss_mode=kl_cov", True),
    ],
)
def test_old_log_probs_get_a_pass_of_their_own_where_something_asks_for_them(
    override: str, needed: bool
) -> None:
    one_step = ["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=8"]
    assert needs_old_log_probs(load_config(None, [*NEEDED, *one_step, override])) is needed


SERVED = ("actor_rollout_ref.rollout.name=vllm_server", "actor_rollout_ref.rollout.n=2")
ASYNC = ("trainer.mode=async", *SERVED)
CORRECTION = "algorithm.rollout_correction."


@pytest.mark.parametrize(
    ("given", "bypassed", "loss", "corrected"),
    [
        ((), False, "vanilla", True),
        (ASYNC, True, "dppo_tv", True),
        (("trainer.mode=one_step_off", *SERVED), True, "dppo_tv", True),
        ((*ASYNC, "trainer.max_staleness=0"), False, "vanilla", True),
        ((*ASYNC, f"{CORRECTION}bypass_mode=true"), True, "vanilla", True),
        ((*ASYNC, "actor_rollout_ref.actor.policy_loss.loss_mode=vanilla"), True, "vanilla", True),
        ((*ASYNC, f"{CORRECTION}rollout_is=token"), False, "vanilla", True),
        ((*ASYNC, f"{CORRECTION}bypass_mode=false"), False, "vanilla", False),
        ((*ASYNC, "actor_rollout_ref.actor.policy_loss.loss_mode=gpg"), True, "gpg", False),
        ((*ASYNC, f"{CORRECTION}loss_type=reinforce"), True, "gpg", False),
    ],
)
def test_stale_responses_are_corrected_unless_that_is_turned_off_and_then_it_is_said(
    given: tuple[str, ...], bypassed: bool, loss: str, corrected: bool
) -> None:
    pytest.importorskip("vllm", reason="the engine vllm_server is checked where vLLM is installed")
    config = load_config(None, [*NEEDED, "data.val_files=x", *given])
    assert (bypasses(config), loss_mode(config)) == (bypassed, loss)
    notes = run_checks(SETTINGS, config)
    assert any("older weights" in note for note in notes) is not corrected


@pytest.mark.parametrize("restricted", ["top_p=0.9", "top_k=20"])
@pytest.mark.parametrize(
    "given",
    [
        (f"{CORRECTION}rollout_is=token",),
        (f"{CORRECTION}rollout_rs=token_k1", f"{CORRECTION}rollout_rs_threshold=2"),
        (f"{CORRECTION}bypass_mode=true",),
        ASYNC,
    ],
    ids=["weights", "rejection", "bypass", "async"],
)
def test_a_correction_of_a_restricted_distribution_is_refused(
    given: tuple[str, ...], restricted: str
) -> None:
    words = [*NEEDED, "data.val_files=x", "actor_rollout_ref.rollout.name=hf", *given]
    words.append(f"actor_rollout_ref.rollout.{restricted}")
    with pytest.raises(ConfigError, match=r"top_p=1") as found:
        run_checks(SETTINGS, load_config(None, words))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        (("actor_rollout_ref.actor.ppo_epochs=2", f"{CORRECTION}bypass_mode=true"), False),
        (("actor_rollout_ref.rollout.top_p=0.9",), True),
        (("actor_rollout_ref.rollout.calculate_log_probs=false",), True),
    ],
    ids=["bypass", "restricted", "no log-probs"],
)
def test_a_pass_for_old_log_probs_is_made_where_nothing_else_has_them_or_the_entropy(
    given: tuple[str, ...], needed: bool
) -> None:
    one_step = ["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=8"]
    assert needs_old_log_probs(load_config(None, [*NEEDED, *one_step, *given])) is needed


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.train_batchsize=8", "did you mean data.train_batch_size"),
        (
            "trainer.zzzzzzzzzzzzzzzz=1",
            "; trainer has: ",
        ),
        ("data.seed=many", "found 'many'"),
        (
            "data.train_batch_size=1.5",
            "found 1.5",
        ),
        ("actor_rollout_ref.actor.optim.lr=low", "found 'low'"),
        ("actor_rollout_ref.actor.optim.betas=[0.9,x]", "such as [0.9, 0.999]"),
        ("trainer.val_only=maybe", "found 'maybe'"),
        ("reward.url=[a]", "found ['a']"),
        ("reward.options=3", "found 3"),
        ("trainer.logger={console: true}", 'such as ["console", "jsonl"]'),
        (
            "actor_rollout_ref.rollout.urls=http://a:1",
            "such as [http://a:1]",
        ),
        ("actor_rollout_ref.rollout.urls={a: 1}", "must be a list"),
        ("data.seed", "expected key=value"),
        (
            "data=3",
            "such as data.train_files",
        ),
        ("trainer.alarms=off", "is a section"),
        ("~data.seed", "cannot be removed"),
        (
            "data.reward_fn_key=source",
            "data.reward_fn_key=source",
        ),
    ],
)
def test_a_wrong_override_is_one_line_naming_it(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as found:
        load_config(None, [*NEEDED, override])
    assert message in str(found.value)
    assert override.strip("~").partition("=")[0].rpartition(".")[2] in str(found.value)
    assert "\n" not in str(found.value)


def test_what_verl_needs_told_and_holds_here_anyway_is_taken(tmp_path: Path) -> None:
    told = ["data.return_raw_chat=True", "actor_rollout_ref.hybrid_engine=True", "reward_model.enable=False"]
    assert load_config(None, [*NEEDED, *told, "++data.seed=2"]) == load_config(None, [*NEEDED, "data.seed=2"])
    recipe = tmp_path / "verl.yaml"
    recipe.write_text("data: {return_raw_chat: true, seed: 2}\nactor_rollout_ref: {hybrid_engine: true}\n")
    assert load_config(recipe, NEEDED) == load_config(None, [*NEEDED, "data.seed=2"])


def test_every_setting_is_explained_with_its_origin() -> None:
    overrides = [NEEDED[0], "reward.options.gsm8k.method=flexible", "trainer.device=cpu"]
    found = {setting.key: setting for setting in explain("tiny-cpu", overrides)}
    assert list(found) == list(dict(leaves(Config())))
    assert found["data.train_files"].origin == "command line"
    assert found["reward.options"].value == {"gsm8k": {"method": "flexible"}}
    assert found["reward.options"].origin == "command line"
    assert found["data.max_prompt_length"].origin == "recipe"
    assert found["actor_rollout_ref.rollout.prompt_length"].value == 40
    assert found["actor_rollout_ref.rollout.prompt_length"].origin == "follows data.max_prompt_length"
    assert found["data.seed"].origin == "default"
    assert found["critic.model.path"].value == found["actor_rollout_ref.model.path"].value == "???"
    unexplained = [key for key, setting in found.items() if not setting.meaning]
    assert [key for key in unexplained if key.startswith(("data.", "reward", "custom", "trainer."))] == []


@pytest.mark.slow
def test_train_explain_prints_them_and_refuses_what_training_would(
    parquet: Path, model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = [
        f"data.train_files={parquet}",
        f"actor_rollout_ref.model.path={model_folder}",
        "data.train_batch_size=4",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        f"trainer.default_local_dir={tmp_path}/out",
    ]
    assert cli(["train", "--explain", "--config", "tiny-cpu", *fine]) == 0
    assert (
        "data.max_prompt_length = 40  (recipe)\n    Maximum number of tokens per prompt"
        in capsys.readouterr().out
    )
    assert cli(["train", "--explain", "--json", "--config", "tiny-cpu", *fine]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown[0]["key"] == "data.train_files" and shown[0]["value"] == str(parquet)
    assert shown[0]["origin"] == "command line" and shown[0]["meaning"]
    allowed = {setting["key"]: setting["allowed"] for setting in shown}
    assert allowed["data.train_batch_size"] == "above 0"
    assert not (tmp_path / "out").exists(), "nothing is made"
    assert cli(["train", "--json", *fine]) == 2
    for wrong, why in (
        ("data.train_files=nowhere.parquet", "nowhere.parquet does not exist"),
        ("data.train_batch_size=4000", "data.train_batch_size=4000, but there are only 24 rows"),
        ("data.max_prompt_length=3", "data.train_files has no row to train on"),
        ("algorithm.filter_groups.enable=true", "set actor_rollout_ref.rollout.n above 1"),
    ):
        assert cli(["train", "--explain", "--config", "tiny-cpu", *fine, wrong]) != 0
        captured = capsys.readouterr()
        assert why in captured.err and "data.train_batch_size = 4" in captured.out
    assert cli(["train", "--explain", "--config", "tiny-cpu"]) != 0
    captured = capsys.readouterr()
    assert "model.path is not set" in captured.err and 'data.train_files = "???"' in captured.out


@pytest.mark.parametrize("recipe", sorted(path.stem for path in PPO.recipes.glob("*.yaml")))
def test_every_recipe_loads_and_one_for_gpus_generates_with_vllm(recipe: str) -> None:
    wanted = "hf" if recipe == "tiny-cpu" else "vllm"
    assert load_config(recipe, NEEDED).actor_rollout_ref.rollout.name == wanted


def test_what_a_resume_needs_is_saved_whatever_is_asked_for() -> None:
    words = [
        "actor_rollout_ref.actor.checkpoint.save_contents=[model,hf_model]",
        "trainer.val_before_train=false",
    ]
    (line,) = run_checks(SETTINGS, load_config("tiny-cpu", [*NEEDED, *words, "trainer.test_freq=-1"]))
    assert "leaves out optimizer, extra" in line


def test_an_unknown_key_of_a_recipe_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("algorithm: {gama: 0.9}\n")
    with pytest.raises(ConfigError, match=r"unknown setting 'algorithm.gama'.*did you mean algorithm.gamma"):
        load_config(recipe, NEEDED)


@pytest.mark.parametrize(("text", "message"), [("a: [", "not valid YAML"), ("- 1\n", "must be a mapping")])
def test_a_broken_recipe_is_refused(tmp_path: Path, text: str, message: str) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(recipe, NEEDED)


def test_a_missing_setting_and_a_missing_recipe_are_named() -> None:
    with pytest.raises(ConfigError, match=r"model\.path is not set"):
        load_config(None, NEEDED[:1])
    with pytest.raises(ConfigError, match=r"recipes.*tiny-cpu"):
        load_config("tiny-gpu", NEEDED)


def fine(parquet: Path, model_folder: Path, tmp_path: Path) -> list[str]:
    return [
        f"data.train_files={parquet}",
        "data.train_batch_size=8",
        "data.max_prompt_length=64",
        "data.max_response_length=64",
        f"actor_rollout_ref.model.path={model_folder}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.n_gpus_per_node=2",
        "trainer.val_before_train=false",
        f"trainer.default_local_dir={tmp_path}/out",
    ]


def test_preflight_finds_nothing_where_nothing_is_wrong(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    check(load_config(None, fine(parquet, model_folder, tmp_path)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.train_batch_size=7", "train_batch_size=7 "),
        (
            "data.train_batch_size=10",
            "train_batch_size=10 must be divisible by actor_rollout_ref.actor.ppo_mini",
        ),
        (
            "critic.ppo_mini_batch_size=1",
            "critic.ppo_mini_batch_size=1 times rollout.n=1 ",
        ),
        ("algorithm.kl_penalty=low_var", "found 'low_var'; did you mean low_var_kl"),
        ("trainer.test_freq=1", "validation requires data.val_files"),
        ("reward.on_error=ignore", "mask, raise, value"),
        ("actor_rollout_ref.rollout.name=vllm_servr", "found 'vllm_servr'; did you mean vllm_server?"),
        ("actor_rollout_ref.rollout.name=sglang", "hf, vllm and vllm_server; set actor_rollout_ref.rollout."),
        ("trainer.device=npu", "set trainer.device=cuda"),
        ("actor_rollout_ref.rollout.urls=[http://a:1,b:2]", "rollout.urls: 'b:2' "),
        ("reward.url=ftp://a", "expected http://HOST:PORT"),
        ("reward_model.url=http://name:pass@", "reward_model.url: 'http://' "),
        ("data.train_files=nowhere.parquet", "nowhere.parquet does not exist"),
        ("data.prompt_key=question", "'question'; columns: data_source"),
        ("actor_rollout_ref.actor.checkpoint.save_contents=[all]", "model, optimizer, extra"),
        ("critic.model.path=/proc", "config.json is missing"),
        ("reward.url=http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("custom_reward_function.path=nowhere.py", "no such file"),
        ("reward.options.gsm8k.methods=strict", "no option 'methods'"),
        ("actor_rollout_ref.rollout.prompt_length=5", "is below data.max_prompt_length"),
    ],
)
def test_preflight_finds_it_before_a_model_is_loaded(
    override: str, message: str, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(RewardkitError) as found:
        check(load_config(None, [*fine(parquet, model_folder, tmp_path), override]))
    assert message in str(found.value)
    assert "\n" not in str(found.value)


def test_a_file_that_is_no_parquet_and_an_unknown_data_source_are_refused(
    model_folder: Path, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "train.parquet"
    given = [f"data.train_files={file}", f"actor_rollout_ref.model.path={model_folder}"]
    given += ["data.max_prompt_length=64", "data.max_response_length=64"]
    config = load_config(None, [*given, "trainer.val_before_train=false"])
    file.write_bytes(b"data_source,prompt\n")
    with pytest.raises(RewardkitError, match="\\.parquet"):
        check(config)
    table = pa.table({"data_source": ["openai/gsm9k"], "prompt": ["?"], "ground_truth": ["1"]})
    pq.write_table(table, file)
    with pytest.raises(RewardkitError, match="did you mean openai/gsm8k"):
        check(config)


def test_what_trackers_get_has_every_setting_and_no_password() -> None:
    config = load_config("tiny-cpu", [*NEEDED, "reward.url=http://:s3cret@h:8000"])
    shown = as_dict(config)
    assert shown["reward"]["url"] == "http://h:8000"
    assert shown["trainer"]["total_epochs"] == config.trainer.total_epochs
