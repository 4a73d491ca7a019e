"""Gates of `eval` and `compare`: what passes, what fails, what cannot be judged, and what CI gets to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rewardkit.cli import run
from rewardkit.errors import GateError, IncompleteError, OptionsError
from rewardkit.evaluation.comparison import compare
from rewardkit.evaluation.evaluation import figures_by_source
from rewardkit.evaluation.gates import exit_code, gate_comparison, gate_figures, gate_limits, require_passed
from rewardkit.evaluation.scored import Groups, ScoredResponse, grouped
from rewardkit.evaluation.summary import Summary, SummaryRow, append_markdown, write_junit


def one(prompt: str, right: bool | None, *, status: str = "ok", source: str = "gsm8k") -> ScoredResponse:
    score = None if status != "ok" else 0.5 if right is None else float(right)
    return ScoredResponse(source, prompt, status, score, right, None, {}, 1, None)


def groups(right: int, wrong: int, failed: int = 0, source: str = "gsm8k") -> Groups:
    verdicts = [*[True] * right, *[False] * wrong]
    found = [one(f"p{i}", verdict, source=source) for i, verdict in enumerate(verdicts)]
    found += [one(f"f{i}", None, status="timeout", source=source) for i in range(failed)]
    return grouped(found)


def test_the_mean_or_the_lower_end_of_the_interval_counts() -> None:
    figures = figures_by_source(groups(80, 20))
    statuses = {
        (limit, counted): gate_figures(figures, {"": limit}, counted)[0].status
        for limit in (0.65, 0.8, 0.81)
        for counted in ("point", "interval")
    }
    assert statuses == {
        (0.65, "point"): "passed",
        (0.65, "interval"): "passed",
        (0.8, "point"): "passed",
        (0.8, "interval"): "failed",
        (0.81, "point"): "failed",
        (0.81, "interval"): "failed",
    }
    (gate,) = gate_figures(figures, {"gsm8k": 0.81}, "interval")
    assert gate.line.startswith("gsm8k: accuracy 0.8000 (95 % interval 0.7")
    assert gate.line.endswith("under 0.81")


def test_a_mean_that_is_the_limit_passes_however_it_is_rounded() -> None:
    for right in range(1, 100):
        figures = figures_by_source(groups(right, 100 - right))
        assert gate_figures(figures, {"": right / 100})[0].status == "passed"


def test_without_verdicts_the_mean_score_counts() -> None:
    figures = figures_by_source(grouped([one(f"p{i}", None) for i in range(3)]))
    (gate,) = gate_figures(figures, {"": 0.6})
    assert gate.status == "failed" and "mean score 0.5000" in gate.line


def test_a_named_limit_goes_before_that_of_every_data_source() -> None:
    both = groups(8, 2) | groups(2, 8, source="math")
    found = gate_figures(figures_by_source(both), {"": 0.5, "math": 0.1, "overall": 0.9})
    assert {gate.data_source: (gate.limit, gate.status) for gate in found} == {
        "gsm8k": (0.5, "passed"),
        "math": (0.1, "passed"),
        "overall": (0.9, "failed"),
    }


@pytest.mark.parametrize(
    ("found", "name", "counted", "said"),
    [
        (groups(80, 20), "gsm8x", "point", "did you mean gsm8k?; the result has gsm8k"),
        (groups(0, 0, failed=3), "gsm8k", "point", "none of its 3 responses was scored"),
        (groups(90, 0, failed=10), "gsm8k", "point", "10 of 100 responses"),
        (groups(1, 0), "gsm8k", "interval", "only one prompt"),
    ],
)
def test_a_gate_that_cannot_judge_is_an_error(found: Groups, name: str, counted: Any, said: str) -> None:
    (gate,) = gate_figures(figures_by_source(found), {name: 0.5}, counted)
    assert gate.status == "error" and said in gate.line
    with pytest.raises(IncompleteError, match="gsm8"):
        require_passed([], [gate])
    assert exit_code([], [gate]) == 1


def test_worse_is_what_the_whole_interval_says() -> None:
    """Twenty of a hundred prompts got worse: surely worse by 0.1, not surely by 0.15."""
    found = compare(groups(100, 0), groups(80, 20))
    assert [gate_comparison(found, {"": limit})[0].status for limit in (0.1, 0.15)] == ["failed", "passed"]
    assert gate_comparison(compare(groups(80, 20), groups(100, 0)), {"": 0.0})[0].status == "passed"
    (gate,) = gate_comparison(found, {"gsm8k": 0.1})
    assert gate.value == -0.2 and "accuracy -0.2000 (95 % interval -0.2" in gate.line
    with pytest.raises(GateError):
        require_passed([], [gate])


def test_prompts_that_one_file_did_not_score_are_too_many_to_compare() -> None:
    verdicts = [one(f"p{i}", True) for i in range(100)]
    failed = [one(f"p{i}", None, status="error") if i < 6 else row for i, row in enumerate(verdicts)]
    (gate,) = gate_comparison(compare(grouped(verdicts), grouped(failed)), {"": 0.5})
    assert (gate.status, exit_code([], [gate])) == ("error", 1) and "6 of 100 prompts" in gate.line


@pytest.mark.parametrize("given", [float("nan"), float("inf"), "0.8", True, {"gsm8k": None}])
def test_a_limit_is_a_finite_number(given: Any) -> None:
    with pytest.raises(OptionsError, match="must be a number"):
        gate_limits(given)
    with pytest.raises(OptionsError, match="at least 0"):
        gate_limits(-0.1, least=0.0)


# --- files for CI ------------------------------------------------------------------------------------------

HOSTILE = 'a|b <script>\x00\x1b[31m & "q" ]]> `x` [l](http://x)\nnew line'


def summary(*gates: Any) -> Summary:
    rows = (SummaryRow(HOSTILE, ("0.5", "1 error")), SummaryRow("math", ("-", "2 invalid"), "math: nothing"))
    return Summary("eval", ("data source", "accuracy", "not scored"), rows, ("math: nothing",), gates)


def test_junit_has_a_case_for_each_data_source_and_gate(tmp_path: Path) -> None:
    gates = gate_figures(figures_by_source(groups(5, 5)), {"": 0.9, "gsm8k": 0.9, "other": 0.1})
    write_junit(summary(*gates), path := tmp_path / "junit.xml")
    root = ElementTree.parse(path).getroot()
    (suite,) = root
    cases = {case.get("name") or "": case for case in suite}
    assert (root.tag, suite.tag, {case.tag for case in suite}) == ("testsuites", "testsuite", {"testcase"})
    for element in (root, suite):
        counts = [element.get(name) for name in ("tests", "failures", "errors", "skipped")]
        assert counts == ["5", "1", "2", "0"]
    assert cases["math is scored"].find("error") is not None
    assert cases["all rows are accounted for"].find("error") is None, "the line stands at its data source"
    failure = cases["gsm8k: accuracy is at least 0.9"].find("failure")
    assert failure is not None and "0.5000" in (failure.get("message") or "")
    assert cases["other: is in the result"].find("error") is not None
    assert all(case.get("classname") and case.get("time") for case in suite)


def test_markdown_is_appended_and_shows_names_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    for _ in range(2):
        append_markdown(summary(*gate_figures(figures_by_source(groups(5, 5)), {"": 0.9})), path)
    text = path.read_text()
    assert text.startswith("before\n") and text.count("### rewardkit eval") == 2
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 8, "a name with a line break stays in its row"
    assert "<script>" not in text.replace(r"\<script\>", "") and r"a\|b" in text
    assert text.count("❌") == 2 and text.count("⚠️") == 2


# --- the commands ------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """A scored file with 30 of 40 right, and one with 10 of them right."""
    made = []
    for name, right in (("before", 30), ("after", 10)):
        rows = [
            {
                "data_source": "gsm8k",
                "prompt": f"p{i}",
                "response": f"#### {int(i < right)}",
                "ground_truth": "1",
            }
            for i in range(40)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert run(["score", str(path)]) == 0
        made.append(str(tmp_path / f"{name}.scored.jsonl"))
    capsys.readouterr()
    return made[0], made[1]


def test_gates_of_eval_decide_the_exit_code(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files[0]
    for words, code in (
        (["--fail-under", "0.7"], 0),
        (["--fail-under", "gsm8k=0.7"], 0),
        (["--fail-under", "0.9", "--fail-under", "gsm8k=0.7"], 0),
        (["--fail-under", "0.7", "--fail-on", "interval"], 3),
        (["--fail-under", "gsm8k=0.8"], 3),
        (["--fail-under", "math=0.8"], 1),
        (["--fail-under", "0.8x"], 2),
        (["--fail-under", "nan"], 2),
        (["--fail-under", "=0.8"], 2),
        (["--fail-under", "0.8", "--fail-under", "0.9"], 2),
        (["--fail-on", "interval"], 2),
    ):
        assert run(["eval", before, *words]) == code, words
    capsys.readouterr()
    given = ["--junit", str(tmp_path / "j.xml"), "--summary", str(tmp_path / "s.md"), "--json"]
    assert run(["eval", before, "--fail-under", "0.8", *given]) == 3
    printed = capsys.readouterr()
    (gate,) = json.loads(printed.out)["gates"]
    assert (gate["status"], gate["limit"], gate["value"]) == ("failed", 0.8, 0.75)
    assert "failed: gsm8k: accuracy 0.7500" in printed.err and "the mean is under 0.8" in printed.err
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("failures") == "1"
    assert "0.7500" in (tmp_path / "s.md").read_text().replace("\\", "")


def test_gates_of_compare_decide_the_exit_code(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *files, "--fail-if-worse", "0.02", "--junit", str(tmp_path / "j.xml")]) == 3
    assert "failed: gsm8k: accuracy -0.5000" in capsys.readouterr().err
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("failures") == "1"
    assert run(["compare", *reversed(files), "--fail-if-worse", "gsm8k=0.02"]) == 0
    assert run(["compare", *files, "--fail-if-worse", "0.9"]) == 0
    assert run(["compare", *files, "--fail-if-worse", "-1"]) == 2
    assert run(["compare", *files]) == 0


def test_a_gate_of_a_dataset_that_is_not_evaluated_is_refused_before_a_model_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["eval", "arithmetic", "--model", "/nowhere", "--fail-under", "gsm8k=0.8"]) == 2
    assert "; the result has arithmetic" in capsys.readouterr().err
