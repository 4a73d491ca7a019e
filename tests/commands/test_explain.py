"""`rewardkit explain`: what a person sees when a verdict surprises."""

from __future__ import annotations

import io
import json

import pytest

from rewardkit.cli import run


def test_it_shows_the_answer_both_readings_and_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--reward", "math", "--gold", "\\frac12", "--response", "It is \\boxed{0.5}."]
    assert run(words) == 0
    shown = capsys.readouterr().out
    for wanted in ("found by: boxed", "gold reads: \\frac12", "equal, by the number tier", "score: 1.0"):
        assert wanted in shown


def test_a_reward_without_an_explanation_shows_its_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--reward", "gsm8k", "--gold", "72", "--response", "#### 72 or 73"]) == 0
    assert "several numbers after ####" in capsys.readouterr().out


def test_the_response_can_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("#### 72"))
    assert run(["explain", "--reward", "gsm8k", "--gold", "72", "--response", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1.0


def test_an_unknown_reward_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--reward", "mat", "--gold", "1", "--response", "1"]) == 2
    assert "did you mean math" in capsys.readouterr().err


def test_options_change_the_judgement(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--reward", "math", "--gold", "50\\%", "--response", "\\boxed{50}", "--json"]
    verdicts = []
    for option in ("math:percent=both", "math:percent=literal"):
        assert run([*words, "--option", option]) == 0
        verdicts.append(json.loads(capsys.readouterr().out)["correct"])
    assert verdicts == [True, False]
