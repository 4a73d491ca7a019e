"""`import rewardkit` is cheap: the promise that lets every trainer and tool import it without thought."""

from __future__ import annotations

import subprocess
import sys


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_rewardkit_loads_no_heavy_library() -> None:
    heavy = {"torch", "transformers", "pandas", "pyarrow", "fastapi", "sympy", "httpx", "numpy"}
    assert not heavy & _modules_after("import rewardkit")


def test_listing_the_rewards_loads_no_heavy_library() -> None:
    loaded = _modules_after("from rewardkit.cli import run\nassert run(['list', '--json']) == 0")
    assert not {"torch", "transformers", "pandas", "pyarrow", "fastapi", "sympy", "httpx", "numpy"} & loaded


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


def test_every_public_name_can_be_imported() -> None:
    import rewardkit

    for name in rewardkit.__all__:
        assert getattr(rewardkit, name) is not None
