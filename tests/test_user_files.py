"""Reward files of users and what they import from their folder: as they were read, in every process."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.registry import Registry, load_reward_file


def _write(folder: Path, name: str, worth: float) -> None:
    """A module and a package with a submodule, which together are worth so much."""
    package = folder / f"{name}_parts"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("from .half import HALF\n")
    (package / "half.py").write_text(f"HALF = {worth / 2}\n")
    (folder / f"{name}.py").write_text(
        f"from {name}_parts import HALF\ndef worth(sample): return HALF + {worth / 2}\n"
    )


def _score(source: str) -> float:
    with Scorer(workers=1) as scorer:
        scored = scorer.score(Sample(source, "", ""))
    assert scored.status == "ok", scored.detail
    return scored.score


@pytest.mark.parametrize("change", ["other text", "gone"])
def test_a_worker_that_starts_late_has_the_modules_beside_a_reward_file_as_they_were(
    tmp_path: Path, registry: Registry, change: str
) -> None:
    name = f"beside_{change.replace(' ', '_')}"
    _write(tmp_path, name, 1.0)
    file = tmp_path / "mine.py"
    file.write_text(
        f"from rewardkit import reward\nimport {name}\n"
        f"@reward('test/{name}')\ndef mine(sample): return {name}.worth(sample)\n"
    )
    load_reward_file(str(file))
    _write(tmp_path, name, 2.0)
    if change == "gone":
        (tmp_path / f"{name}.py").unlink()
    assert _score(f"test/{name}") == 1.0


def test_a_neighbour_that_is_imported_when_it_is_needed_is_found_in_a_worker(
    tmp_path: Path, registry: Registry
) -> None:
    _write(tmp_path, "beside_later", 1.0)
    (tmp_path / "mine.py").write_text(
        "def f(sample):\n    from beside_later import worth\n    return worth(sample)\n"
    )
    load_reward_file(f"test/later={tmp_path}/mine.py:f")
    assert _score("test/later") == 1.0


def test_a_neighbour_does_not_stand_in_for_a_module_of_the_standard_library(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "random")
    (tmp_path / "random.py").write_text("raise RuntimeError\n")
    (tmp_path / "mine.py").write_text("import random\ndef f(sample): return random.random()\n")
    load_reward_file(f"test/random={tmp_path}/mine.py:f")
    assert sys.modules["random"].__file__ == random.__file__


def test_a_neighbour_can_be_reloaded_after_it_was_edited(tmp_path: Path, registry: Registry) -> None:
    _write(tmp_path, "beside_edited", 1.0)
    (tmp_path / "mine.py").write_text("from beside_edited import worth\n")
    load_reward_file(f"test/edited={tmp_path}/mine.py:worth")
    (tmp_path / "beside_edited.py").write_text("def worth(sample): return 3.0\n")
    module = importlib.reload(sys.modules["beside_edited"])
    assert module.worth(None) == 3.0


def test_what_fails_in_a_neighbour_is_said_of_the_file_that_imports_it(
    tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "beside_broken.py").write_text("1 / 0\n")
    (tmp_path / "mine.py").write_text("import beside_broken\n")
    with pytest.raises(InputError, match=r"mine\.py failed to import: ZeroDivisionError"):
        load_reward_file(f"{tmp_path}/mine.py:f")
