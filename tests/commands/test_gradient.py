"""`rewardkit gradient`: folders as a table over steps, and dumps without scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run

RIGHT, IN_FORMAT, WRONG = "so #### 7", "so #### 8", "it is 7"


def dump(folder: Path, step: int, *groups: list[str], **more: Any) -> None:
    folder.mkdir(exist_ok=True)
    rows = [
        {"data_source": "gsm8k", "prompt": f"p{i}", "ground_truth": "7", "response": response, **more}
        for i, group in enumerate(groups)
        for response in group
    ]
    (folder / f"{step}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert run(["gradient", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_folder_without_scores_is_scored_and_shown_step_by_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(tmp_path / "d", 2, [RIGHT, WRONG], [RIGHT, RIGHT])
    dump(tmp_path / "d", 10, [IN_FORMAT, WRONG], [WRONG, WRONG])
    found = shown(capsys, tmp_path / "d")
    assert list(found) == ["2", "10"]
    assert [(one["right"], one["equal"], one["format"]) for one in found.values()] == [
        (0.75, 0.5, 0.0),
        (0.0, 0.5, 1.0),
    ]
    assert sorted(path.name for path in tmp_path.rglob("*.jsonl")) == ["10.jsonl", "2.jsonl"]
    of_step = shown(capsys, tmp_path / "d", "--step", "10")["gsm8k"]["estimators"]["grpo"]
    assert of_step["nobody_right"] == 1.0
    assert run(["gradient", str(tmp_path / "d")]) == 0
    assert "--step N" in capsys.readouterr().out


def test_dumps_without_scores_are_scored_beside_those_that_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for unscored in ([2], [2, 3]):
        dump(tmp_path / "d", 1, [WRONG, WRONG], score=1.0, status="ok", scorer="mine@1")
        for step in unscored:
            dump(tmp_path / "d", step, [RIGHT, WRONG])
        found = shown(capsys, tmp_path / "d")
        assert [(step, one["right"]) for step, one in found.items()] == [
            ("1", None),
            *((str(step), 0.5) for step in unscored),
        ]


def test_rewards_can_be_given_for_what_has_no_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(tmp_path / "d", 1, [IN_FORMAT, WRONG])
    option = ("--option", "gsm8k:format_score=0.5")
    found = shown(capsys, tmp_path / "d" / "1.jsonl", *option)
    assert found["gsm8k"]["estimators"]["dr_grpo"]["total"] == pytest.approx(0.5)


def test_scores_that_a_dump_has_are_used_and_no_verdict_is_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(tmp_path / "d", 1, [WRONG, WRONG], score=0.25)
    dump(tmp_path / "d", 2, [WRONG], score=0.5)
    found = shown(capsys, tmp_path / "d", "--score-key", "score")
    assert [(one["right"], one["equal"]) for one in found.values()] == [(None, 1.0), (None, None)]
    (tmp_path / "rm.jsonl").write_text(
        "".join(f'{{"data_source": "d", "prompt": "p", "response": "x", "score": {n}}}\n' for n in (1, 2))
    )
    assert run(["gradient", str(tmp_path / "rm.jsonl"), "--score-key", "score"]) == 0
    assert "nobody" not in capsys.readouterr().out, "a reward that says no verdict has none"


def test_steps_whose_scores_do_not_say_what_is_right_are_shown_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        dump(tmp_path / "d", step, [RIGHT, WRONG], score=1.0, status="ok", scorer="mine@1")
    assert run(["gradient", str(tmp_path / "d")]) == 0
    assert "have no `correct`" in capsys.readouterr().out


def test_a_score_that_rises_while_the_truth_falls_is_told_with_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step, right in {1: 40, 2: 60, 3: 60, 4: 10}.items():
        groups = [[RIGHT]] * right + [[WRONG]] * (80 - right)
        dump(tmp_path / "d", step, *groups, score=float(step), status="ok", scorer="rm@1")
    found = shown(capsys, tmp_path / "d", "--truth")
    assert [(one["score"], one["truth"], one["prompts"]) for one in found["steps"].values()] == [
        (1.0, 0.5, 80),
        (2.0, 0.75, 80),
        (3.0, 0.75, 80),
        (4.0, 0.125, 80),
    ]
    fall = found["overoptimization"]
    assert (fall["since"], fall["truth_before"], fall["truth_now"]) == (3, 0.75, 0.125)
    for step in (1, 2, 3, 4):
        dump(tmp_path / "e", step, *[[RIGHT]] * 4, score=float(step), status="ok", scorer="rm@1")
    assert shown(capsys, tmp_path / "e", "--truth")["overoptimization"] is None
    assert run(["gradient", str(tmp_path / "d" / "1.jsonl"), "--truth"]) == 2
    assert "--truth needs a folder" in capsys.readouterr().err
