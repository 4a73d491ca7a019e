"""The table of docs/verl.md says which release of verl has which setting, and the adapter can be loaded as it says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import rewardkit.adapters.verl as adapter
from tests.conftest import REFERENCE_DATA
from tests.docs.pages import ROOT

CONFIGS = REFERENCE_DATA / "verl_configs"
PLACES = ("reward.custom_reward_function.path", "custom_reward_function.path", "none")


def _release(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name)[:3])


def _place_in(folder: Path) -> str:
    """The setting that takes the path of a reward function in a release of verl."""
    names = ("_generated_ppo_trainer.yaml", "ppo_trainer.yaml")
    path = next(path for name in names if (path := folder / "verl/trainer/config" / name).exists())
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    if "custom_reward_function" in config.get("reward", {}):
        return PLACES[0]
    return PLACES[1] if "custom_reward_function" in config else PLACES[2]


def _place_on_the_page(release: tuple[int, ...]) -> str:
    rows = re.findall(r"^\| (0\.[\w. ]+?) \| `?([\w.]+)`? \|", (ROOT / "docs/verl.md").read_text(), re.M)
    assert len(rows) == 4
    return next(place for names, place in rows if release >= _release(names) or "older" in names)


def test_the_table_agrees_with_the_configurations_of_all_releases() -> None:
    if not CONFIGS.is_dir():
        pytest.skip("REWARDKIT_REFERENCE_DATA has no verl_configs")
    releases = [path for path in CONFIGS.iterdir() if re.match(r"v?0\.", path.name)]
    assert len(releases) > 10
    found = {path.name: _place_in(path) for path in releases}
    assert set(found.values()) == set(PLACES)
    assert found == {name: _place_on_the_page(_release(name)) for name in found}


def test_the_adapter_can_be_loaded_from_its_file() -> None:
    """As verl before 0.7.0 does."""
    spec = importlib.util.spec_from_file_location("custom_module", adapter.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compute_score("openai/gsm8k", "#### 72", "72")["score"] == 1.0
