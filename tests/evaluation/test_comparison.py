"""Two scored files over the same prompts, and the figures of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.evaluation.comparison import compare
from rewardkit.evaluation.evaluation import OVERALL, figures_by_source
from rewardkit.evaluation.scored import Groups, ScoredResponse, grouped


def scored(
    prompt: str, correct: bool, *, source: str = "gsm8k", extracted: str | None = None
) -> ScoredResponse:
    score = float(correct)
    return ScoredResponse(source, prompt, "ok", score, correct, extracted, {"format": 1.0}, 10, None)


def failed(prompt: str, source: str = "gsm8k") -> ScoredResponse:
    return ScoredResponse(source, prompt, "timeout", None, None, None, {}, 10, None)


def by_prompt(rights: str, source: str = "gsm8k") -> Groups:
    return grouped(scored(f"p{i}", right == "1", source=source) for i, right in enumerate(rights))


def test_differences_are_paired_by_prompt() -> None:
    found = compare(by_prompt("1001001101"), by_prompt("1101011011"))
    accuracy = found.sources["gsm8k"].accuracy
    assert accuracy is not None
    assert (accuracy.mean, accuracy.test) == (pytest.approx(0.2), "McNemar")
    assert accuracy.standard_error == pytest.approx(0.2)
    assert [flip.prompt for flip in found.flips if flip.after < flip.before] == ["p7"]


def test_several_responses_are_compared_by_the_means_of_prompts() -> None:
    first = grouped([scored("a", True), scored("a", False), scored("b", False)])
    second = grouped([scored("a", True), scored("b", True), scored("b", False)])
    accuracy = compare(first, second).sources["gsm8k"].accuracy
    assert accuracy is not None
    assert (accuracy.mean, accuracy.test, accuracy.better) == (pytest.approx(0.5), "sign flips", 2)


def test_different_prompts_are_refused_unless_that_is_allowed() -> None:
    with pytest.raises(InputError, match=r"1 only .* 0 only .* 2 in both; .*--allow-missing"):
        compare(by_prompt("101"), by_prompt("10"))
    found = compare(by_prompt("101"), by_prompt("10"), allow_missing=True)
    assert (found.only_first, found.sources["gsm8k"].prompts) == (1, 2)
    with pytest.raises(InputError, match="no prompt in common"):
        compare(by_prompt("1"), by_prompt("1", source="math"), allow_missing=True)


def test_a_prompt_without_a_scored_response_is_left_out_and_counted() -> None:
    found = compare(
        grouped([failed("a"), scored("b", True)]), grouped([scored("a", True), scored("b", True)])
    )
    assert (found.not_scored, found.sources["gsm8k"].prompts) == (1, 1)


def test_figures_over_k_are_means_over_prompts_and_say_whom_they_leave_out() -> None:
    four = [scored("a", right, extracted="7" if right else "8") for right in (True, False, False, False)]
    found = figures_by_source(
        grouped([*four, scored("b", True, extracted="5"), scored("b", True, extracted="5")])
    )["gsm8k"]
    at_two = {name: figures[0].estimate.mean for name, figures in found.at_k.items()}
    assert at_two["pass@k"] == pytest.approx((0.5 + 1.0) / 2)
    assert at_two["pass^k"] == pytest.approx((0.0 + 1.0) / 2)
    assert [(one.k, one.left_out) for one in found.at_k["pass@k"]] == [(2, 0), (4, 1)]
    assert found.accuracy is not None and found.accuracy.mean == pytest.approx(0.5)
    assert (found.prompts, found.solved) == (2, 2)


def test_failures_are_counted_and_in_no_mean() -> None:
    found = figures_by_source(grouped([scored("a", True), failed("a"), failed("b")]))["gsm8k"]
    assert (found.responses, found.scored, found.failures) == (3, 1, {"timeout": 2})
    assert found.score is not None and found.score.mean == 1.0


def test_several_data_sources_have_figures_of_all_together() -> None:
    groups = by_prompt("10") | by_prompt("11", source="math")
    found = figures_by_source(groups)
    assert list(found) == ["gsm8k", "math", OVERALL]
    assert found[OVERALL].accuracy is not None and found[OVERALL].accuracy.mean == 0.75


def write(path: Path, rights: str, **more: object) -> Path:
    rows = [
        {"data_source": "gsm8k", "prompt": f"p{i}", "response": "r", "ground_truth": "1"}
        | {"score": float(right), "status": "ok", "scorer": "gsm8k@1", "correct": right == "1", **more}
        for i, right in enumerate(rights)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_prints_intervals_and_flips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write(tmp_path / "a.jsonl", "1001001101"), write(tmp_path / "b.jsonl", "1101011011")
    assert run(["compare", str(first), str(second)]) == 0
    printed = capsys.readouterr().out
    assert "+0.2000" in printed and "McNemar" in printed and "1 prompt got worse" in printed
    assert run(["compare", str(first), str(second), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"]["gsm8k"]["accuracy"]["p_value"] == pytest.approx(
        0.625
    )


def test_a_prompt_that_flipped_is_shown_as_a_chat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "What is\n2+2?"}], "response": "a"}
    for name, correct in (("a", True), ("b", False)):
        scored = row | {"score": float(correct), "correct": correct, "status": "ok", "scorer": "gsm8k@1"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(scored) + "\n")
    assert run(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert "gsm8k  [user] What is 2+2?" in printed
    assert "{" not in printed


def test_a_file_without_scores_is_one_line_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "raw.jsonl"
    path.write_text(json.dumps({"prompt": "p", "response": "r"}) + "\n")
    assert run(["compare", str(path), str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no ground truths" in line and "--ground-truth-key" in line


def test_gradient_prints_the_shares_of_each_estimator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rollouts.jsonl"
    rows = [
        {
            "data_source": "gsm8k",
            "prompt": f"p{i % 2}",
            "response": "r",
            "score": score,
            "status": "ok",
            "scorer": "gsm8k@1",
        }
        | {"correct": score == 1.0, "parts": {"format": float(score > 0)}}
        for i, score in enumerate((1.0, 0.1, 0.0, 0.0, 0.1, 0.0))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["gradient", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "groups without a right" in printed and "by correct (weight 0.9)" in printed
    assert run(["gradient", str(write(tmp_path / "single.jsonl", "10"))]) == 2
    assert "only one scored response" in capsys.readouterr().err


def test_a_source_whose_reward_names_no_answers_is_left_out_of_majorities_and_of_nothing_else() -> None:
    nameless = [scored(f"n{i}", i == 0, source="ifeval") for i in range(2) for _ in range(2)]
    named = [scored(f"m{i}", i == 0, extracted=str(i)) for i in range(2) for _ in range(2)]
    found = figures_by_source(grouped([*nameless, *named]))
    assert "maj@k" not in found["ifeval"].at_k and "maj@k" in found["gsm8k"].at_k
    (overall,) = found[OVERALL].at_k["maj@k"]
    assert (overall.estimate.mean, overall.left_out) == (0.5, 2)
    assert found[OVERALL].at_k["pass@k"][0].left_out == 0


def test_without_a_terminal_no_line_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    row = {
        "data_source": "hiyouga/geometry3k-of-some-length",
        "ground_truth": "5",
        "status": "ok",
        "scorer": "gsm8k@1",
        "score": 1.0,
    }
    paths = []
    for name, rights in (("a", (True, False, True)), ("b", (True, True, False))):
        rows = [
            {**row, "prompt": f"{i} {'word ' * 20}", "response": "x", "correct": right, "score": float(right)}
            for i, right in enumerate(rights)
        ]
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert run(["compare", *map(str, paths)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(row["data_source"]) and "McNemar" in line for line in lines)
    assert all(f"{i} {'word ' * 20}".strip() in "\n".join(lines) for i in (1, 2))
