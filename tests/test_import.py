"""`import rewardkit` is cheap: the promise that lets every trainer and tool import it without thought."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "torch",
    "transformers",
    "pandas",
    "pyarrow",
    "fastapi",
    "sympy",
    "httpx",
    "httpx2",
    "openai",
    "numpy",
}


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import rewardkit", "import rewardkit.model_api.client, rewardkit.rewards.judge"]
)
def test_importing_loads_no_heavy_library(statement: str) -> None:
    assert not HEAVY & _modules_after(statement)


def test_listing_the_rewards_loads_no_heavy_library() -> None:
    loaded = _modules_after("from rewardkit.cli import run\nassert run(['list', '--json']) == 0")
    assert not HEAVY & loaded


def test_registering_the_rewards_loads_none_of_them() -> None:
    loaded = _modules_after("import rewardkit.rewards")
    ours = {name for name in loaded if name.startswith("rewardkit.rewards.")}
    assert ours == {"rewardkit.rewards.declarations"}


def test_scoring_a_sample_loads_no_torch_pandas_or_pyarrow() -> None:
    loaded = _modules_after(
        "import rewardkit\n"
        "assert rewardkit.Scorer().score(rewardkit.Sample('gsm8k', '#### 72', '72')).score == 1.0"
    )
    assert not {"torch", "transformers", "pandas", "pyarrow", "fastapi"} & loaded


def test_a_server_without_ground_truths_or_tasks_loads_no_arrow() -> None:
    """It would be a fifth of the start of each of its processes."""
    assert not {"torch", "transformers", "pandas", "pyarrow", "numpy", "sympy"} & _modules_after(
        "import rewardkit.server.app"
    )


def test_a_worker_loads_nothing_that_few_rewards_need() -> None:
    """It would be a third of the start of each worker."""
    loaded = _modules_after("import rewardkit.scoring.worker")
    assert not {"asyncio", "cloudpickle", "logging", "ssl", "importlib.metadata", "sympy"} & loaded


def test_a_model_folder_that_is_not_there_is_said_before_torch_is_loaded() -> None:
    loaded = _modules_after(
        "from rewardkit.errors import ConfigError\n"
        "from rewardkit.generation.engines import open_engine\n"
        "from rewardkit.generation.types import EngineSettings, GenerationSettings\n"
        "try:\n    open_engine(EngineSettings('hf', '/nowhere'), GenerationSettings())\n"
        "except ConfigError as error:\n    assert 'no such model folder: /nowhere' in str(error)\n"
        "else:\n    assert False"
    )
    assert not {"torch", "transformers"} & loaded


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "data.train_filez=x"], "data.train_files"),
        (["train", "data.train_files=x"], "actor_rollout_ref.model.path is not set"),
        (["train", "--explain", "data.train_filez=x"], "data.train_files"),
        (["sft", "data.max_len=5"], "data.max_length"),
        (["export", "/nowhere", "out"], "/nowhere is neither a checkpoint"),
    ],
)
def test_wrong_words_on_a_command_line_are_said_before_torch_is_loaded(words: list[str], said: str) -> None:
    for package in ("omegaconf", "torch", "transformers", "peft"):
        pytest.importorskip(package, reason="the trainer needs it: pip install 'rewardkit[train]'")
    loaded = _modules_after(
        "import contextlib, io\n"
        "from rewardkit.cli import run\n"
        "with contextlib.redirect_stderr(io.StringIO()) as said:\n"
        f"    assert run({words!r}) == 2\n"
        f"assert {said!r} in ' '.join(said.getvalue().split()), said.getvalue()"
    )
    assert not {"torch", "transformers"} & loaded


def test_every_public_name_can_be_imported() -> None:
    import rewardkit

    for name in rewardkit.__all__:
        assert getattr(rewardkit, name) is not None
