"""`rewardkit eval`: from responses, or a model, to figures with intervals and a page."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.errors import ConfigError
from rewardkit.evaluation.listing import by_prompt
from rewardkit.evaluation.scored import read_rows
from rewardkit.offline.verl_evaluation import read_evaluation_config
from tests.generation.endpoints import Server


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    """Four prompts with two responses each: both right, one, one, none."""
    path = tmp_path / "responses.parquet"
    right, wrong = "so #### 72", "so #### 73"
    table = pa.table(
        {
            "data_source": ["gsm8k"] * 4,
            "prompt": [f"p{i}" for i in range(4)],
            "responses": [[right, right], [right, wrong], [wrong, right], [wrong, wrong]],
            "reward_model": [{"ground_truth": "72"}] * 4,
        }
    )
    pq.write_table(table, path)
    return path


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: Any) -> dict[str, Any]:
    assert run(["eval", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["data_sources"]
    return found


def test_responses_become_figures_by_hand(responses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluated(capsys, responses)["gsm8k"]
    assert (found["prompts"], found["responses"], found["solved"]) == (4, 8, 3)
    assert found["accuracy"]["mean"] == pytest.approx(0.5)
    assert found["score"]["mean"] == pytest.approx((4 * 1.0 + 4 * 0.1) / 8)
    at_two = {name: one[0]["estimate"]["mean"] for name, one in found["at_k"].items()}
    assert at_two["pass@k"] == pytest.approx(0.75)
    assert at_two["pass^k"] == pytest.approx(0.25)


def test_a_reward_that_decides_only_some_responses_has_no_accuracy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = tmp_path / "own.py"
    reward.write_text(
        "from rewardkit import reward\n@reward('own/partly', on_exception=0)\n"
        "def own(sample):\n    return 1.0 / len(sample.response)\n"
    )
    rows = [
        {"data_source": "own/partly", "prompt": f"p{i}", "response": "a" * (i > 1), "ground_truth": "x"}
        for i in range(8)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["score", str(path), "--reward", str(reward), "--json"]) == 0
    of_score = json.loads(capsys.readouterr().out)
    assert '"accuracy": null' in json.dumps(of_score)
    scored = tmp_path / "rows.scored.jsonl"
    found = evaluated(capsys, scored)["own/partly"]
    assert (found["accuracy"], found["solved"], found["score"]["mean"]) == (None, 0, 0.75)
    assert run(["eval", str(scored), "--fail-under", "0.5"]) == 0


def test_no_interval_reaches_beyond_what_scores_within_0_and_1_can_have_as_their_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["so #### 72"] * 4] * 3 + [["so #### 73"] * 4]
    path = tmp_path / "rows.jsonl"
    truth = {"data_source": "gsm8k", "ground_truth": "72"}
    path.write_text(
        "".join(
            json.dumps({**truth, "prompt": f"p{i}", "response": one}) + "\n"
            for i, responses in enumerate(rows)
            for one in responses
        )
    )
    found = evaluated(capsys, path)["gsm8k"]
    estimates = [found[name] for name in ("score", "accuracy", "format_rate")]
    estimates += [one["estimate"] for several in found["at_k"].values() for one in several]
    assert len(estimates) == 11
    for one in estimates:
        assert 0.0 <= one["low"] <= one["mean"] <= one["high"] <= 1.0, one


def test_what_is_scored_is_not_scored_again(responses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = evaluated(capsys, responses)
    scored = responses.with_name("responses.scored.parquet")
    before = scored.stat().st_mtime_ns
    assert evaluated(capsys, scored) == first
    assert evaluated(capsys, responses) == first, "a second time, too, and what is there stays"
    assert scored.stat().st_mtime_ns == before


def test_tables_and_a_page_are_for_people(
    responses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", str(responses), "--report", str(tmp_path / "report.html")]) == 0
    printed = capsys.readouterr().out
    assert "0.5000" in printed and "pass@2" in printed
    assert "0.5000" in (tmp_path / "report.html").read_text()


def test_a_model_is_asked_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.jsonl"
    rows = [{"data_source": "gsm8k", "prompt": f"#### {i}", "ground_truth": str(i)} for i in range(3)]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with closing(Server()) as server:
        given = (prompts, "--model", "m", "--url", server.url, "-n", 2, "--out", tmp_path / "out.parquet")
        found = evaluated(capsys, *given)["gsm8k"]
    assert (found["responses"], found["truncated"]) == (6, 0.0)
    assert found["mean_length"] == 2, "in tokens, as the server says"
    assert len(pq.read_table(tmp_path / "out.generated.parquet")) == 3


def test_verl_s_file_is_taken(responses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(
        "def my_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return float(solution_str.endswith(ground_truth))\n"
    )
    config = tmp_path / "evaluation.yaml"
    config.write_text(
        f"data: {{path: {responses}, prompt_key: prompt, response_key: responses,\n"
        "  data_source_key: data_source, reward_model_key: reward_model}\n"
        f"custom_reward_function: {{path: {tmp_path}/mine.py, name: my_score}}\n"
        "ray_kwargs: {ray_init: {num_cpus: null}, timeline_json_file: null}\n"
    )
    found = evaluated(capsys, "--config", config)["gsm8k"]
    assert found["score"]["mean"] == pytest.approx(0.5)
    config.write_text(
        "data: {path: /nowhere.parquet}\nray_init: {num_cpus: null, timeline_json_file: null}\n"
    )
    words = [f"data.path={responses}", f"custom_reward_function.path={tmp_path}/mine.py"]
    found = evaluated(capsys, "--config", config, *words, "custom_reward_function.name=my_score", "--force")
    assert found["gsm8k"]["score"]["mean"] == pytest.approx(0.5)
    config.write_text("data: {paht: x}\n")
    with pytest.raises(ConfigError, match=r"did you mean data\.path"):
        read_evaluation_config(config)


def test_problems_with_one_text_and_different_ground_truths_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one prompt with two responses, of which one is right, both would be solved at 2."""
    path = tmp_path / "responses.jsonl"
    rows = [
        {"data_source": "gsm8k", "prompt": "Twice?", "response": "#### 1", "ground_truth": truth}
        for truth in ("1", "2", "1", "2")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluated(capsys, path)["gsm8k"]
    assert (found["prompts"], found["solved"]) == (2, 1)
    assert found["at_k"]["pass@k"][-1]["k"] == 2
    assert found["at_k"]["pass@k"][-1]["estimate"]["mean"] == 0.5
    scored = tmp_path / "responses.scored.jsonl"
    assert [one.responses for one in by_prompt(lambda: read_rows([scored]), None)] == [2, 2]
    first, mended = tmp_path / "first.jsonl", tmp_path / "mended.jsonl"
    first.write_text("".join(scored.read_text().splitlines(keepends=True)[::2]))
    mended.write_text(first.read_text().replace('"ground_truth": "1"', '"ground_truth": "3"'))
    assert run(["compare", str(first), str(mended)]) == 0, "the same problem, its ground truth mended"


def test_a_row_without_a_response_is_still_a_row_of_its_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a file with a failed request could not be compared with one without."""
    for name, response in (("a", "#### 1"), ("b", {"error": {"message": "Overloaded"}})):
        rows = [
            {"data_source": "gsm8k", "prompt": prompt, "response": said, "ground_truth": "1"}
            for prompt, said in (("p", "#### 1"), ("q", response))
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert run(["score", str(tmp_path / f"{name}.jsonl")]) == 0
    capsys.readouterr()
    assert run(["compare", str(tmp_path / "a.scored.jsonl"), str(tmp_path / "b.scored.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_scored"] == 1


def test_rows_without_prompts_are_said_to_be_grouped_by_ground_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "responses.jsonl"
    rows = [{"data_source": "diversity", "response": word, "ground_truth": "1"} for word in ("a b", "c d")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["score", str(path)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "no prompt column found" in said and "--prompt-key" in said


def test_a_reward_of_groups_sees_prompts_though_it_reads_none(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from rewardkit import reward\n"
        "@reward('my/sizes', batch='group', reads=())\n"
        "def sizes(samples):\n"
        "    return [float(len(samples))] * len(samples)\n"
    )
    path = tmp_path / "responses.jsonl"
    rows = [
        {"data_source": "my/sizes", "prompt": p, "response": "a", "ground_truth": "1"}
        for p in ("p", "p", "q")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["score", str(path), "--reward", str(tmp_path / "mine.py")]) == 0
    scored = (tmp_path / "responses.scored.jsonl").read_text().splitlines()
    assert [json.loads(line)["score"] for line in scored] == [2.0, 2.0, 1.0]


def test_nothing_scored_is_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    row = {"data_source": "gsm8k", "prompt": "p", "response": "x", "ground_truth": None}
    path.write_text(json.dumps(row) + "\n")
    assert run(["eval", str(path)]) == 1


@pytest.mark.parametrize("command", ["eval {0}", "compare {0} {0}", "gradient {0}"])
def test_columns_that_score_recognises_are_recognised_by_every_command(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The columns are named by their values: the answers agree with the verdicts of another tool."""
    path = tmp_path / "log.jsonl"
    rows = [
        {
            "qid": i // 2,
            "question": f"q{i // 2}",
            "text": f"So \\boxed{{{i % 3}}}",
            "gold": "1",
            "correct": i % 3 == 1,
        }
        for i in range(30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run([*command.format(path).split(), "--prompt-key", "question"]) == 0
    said = capsys.readouterr()
    assert "agrees with 'correct' in 30 of 30 rows" in said.out + said.err


def test_a_file_without_rows_and_a_file_of_prompts_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    assert run(["eval", str(tmp_path / "empty.jsonl")]) == 2
    assert "empty.jsonl is empty" in capsys.readouterr().err
    row = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "2+2?"}], "ground_truth": "4"}
    (tmp_path / "prompts.jsonl").write_text(json.dumps(row))
    for command in ("eval", "score"):
        assert run([command, str(tmp_path / "prompts.jsonl")]) == 2
        said = capsys.readouterr().err
        assert "`rewardkit generate`" in said and "`rewardkit eval --model`" in said
        assert said.count("--") == 1  # no option of the command itself, since score has no --model
