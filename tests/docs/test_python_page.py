"""The session of docs/python.md does the README's first steps, and the workflow in examples/ works."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from rewardkit.assets import asset_path
from tests.docs.pages import ROOT

WORKFLOW = ROOT / "examples" / "github_actions" / "rewards.yml"


def test_the_session_of_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    session, scoring, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)
    exec(session, {})
    printed = capsys.readouterr().out
    assert "train: 100 rows" in printed and "80 {}" in printed.replace("Counter()", "{}")
    assert "0.5875" in printed and "1.0 " in printed
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "data" / "test.parquet").exists()
    exec(scoring, {})
    assert capsys.readouterr().out.split() == scoring.rpartition("#")[2].split()


def _commands() -> list[str]:
    """The scripts of the workflow's steps that call rewardkit."""
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    return [step["run"] for step in job["steps"] if step.get("run", "").startswith("rewardkit ")]


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "codes"), [(80, [0, 0, 0]), (None, [0, 3, 3])])
def test_the_workflow_passes_the_same_responses_and_fails_worse_ones(
    kept: int | None, codes: list[int], tmp_path: Path, shell: Mapping[str, str]
) -> None:
    sample = asset_path("responses.jsonl").read_text()
    (tmp_path / "baseline.jsonl").write_text(sample)
    worse = re.sub(r"####[^\"\\]*", "#### none", sample)
    (tmp_path / "responses.jsonl").write_text(sample if kept else worse)
    summary = tmp_path / "summary.md"
    environment = {
        **shell,
        "GITHUB_STEP_SUMMARY": str(summary),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    found = [
        subprocess.run(["bash", "-e", "-c", command], cwd=tmp_path, env=environment).returncode
        for command in _commands()
    ]
    assert found == codes
    assert summary.read_text().count("### rewardkit") == 2
    assert (tmp_path / "eval.junit.xml").exists() and (tmp_path / "compare.junit.xml").exists()
