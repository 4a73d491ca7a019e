"""Two scorers on the same responses, and pinned verdicts that a changed scorer moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run
from rewardkit.evaluation.rescoring import (
    GroupedSample,
    moved,
    pick,
    read_grouped,
    read_pins,
    rescore,
    write_pins,
)
from rewardkit.logs.layout import ReadOptions
from rewardkit.types import Sample, Score, failure


def scores_by(rule: dict[str, float]):  # type: ignore[no-untyped-def]
    def score(samples: list[Sample]) -> list[Score]:
        return [Score(rule[s.response], correct=rule[s.response] == 1.0) for s in samples]

    return score


def asked(*responses: str, group: str = "p") -> list[GroupedSample]:
    return [GroupedSample(i, Sample("s", text, "1"), group) for i, text in enumerate(responses)]


def test_equal_scorers_raise_no_alarm() -> None:
    rule = scores_by({"a": 1.0, "b": 0.0})
    found = rescore(asked("a", "b", "a"), rule, rule).sources["s"]
    assert (found.n, found.changed, found.groups_changed, found.advantage_change) == (3, 0, 0, 0.0)


def test_flips_and_what_they_do_to_advantages_by_hand() -> None:
    first = scores_by({"a": 1.0, "b": 0.0})
    second = scores_by({"a": 0.0, "b": 1.0})
    found = rescore(asked("a", "b"), first, second)
    of_source = found.sources["s"]
    assert dict(of_source.flips) == {"right to wrong": 1, "wrong to right": 1}
    assert (of_source.groups, of_source.groups_changed, of_source.signs_changed) == (1, 1, 2)
    assert of_source.advantage_change == pytest.approx(2**0.5, rel=1e-4), "from +-1/sqrt(2) to its opposite"
    assert [flip.row for flip in found.examples] == [0, 1]


def test_a_failure_is_a_verdict_of_its_own() -> None:
    def fails(samples: list[Sample]) -> list[Score]:
        return [failure("timeout", "slow") for _ in samples]

    found = rescore(asked("a"), scores_by({"a": 1.0}), fails).sources["s"]
    assert dict(found.flips) == {"right to timeout": 1}
    assert found.groups == 0


def test_pins_prefer_responses_on_which_graders_disagree() -> None:
    """A hundred easy responses and five that another grader reads otherwise: a change shows on those."""
    rule = {f"easy{i}": float(i % 2) for i in range(100)} | {f"hard{i}": 1.0 for i in range(5)}
    other = rule | {f"hard{i}": 0.0 for i in range(5)}
    pins = pick(asked(*rule), scores_by(rule), [scores_by(other)], 10)
    assert sum(pin.response.startswith("hard") for pin in pins) == 5
    assert {pin.verdict for pin in pins if pin.response.startswith("easy")} == {"right", "wrong"}


def test_pins_do_not_depend_on_the_order_of_the_file() -> None:
    rule = {f"r{i}": float(i % 2) for i in range(50)}
    forwards = pick(asked(*rule), scores_by(rule), [], 8)
    backwards = pick(asked(*reversed(rule)), scores_by(rule), [], 8)
    assert {pin.response for pin in forwards} == {pin.response for pin in backwards}


def test_a_moved_verdict_is_found_and_an_equal_scorer_moves_none(tmp_path: Path) -> None:
    rule = {"a": 1.0, "b": 0.0}
    path = tmp_path / "golden.jsonl"
    write_pins(pick(asked("a", "b"), scores_by(rule), [], 2), path)
    pins = read_pins(path)
    assert moved(pins, scores_by(rule)) == []
    assert len(moved(pins, scores_by({"a": 1.0, "b": 1.0}))) == 1


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    rows = [
        {"data_source": "math", "prompt": f"p{i // 2}", "ground_truth": truth, "response": response}
        for i, (truth, response) in enumerate(
            [
                ("72", "\\boxed{72}"),
                ("72", "The answer is 72."),
                ("\\frac12", "\\boxed{0.5}"),
                ("\\frac12", "\\boxed{1/2}"),
                ("5", "\\boxed{6}"),
                ("3", "so it is 3"),
            ]
        )
    ]
    path = tmp_path / "responses.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_row_that_cannot_be_used_is_noted_with_its_file(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    row = {"data_source": "gsm8k", "ground_truth": "4"}
    for path in paths:
        path.write_text("".join(json.dumps(row | {"response": said}) + "\n" for said in ("#### 4", None)))
    notes: list[str] = []
    assert len(list(read_grouped(paths, ReadOptions(), notes.append))) == 2
    assert [note.partition(" skipped: ")[0] for note in notes] == [f"{path}, row 1" for path in paths]


@pytest.mark.slow
def test_the_command_shows_flips_to_another_grader(
    responses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["diff", str(responses), "--second", "math:compat=verl_math_reward"]
    assert run(given) == 0
    printed = capsys.readouterr().out
    assert "right to wrong" in printed
    assert run([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["math"]["changed"] >= 2


@pytest.mark.slow
def test_a_pinned_file_fails_once_a_verdict_moves(
    responses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = tmp_path / "golden.jsonl"
    assert run(["diff", str(responses), "--pin", str(golden), "--pins", "4"]) == 0
    assert len(golden.read_text().splitlines()) == 4
    assert run(["diff", "--check", str(golden)]) == 0
    assert "0 of 4 pinned verdicts changed" in capsys.readouterr().out
    assert run(["diff", "--check", str(golden), "--first", "math:compat=verl_math_reward"]) == 1
    empty = golden.with_name("empty.jsonl")
    empty.write_text("")
    assert run(["diff", "--check", str(empty)]) == 2, "a file that was cut off checks nothing"
    assert "is now" in capsys.readouterr().out
    golden.write_text("{}\n")
    assert run(["diff", "--check", str(golden)]) == 2
    said = capsys.readouterr().err
    assert "line 1 " in said and f"rewardkit diff FILES --pin {golden}" in said
