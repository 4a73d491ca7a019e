"""verl's own YAML files of every release, each through the door that it belongs to.

They lie outside of the project (605 files); where they do not, small files of the same kinds stand for them, and
tables of verl's defaults in `tests/trainer/config/test_verl_releases.py`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.loading import load_interactions, load_tools
from rewardkit.errors import RewardkitError
from rewardkit.generation.verl_config import read_generation_config
from rewardkit.offline.verl_evaluation import read_evaluation_config

SHARED = next((p / "shared/data" for p in Path(__file__).parents if (p / "shared/data").is_dir()), Path("no"))
CORPUS = SHARED / "verl_configs"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="verl's files are not on this machine")

GIVEN = ["data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=y"]
VLLM = "actor_rollout_ref.rollout.name=vllm"
"""Many examples name an engine that is not here, and this is what the refusal says to set."""
NOT_HERE = (
    *(
        "megatron",
        "torchtitan",
        "veomni",
        "sft_trainer",
        "fully_async",
        "one_step_off",
        "reward_manager.yaml",
    ),
    *("prime_trainer", "spin_trainer", "sppo_trainer", "on_policy_distill", "rob_", "deepeyes", "geo3k"),
    *(
        "gsm8k_multiturn_grpo_server",
        "v0.2/examples/split_placement",
        "v0.4.1/recipe/entropy",
    ),
)
"""In the names of refused files: other backends, algorithms of recipes, images, and checkpoints copied to HDFS."""


@cache
def files(*kinds: str) -> list[Path]:
    """The files of some kinds, of equal ones the first."""
    found: dict[str, Path] = {}
    for line in (CORPUS / "manifest.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] in kinds:
            found.setdefault(row["sha256"], CORPUS / row["file"])
    return list(found.values())


def refusal(error: RewardkitError) -> str:
    """What is refused, in one line that names it, or is not known."""
    line = str(error)
    assert "\n" not in line
    assert any(
        word in line
        for word in ("is not supported: ", "unknown setting '", "not supported; ", "without a file")
    )
    return line


@needs_corpus
def test_the_founding_files_and_those_of_every_release_generate_and_evaluate() -> None:
    for path in [SHARED / "seed_configs" / "generation.yaml", *files("generation")]:
        values, notes = read_generation_config(path, ["data.path=p.parquet", "model.path=m"])
        expected = {"file": "p.parquet", "model": "m", "n": 5, "top_k": 50, "max_tokens": 512}
        assert expected.items() <= values.items(), path
        assert [line for line in notes if "vLLM is not installed" not in line] == [], path
    for path in [SHARED / "seed_configs" / "evaluation.yaml", *files("evaluation")]:
        found = read_evaluation_config(path, ["data.path=p.parquet"])
        assert (found.file, found.names.response, found.reward, found.notes) == (
            "p.parquet",
            "responses",
            None,
            [],
        )


@needs_corpus
def test_tools_and_interactions_load_or_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = {"recipe": "No module named 'recipe'", "mcp_tool": "cannot read ./mcp_server.json"}
    missing["image_zoom"] = "Gsm8kTool, "
    loaded = 0
    for path in files("tool", "interaction"):
        try:
            found = load_tools(path).kinds if "tool_config" in path.name else load_interactions(path)
        except RewardkitError as error:
            assert any(name in str(path) and why in str(error) for name, why in missing.items()), error
        else:
            assert len(found) == 1
            loaded += 1
    assert loaded == 9


@needs_corpus
@pytest.mark.slow
def test_trainer_files_train_or_say_what_is_not_here() -> None:
    pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
    from omegaconf import OmegaConf

    from rewardkit.trainer.config.load import load_config
    from rewardkit.trainer.config.schema import PPO
    from rewardkit.trainer.verl.hydra import compose

    trained = 0
    for path in files("ppo_trainer", "ppo_trainer_generated", "trainer_example", "sft_trainer", "other"):
        name = str(path.relative_to(CORPUS))
        if path.name in ("_generated_ppo_trainer.yaml", "_generated_ppo_megatron_trainer.yaml"):
            continue  # what they are made of comes to the same, as the test below says
        try:
            given: Any = OmegaConf.to_container(compose(path))
            PPO.translate(given, name, processes=1)
            if path.name == "ppo_trainer.yaml":
                load_config(path, [*GIVEN, VLLM])
        except RewardkitError as error:
            assert any(one in name for one in NOT_HERE), f"{name}: {refusal(error)}"
        else:
            assert not any(one in name for one in NOT_HERE), name
            trained += 1
    assert trained > 40


@needs_corpus
@pytest.mark.slow
def test_the_parts_of_a_configuration_are_composed_as_by_hydra() -> None:
    """verl ships what Hydra makes of them."""
    pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
    from omegaconf import OmegaConf

    from rewardkit.trainer.verl.hydra import compose

    by_hydra = [path for path in files("ppo_trainer_generated") if path.name == "_generated_ppo_trainer.yaml"]
    for path in by_hydra:
        ours: Any = OmegaConf.to_container(compose(path.with_name(path.name.removeprefix("_generated_"))))
        theirs: Any = OmegaConf.to_container(OmegaConf.load(path))
        assert theirs.setdefault("model_engine", ours.get("model_engine")) == ours.setdefault("model_engine")
        assert ours == theirs, path
    assert len(by_hydra) == 9
