"""Presets of model verifiers, and `first: [rule, verifier]`: who is asked, what is read, and what it cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Score, Scorer
from rewardkit.cli import run
from rewardkit.composition import load_compositions
from rewardkit.errors import InputError, OptionsError
from rewardkit.offline import Report
from rewardkit.registry import Registry
from rewardkit.rewards.judge.file import judge_of_file
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.presets import PRESETS, needs_template
from rewardkit.rewards.judge.question import ask, pair
from rewardkit.rewards.judge.verdict import NoVerdictError, read_verdict
from rewardkit.types import COST_PARTS
from tests.rewards.judge.conftest import JudgeServer, marker_in, text_in

SOURCE = "test/checked"


def preset_options(name: str, folder: Path, **keys: Any) -> JudgeOptions:
    """The options of a judge's file that names a preset."""
    (folder / "template.txt").write_text("Q {question} G {answer} R {output}")
    keys = {"url": "http://h", "model": "m", "preset": name, **keys}
    if needs_template(PRESETS[name]):
        keys |= {"prompt_file": "template.txt"}
    (folder / "verifier.yaml").write_text(json.dumps(keys))
    made: JudgeOptions = judge_of_file(folder / "verifier.yaml").make_options({})
    return made


ENDS: list[tuple[str, str, float | None]] = [
    ("compass-verifier", "A", 1.0),
    ("compass-verifier", " B \n", 0.0),
    ("compass-verifier", "C", 0.0),
    ("compass-verifier", "The answer's \\boxed{B} is right.\nFinal Judgment: \\boxed{A} - CORRECT", 1.0),
    ("compass-verifier", "Analysis.\nFinal Judgment: \\boxed{B} - INCORRECT", 0.0),
    ("compass-verifier", "Analysis.\n\\boxed{A}", 1.0),
    ("compass-verifier", "Final Judgment: A - CORRECT", None),  # its own reader makes a C of it
    ("compass-verifier", "As both agree, the answer is right.", None),
    ("compass-verifier", "A or B", None),
    ("general-verifier", "Both are 3.\nFinal Decision: Yes", 1.0),
    ("general-verifier", "They differ.\n**Final Decision: No**", 0.0),
    ("general-verifier", "Final Decision: Yes would be wrong.", None),
    ("general-verifier", "Final Decision: Yes\nFinal Decision: No", None),
    ("tinyv", "True", 1.0),
    ("tinyv", "<think>True?</think>\n\nFalse", 0.0),
    ("tinyv", "It is not True", None),
    ("xverify", "Correct", 1.0),
    ("xverify", "[Incorrect]", 0.0),
    ("xverify", "Incorrect, not Correct", None),
    ("simpleqa", "{marker} A", 1.0),
    ("simpleqa", "The answer says that {marker} is A", None),
    ("simpleqa", "The response ends with A", None),
    ("rm-r1", "<eval>...</eval>\n<answer>[[A]]</answer>", 1.0),
    ("rm-r1", "<answer>[[B]]</answer>", 0.0),
    ("rm-r1", "<answer>[[A]] [[B]]</answer>", None),
    ("nemotron-genrm", '{"score_1": 4, "score_2": 2, "ranking": 1}', 1.0),
    ("nemotron-genrm", '```json\n{"score_1": 2, "score_2": 4, "ranking": 6}\n```', 0.0),
    ("nemotron-genrm", '{"ranking": 7}', None),
]


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_reads_its_models_answers_and_no_others(name: str, tmp_path: Path) -> None:
    options = preset_options(name, tmp_path)
    sample = Sample(SOURCE, "Thus \\boxed{42}", "forty-two", "What is 6 * 7?")
    question = pair(sample, options, swapped=False) if options.pairwise else ask(sample, options)
    text = "\n".join(message["content"] for message in question.messages)
    assert all(part in text for part in ("42", "forty-two", "6 * 7")) and "{" not in text.replace(
        "\\boxed{", ""
    )
    ends = [(said, value) for preset, said, value in ENDS if preset == name]
    assert ends
    for said, value in ends:
        try:
            answer = said.replace("{marker}", question.marker)
            found: float | None = read_verdict(answer, question.marker, options).score
        except NoVerdictError:
            found = None
        assert found == value, said


def test_a_template_may_lie_beside_the_file_or_in_the_models_folder(tmp_path: Path) -> None:
    model = tmp_path / "models" / "verifier"
    model.mkdir(parents=True)
    (model / "prompt.txt").write_text("Compare {{gold_answer}} with {llm_response}")
    options = preset_options("compass-verifier", tmp_path, model=str(model), prompt_file="prompt.txt")
    question = ask(Sample(SOURCE, "{gold_answer}", "5"), options)
    assert question.messages[0]["content"] == "Compare 5 with {gold_answer}"
    with pytest.raises(InputError, match=r"other\.txt"):
        preset_options("compass-verifier", tmp_path, prompt_file="other.txt")
    for text, why in (
        ("preset: compas-verifier", "did you mean compass-verifier"),
        ("preset: xverify", "prompt_file"),
    ):
        (tmp_path / "bad.yaml").write_text(f"url: http://h\nmodel: m\n{text}\n")
        with pytest.raises(OptionsError, match=why):
            judge_of_file(tmp_path / "bad.yaml")


# --- behind a rule -------------------------------------------------------------------------------------------


@pytest.fixture
def rewards_file(judge_server: JudgeServer, tmp_path: Path, registry: Registry) -> Path:
    """`math`, then a verifier that says yes to whatever contains "forty"."""
    judge_server.answer = lambda body: (
        f"Hm.\nFinal Decision: {'Yes' if 'forty' in text_in(body).rpartition('<response')[2] else 'No'}"
    )
    (tmp_path / "verifier.yaml").write_text(
        f"preset: general-verifier\nurl: {judge_server.url}\nmodel: m\nprices: {{m: {{input: 1, output: 2}}}}\n"
    )
    path = tmp_path / "rewards.yaml"
    path.write_text(f"data_sources: [{SOURCE}]\nfirst: [math, verifier.yaml]\n")
    return path


RESPONSES = {
    "\\boxed{42}": (1.0, 0),
    "It is forty-two, as computed above.": (1.0, 1),
    "\\boxed{41}": (0.0, 1),
    "Nobody knows.": (0.0, 1),
    "": (0.0, 0),
    "  \n": (0.0, 0),
    "<think>forty-two": (0.0, 0),
}
"""What `first: [math, verifier]` pays, and how often it asks the verifier."""


def test_a_verifier_is_asked_only_where_the_rule_did_not_pay(
    rewards_file: Path, judge_server: JudgeServer
) -> None:
    load_compositions(rewards_file)
    with Scorer() as scorer:
        scores = scorer.score_batch([Sample(SOURCE, one, "42", "What is 6 * 7?") for one in RESPONSES])
        judge_server.answer = lambda body: 400
        failed = scorer.score(Sample(SOURCE, "Something else.", "42"))
    for response, found in zip(RESPONSES, scores, strict=True):
        score, calls = RESPONSES[response]
        assert (found.status, found.score, found.correct) == ("ok", score, score == 1.0), response
        assert found.parts.get("calls", 0.0) == calls, response
    assert [found.parts.get("overruled", 0.0) for found in scores] == [0, 1, 0, 0, 0, 0, 0]
    assert (failed.status, failed.score) == ("error", 0.0)


def test_score_tells_what_a_verifier_overruled_and_cost(
    rewards_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"data_source": SOURCE, "response": one, "ground_truth": "42"} for one in RESPONSES]
    data = tmp_path / "responses.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        run(["score", str(data), "--rewards", str(rewards_file), "--out", str(tmp_path / "out.jsonl")]) == 0
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert "rated 3 samples: 3 answered requests" in printed
    assert "300 + 30 tokens, $0.00036; " in printed


def test_a_budget_ends_score_in_a_line_and_resume_goes_on(
    judge_server: JudgeServer, tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = tmp_path / "judge.yaml"
    text = f"url: {judge_server.url}\nmodel: m\nconcurrency: 1\ncache: {tmp_path}/answers.sqlite\n"
    judge.write_text(f"{text}data_sources: [{SOURCE}]\nmax_tokens: 10\nbudget_tokens: 1300\n")
    data = tmp_path / "responses.jsonl"
    rows = [{"data_source": SOURCE, "response": f"response {i}", "ground_truth": ""} for i in range(7)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", str(data), "--judge", str(judge), "--out", str(tmp_path / "out.jsonl"), "--resume"]
    assert run(command) == 1
    assert "budget of 1,300 tokens" in (said := capsys.readouterr().err)
    assert said.count("\n") == 1 and "--resume" in said
    asked = len(judge_server.bodies)
    assert 1 <= asked < 7
    judge.write_text(judge.read_text().replace("1300", "5000"))
    assert run(command) == 0
    assert len(judge_server.bodies) == 7
    scored = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["status"] for row in scored] == ["ok"] * 7


def test_rows_of_healthbench_and_rar_are_scored_from_files_as_they_are(
    judge_server: JudgeServer, tmp_path: Path, registry: Registry
) -> None:
    judge_server.answer = lambda body: f"{marker_in(body)} {'yes' if 'capital' in text_in(body) else 'no'}"
    (tmp_path / "rubric.yaml").write_text(f"url: {judge_server.url}\nmodel: m\nrubric: true\n")
    health = {
        "prompt": [{"role": "user", "content": "Where?"}],
        "rubrics": [
            {"criterion": "the capital", "points": 6, "tags": []},
            {"criterion": "a source", "points": 2},
        ],
    }
    rar = {
        "question": "Where?",
        "reference_answer": "Paris",
        "rubric": [
            {"title": "a", "description": "Essential: the capital", "weight": 3},
            {"description": "b", "weight": 1},
        ],
    }
    for name, row, keys in (
        ("health", health, ["--ground-truth-key", "rubrics"]),
        ("rar", rar, ["--ground-truth-key", "rubric", "--prompt-key", "question"]),
    ):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({**row, "response": "Paris."}) + "\n")
        words = ["--judge", str(tmp_path / "rubric.yaml"), "--for", SOURCE, "--data-source", SOURCE, *keys]
        out = tmp_path / f"{name}.out.jsonl"
        assert run(["score", str(tmp_path / f"{name}.jsonl"), "--out", str(out), *words]) == 0
        assert json.loads(out.read_text())["score"] == 0.75


def test_a_part_of_another_reward_is_no_cost() -> None:
    report = Report()
    sample = Sample("tool_call", "", "")
    report.add([sample], [Score(1.0, parts={"format": 1.0, "names": 1.0, "calls": 1.0})])
    assert report.sources["tool_call"].costs == {}
    report.add([sample], [Score(1.0, parts=dict.fromkeys(COST_PARTS, 1.0))])
    assert report.sources["tool_call"].costs["calls"] == 1.0


def test_a_composition_without_a_judge_is_as_it_was(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(f"data_sources: [{SOURCE}]\nfirst: [gsm8k, number]\n")
    [made] = load_compositions(path)
    assert made.parts == ("first.gsm8k", "first.number")
    with Scorer(workers=1) as scorer:
        found: Score = scorer.score(Sample(SOURCE, "#### 5", "6"))
    assert found.parts == {"first.gsm8k": 0.1}  # it has decided
