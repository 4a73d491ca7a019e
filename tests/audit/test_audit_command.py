"""`rewardkit audit`: its table, page, exit codes and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.audit import Audit, SourceAudit
from rewardkit.cli import run
from rewardkit.commands import audit
from tests.audit.rewards import gsm8k_rows

Capture = pytest.CaptureFixture[str]
INSIDE = "def score(solution_str, ground_truth):\n    return float(ground_truth in solution_str)\n"


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the rows of GSM8K."""
    file = tmp_path_factory.mktemp("audit") / "rows.jsonl"
    rows = [
        {"data_source": "gsm8k", "prompt": row.prompt, "ground_truth": row.item.ground_truth}
        for row in gsm8k_rows()
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_sound_reward_passes_a_gate_and_has_no_mark(prompts: Path, capsys: Capture) -> None:
    assert run(["audit", str(prompts), "--fail-over", "0.2"]) == 0
    shown = capsys.readouterr().out
    assert "gsm8k" in shown and "!" not in shown


def test_a_hole_fails_the_gate_and_stands_on_the_page(prompts: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "inside.py").write_text(INSIDE)
    words = ["audit", str(prompts), "--reward", f"{tmp_path}/inside.py:score", "--fail-over", "0.2"]
    assert run([*words, "--html", f"{tmp_path}/page.html", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    (source,) = said["sources"]
    assert said["above_chance"] == 1.0 and source["wrong"]["sign"] == 1.0
    page = (tmp_path / "page.html").read_text()
    assert "#### -" in page and "<script>alert" not in page
    for hole in source["holes"]:
        assert all(payment["share"] > 0.2 for payment in hole["payments"])


@pytest.mark.parametrize("unknown", [{"late": True}, {"problem": "no frame pays the ground truth"}])
def test_a_gate_does_not_pass_what_was_not_measured(
    unknown: dict[str, Any], prompts: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    found = Audit(str(prompts), (SourceAudit("gsm8k", 60), SourceAudit("own", 60, **unknown)))
    monkeypatch.setattr(audit, "audit_file", lambda *_, **__: found)
    assert run(["audit", str(prompts)]) == 0
    assert run(["audit", str(prompts), "--fail-over", "0.9"]) == 1
    assert "own was not measured" in capsys.readouterr().err


def test_the_shortest_three_responses_stand_under_a_mark(
    prompts: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "pays.py").write_text("def score(solution_str, ground_truth):\n    return 1.0\n")
    assert run(["audit", str(prompts), "--reward", f"{tmp_path}/pays.py:score"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("! constant"))
    assert lines[first + 1].split()[:2] == ["1.00", "''"]


def test_a_page_shows_responses_as_text(prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "tags.py").write_text(
        "def score(solution_str, ground_truth):\n    return float('<script>alert(1)</script>' in solution_str)\n"
    )
    words = ["audit", str(prompts), "--reward", f"{tmp_path}/tags.py:score"]
    assert run([*words, "--html", f"{tmp_path}/page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "&lt;script&gt;alert" in page and "<script>alert" not in page


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--frame", "no place"], "{}"),
        (["--on", "id"], "--responses"),
        (["--judge", "judge.yaml", "--for", "gsm8k"], "budget"),
        (["--rewards", "inner.yaml", "--rewards", "outer.yaml"], "budget"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_line(
    words: list[str],
    part: str,
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEY", "of-a-test")
    Path("judge.yaml").write_text(
        "url: https://api.example.com/v1\nmodel: m\napi_key_env: KEY\ncorrect_from: 5\n"
    )
    Path("inner.yaml").write_text("name: inner\ndata_sources: [another]\nfirst: [judge.yaml]\n")
    Path("outer.yaml").write_text("name: outer\ndata_sources: [gsm8k]\nfirst: [inner, math]\n")
    assert run(["audit", str(prompts), *words]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert part in line
