"""The examples that need rewardkit alone run as their READMEs say, on a tiny model."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.ports import own_port

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/run.sh"))


@pytest.mark.slow
def test_every_script_of_the_examples_runs(after_the_demo: Path, forking_shell: Mapping[str, str]) -> None:
    for script in SCRIPTS:
        done = subprocess.run(
            ["bash", script],
            cwd=after_the_demo,
            env={**forking_shell, "PORT": str(own_port()), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"


def test_every_example_has_a_short_readme_and_stands_in_the_table() -> None:
    named = re.findall(r"^\| \[(\w+)\]", (EXAMPLES / "README.md").read_text(), re.M)
    folders = [path.name for path in EXAMPLES.iterdir() if path.is_dir()]
    assert sorted(named) == sorted(folders)
    assert all(len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 25 for name in folders)
