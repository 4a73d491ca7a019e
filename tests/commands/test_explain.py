"""`rewardkit explain`: what a person sees when a verdict surprises."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from rewardkit.cli import run
from rewardkit.registry import Registry
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample


def test_it_shows_the_answer_both_readings_and_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--reward", "math", "--gold", "\\frac12", "--response", "It is \\boxed{0.5}."]
    assert run(words) == 0
    shown = capsys.readouterr().out
    for wanted in (
        "extracted by: boxed",
        "ground truth: \\frac12",
        "equal, by the number tier",
        "score: 1.0",
    ):
        assert wanted in shown


def test_a_reward_without_an_explanation_shows_its_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--reward", "gsm8k", "--gold", "72", "--response", "#### 72 or 73"]) == 0
    assert "several numbers" in capsys.readouterr().out


def test_the_response_can_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("#### 72"))
    assert run(["explain", "--reward", "gsm8k", "--gold", "72", "--response", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1.0


def test_options_change_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--reward", "math", "--gold", "50\\%", "--response", "\\boxed{50}", "--json"]
    verdicts = []
    for option in ("math:units=optional", "math:units=required"):
        assert run([*words, "--option", option]) == 0
        verdicts.append(json.loads(capsys.readouterr().out)["correct"])
    assert verdicts == [True, False]


def test_a_reward_file_means_the_same_as_everywhere(
    tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from rewardkit import reward\n"
        "@reward('test/lengths', runs='inline')\n"
        "def lengths(sample): return len(sample.response)\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None): return 0.5\n"
    )
    words = ["explain", "--ground-truth", "", "--response", "four", "--json"]
    assert run([*words, "--reward", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 4.0
    assert run([*words, "--reward", f"{file}:compute_score"]) == 0
    assert json.loads(capsys.readouterr().out)["scorer"] == "compute_score@1"
    assert run([*words, "--reward", f"mine/*={file}:compute_score", "--data-source", "mine/x"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 0.5


def test_a_failure_is_shown_without_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def f(solution_str, ground_truth): raise ValueError('boom')\n")
    words = ["explain", "--reward", f"a={file}", "--data-source", "a", "--gold", "1", "--response", "1"]
    assert run(words) == 1
    shown = capsys.readouterr().out
    assert "status: error" in shown and "boom" in shown and "score: " not in shown
    assert run([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["score"] is None


def test_it_asks_which_data_source_where_there_is_a_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--ground-truth", "1", "--response", "1"]) == 2
    assert "--data-source" in capsys.readouterr().err


def test_extra_info_and_prompt_reach_the_reward(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--reward", "choice", "--gold", "B", "--response", "The answer is Lyon.", "--json"]
    assert run([*words, "--extra-info", '{"choices": ["Paris", "Lyon"]}', "--prompt", "Which?"]) == 0
    assert json.loads(capsys.readouterr().out)["extracted"] == "B"
    for wrong, said in (("[1]", "must be a JSON object"), ("{", "is not JSON")):
        assert run([*words, "--extra-info", wrong]) == 2
        assert said in capsys.readouterr().err


EXPLAINED = {
    "choice": ("B", "The answer is B."),
    "qa": ('["Paris"]', "<answer>Paris</answer>"),
    "exact": ("a", "b"),
    "contains": ("a", "b"),
    "regex": ("a+", "b"),
    "number": ("5", "6"),
    "json": ('{"a": 1}', '{"a": 2}'),
    "rouge_l": ("the cat", "the cat"),
    "tool_call": ('[{"name": "f", "arguments": {}}]', "f"),
    "instructions": ('{"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}', "a, b"),
    "think_format": ("", "<think>a</think>b"),
    "repetition": ("", "a b a b"),
    "diversity": ("", "a b"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLAINED)
def test_every_reward_says_what_decided(name: str) -> None:
    ground_truth, response = EXPLAINED[name]
    with Scorer(workers=1) as scorer:
        (found,) = scorer.score_batch([Sample(name, response, ground_truth)])  # some look at groups
    assert found.ok and found.detail
