"""Functions travel to other processes by their names; only those without one need cloudpickle."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rewardkit import pickling
from rewardkit.errors import MissingDependencyError


def named(a: int, b: int = 0) -> int:
    return a + b


def test_a_function_of_a_module_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert pickling.loads(pickling.dumps(partial(named, b=2)))(1) == 3
    assert pickling.loads(pickling.dumps({"a": [1.5, None]})) == {"a": [1.5, None]}


def test_a_function_without_a_name_is_sent_with_its_code() -> None:
    pytest.importorskip("cloudpickle")
    c = 3
    assert pickling.loads(pickling.dumps(lambda a: a + c))(1) == 4


def test_without_cloudpickle_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardkit.errors.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"rewardkit\[notebook\]"):
        pickling.dumps(lambda: 1)


def test_a_reward_of_the_main_program_runs_in_a_worker(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    (tmp_path / "main.py").write_text(
        "import rewardkit\n\n"
        "@rewardkit.reward('my/main')\ndef mine(response):\n    return float(len(response))\n\n"
        "if __name__ == '__main__':\n"
        "    with rewardkit.Scorer(workers=1) as scorer:\n"
        "        print(scorer.score(rewardkit.Sample('my/main', 'abc', '')).score)\n"
    )
    done = subprocess.run([sys.executable, str(tmp_path / "main.py")], capture_output=True, text=True)
    assert done.stdout.strip() == "3.0", done.stderr
