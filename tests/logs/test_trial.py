"""A log that says nothing in our words is read by trial: the reading that agrees with its own verdicts."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import Scorer
from rewardkit.cli import run
from rewardkit.errors import InputError, RewardkitError, with_columns
from rewardkit.files.inputs import find_inputs
from rewardkit.logs.candidates import verdicts_of
from rewardkit.logs.reader import opened
from rewardkit.offline import ReadOptions, read_samples, score_file, score_frame
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.types import Sample
from tests.logs import other_tools as tools
from tests.logs import written
from tests.logs.test_reader import write

Made = Callable[[], Any]


def put(path: Path, made: Any) -> Path:
    """Write rows as lines, or an object as JSON."""
    if isinstance(made, list):
        return write(path.with_suffix(".jsonl"), made)
    path.with_suffix(".json").write_text(json.dumps(made))
    return path.with_suffix(".json")


def note_of(path: Path, options: ReadOptions | None = None) -> str:
    (source,) = find_inputs([path])
    with opened(source, options or ReadOptions()) as (_, layout):
        return layout.describe(None)


READ: list[tuple[Made, str]] = [
    (tools.opencompass_predictions, "response 'prediction', ground truth 'gold', math: 4 of 7 responses are right"),
    (tools.opencompass_details, "response 'origin_prediction', ground truth 'references', math: agrees with 'correct' in 7 of 7 rows"),
    (tools.helm, "response 'result.completions.0.text', ground truth 'instance.references.0.output.text', math: 4 of 7 responses are right"),
    (tools.evalscope_reviews, "answers of an API, math: agrees with 'choices.0.review.result' in 7 of 7 rows"),
    (tools.evalscope, "response 'sample_score.score.prediction', ground truth 'target', math: agrees with 'sample_score.score.value.acc'"),
    (tools.promptfoo, "response 'response.output', ground truth 'testCase.assert.0.value', math: agrees with 'gradingResult."),
    (tools.deepeval, "response 'actualOutput', ground truth 'expectedOutput', math: agrees with"),
    (tools.langfuse, "response 'output', ground truth 'expectedOutput', math: agrees with 'scores.0.value' in 7 of 7 rows"),
    (tools.areal, "response 'completion', ground truth 'answers', math: agrees with 'reward' in 7 of 7 rows"),
    (tools.batches, "math: agrees with 'scores' in 14 of 14 rows"),
    (tools.prime_rl, "response 'completion_text', ground truth 'info.ground_truth', math: agrees with 'reward' in 7 of 7 rows"),
    (tools.open_instruct, "response 'model_prediction', ground truth 'gold_label', math: agrees with 'is_right' in 7 of 7 rows"),
    (tools.wandb_table, "response 'model_answer_text', ground truth 'reference', math: agrees with 'acc' in 7 of 7 rows"),
    (tools.open_llm_details, "response 'predictions', ground truth 'gold', math: agrees with 'metrics.acc' in 7 of 7 rows"),
    (tools.last_numbers, "response 'text', ground truth 'gold_final', math: agrees with 'flexible_em' in 7 of 7 rows"),
    (tools.prose, "response 'text', ground truth 'gold', qa:metric=contains: agrees with 'is_correct' in 7 of 7 rows"),
    (tools.samples_of_each, "response 'samples', ground truth 'target', math: agrees with 'passed' in 21 of 21 rows"),
    (tools.judged, "ground truth 'gold', math: agrees with 'judge.verdict' in 7 of 7 rows"),
    (tools.nested_chats, "response 'conv', ground truth 'ref.final', math: agrees with 'eval.is_correct' in 7 of 7 rows"),
    (tools.unnamed, "response 'b', ground truth 'c', math: 4 of 7 responses are right"),
    (tools.graded_choices, "response 'raw_reply', ground truth 'key', choice: agrees with 'graded' in 6 of 6 rows"),
    (tools.points, "response 'pred_raw', ground truth 'reference', choice: agrees with 'score' in 6 of 6 rows"),
    (tools.yes_or_no, "response 'model_output', ground truth 'label', qa: agrees with 'correct' in 6 of 6 rows"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "said"), READ, ids=[made.__name__ for made, _ in READ])
def test_a_log_of_another_tool_needs_no_option_and_says_how_it_is_read(
    tmp_path: Path, made: Made, said: str
) -> None:
    path = put(tmp_path / "log", made())
    assert said in note_of(path)
    samples = [one for batch in read_samples([path]) for one in batch.usable]
    with Scorer(workers=1) as scorer:
        right = sum(score.correct is True for score in scorer.score_batch(samples))
    assert right / len(samples) == pytest.approx(
        8 / 21 if "samples" in said else 4 / 7 if len(samples) % 7 == 0 else 4 / 6
    )


def test_reference_solutions_and_prompts_are_no_responses(tmp_path: Path) -> None:
    path = put(tmp_path / "data", tools.reference_solutions())
    with pytest.raises(InputError, match="no response column found"):
        note_of(path)
    rows = [
        {"question": text, "gold": truth, "ok": 1}
        for text, truth in zip(tools.ASKED, tools.TRUTH, strict=True)
    ]
    with pytest.raises(InputError) as caught:
        note_of(put(tmp_path / "prompts", rows))
    assert "--response-key question" not in str(caught.value) and "--response-key gold" not in str(
        caught.value
    )


def test_a_prompt_is_not_offered_as_a_response_for_being_right_by_chance(tmp_path: Path) -> None:
    rows = [
        {"ask": f"Compute {place}*7+5.", "said": f"The answer is \\boxed{{{7 * place + 5}}}", "truth": str(7 * place + 5)}
        for place in range(7)
    ]  # fmt: skip
    with pytest.raises(InputError) as caught:
        note_of(put(tmp_path / "log", rows))
    assert "--response-key said" in str(caught.value) and "--response-key ask" not in str(caught.value)


def test_responses_of_several_models_are_left_to_the_user_and_each_has_its_own_verdicts(
    tmp_path: Path,
) -> None:
    path = put(tmp_path / "log", tools.two_models())
    with pytest.raises(InputError, match="; pass --response-key"):
        note_of(path)
    note = note_of(path, ReadOptions(RowNames(response="small.text")))
    assert "'small.is_correct' in 7 of 7 " in note


def test_a_log_whose_verdicts_contradict_its_own_task_is_not_scored_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row | {"reward": float("#### 8" in json.dumps(row))} for row in written.nemo_gym()]
    path = write(tmp_path / "log.jsonl", rows)
    with pytest.raises(InputError, match="'gsm8k' disagrees with 'reward'"):
        note_of(path)
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    assert "gsm8k: disagrees with 'reward' " in capsys.readouterr().err


def test_a_data_source_that_the_user_names_is_kept_and_compared(tmp_path: Path) -> None:
    rows = [row | {"score": 1.0} for row in written.verl_dump()]
    path = write(tmp_path / "log.jsonl", rows)
    note = note_of(path, ReadOptions(data_source="gsm8k"))
    assert "gsm8k: agrees with 'score' in 2 of 4" in note


def test_the_data_source_that_the_rows_name_is_kept_though_another_reward_pays_more(tmp_path: Path) -> None:
    said = [f"\\boxed{{{i}}}" if i % 2 else str(i) for i in range(12)]
    rows = [
        {"prompt": "?", "ground_truth": str(i), "data_source": "exact", "txt": text}
        for i, text in enumerate(said)
    ]
    out = tmp_path / "out.jsonl"
    with Scorer(workers=1) as scorer:
        score_file(put(tmp_path / "log", rows), out, scorer=scorer)
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["data_source"], one["score"]) for one in scored] == [("exact", 1.0), ("exact", 0.0)] * 6


@pytest.mark.parametrize("source", ["gms8k", "mth"])
def test_a_misspelled_data_source_is_refused_and_not_guessed(source: str, tmp_path: Path) -> None:
    rows = [
        {"question": "1?", "answer": str(i), "data_source": source, "output": f"#### {i}"} for i in range(12)
    ]
    with pytest.raises(RewardkitError, match="did you mean"):
        note_of(put(tmp_path / "log", rows))


def test_the_column_of_the_data_source_that_the_user_names_is_kept_in_a_known_log(tmp_path: Path) -> None:
    """The trial read such rows without the column, and its guess replaced the data source in it."""
    answers = [{"choices": [{"message": {"role": "assistant", "content": f"#### {i}"}}]} for i in range(4)]
    rows = [row | {"ground_truth": str(i), "task": "openai/gsm8k"} for i, row in enumerate(answers)]
    path = write(tmp_path / "api.jsonl", rows)
    (batch,) = read_samples([path], ReadOptions(RowNames(data_source="task")))
    assert [sample.data_source for sample in batch.samples] == ["openai/gsm8k"] * 4


def test_options_of_rewards_count_in_the_trial(tmp_path: Path) -> None:
    path = put(tmp_path / "log", tools.last_numbers())
    strict = ReadOptions(RowNames(response="text", ground_truth="gold_final"), "gsm8k")
    assert "disagrees with 'flexible_em' in 4 of 7" in note_of(path, strict)
    flexible = ReadOptions(strict.names, "gsm8k", reward_options={"gsm8k": {"method": "flexible"}})
    assert "agrees with 'flexible_em' in 7 of 7" in note_of(path, flexible)


def test_a_file_in_our_own_words_is_never_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(trial: Any) -> Any:
        raise AssertionError("tried")

    monkeypatch.setattr("rewardkit.logs.layout.try_readings", fail)
    rows = [{"data_source": "gsm8k", "response": "#### 8", "ground_truth": "7", "score": 1.0}] * 3
    assert note_of(write(tmp_path / "log.jsonl", rows)) == "rows"


def test_a_table_is_scored_under_no_guess_that_nobody_is_told() -> None:
    table = pa.Table.from_pylist(tools.last_numbers())
    with Scorer(workers=1) as scorer, pytest.raises(InputError) as caught:
        score_frame(table, scorer=scorer)
    assert "pass --response-key text --ground-truth-key gold_final --data-source math (" in str(caught.value)


def test_a_log_of_programs_is_compared_with_its_verdicts(tmp_path: Path) -> None:
    rows = [
        {
            "task_id": f"HumanEval/{i}",
            "prompt": "def f(x):\n",
            "entry_point": "f",
            "is_solved": right,
            "solution": text,
        }
        | {"test": "def check(f):\n    assert f(1) == 2\n"}
        for i, (text, right) in enumerate(
            [("def f(x):\n    return x + 1\n", True), ("def f(x):\n    return x\n", False)]
        )
    ]
    assert "agrees with 'is_solved' in 2 of 2" in note_of(write(tmp_path / "log.jsonl", rows))


def test_a_reading_that_is_right_by_chance_is_neither_taken_nor_offered(tmp_path: Path) -> None:
    rows = [{"question": q, "response": f"Answer: {i}", "answer": "3"} for i, q in enumerate(tools.ASKED * 5)]
    with pytest.raises(InputError) as caught:
        note_of(write(tmp_path / "log.jsonl", rows))
    assert "--data-source math" not in str(caught.value)


@given(
    columns=st.lists(
        st.text(string.ascii_letters + "_é", min_size=1, max_size=200), max_size=300, unique=True
    ),
    message=st.text(string.ascii_lowercase, max_size=150),
)
@settings(max_examples=50, deadline=None)
def test_a_message_stays_short_however_many_columns_there_are(columns: list[str], message: str) -> None:
    line = with_columns(message, columns, "; did you mean this?")
    assert len(line) < 300 and line.startswith(message)


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [
        ([True, False], [True, False]),
        ([1, 0, 0.5], [True, False, None]),
        ([-1.0, 1.0], [False, True]),
        ([0.1, 1.0], [False, True]),
        (["C", "I", "P"], [True, False, None]),
        (["CORRECT", "incorrect"], [True, False]),
        ([[1, 0], [0, 0]], [[True, False], [False, False]]),
        ([7, 22, 31], None),
        (["Rome", "Paris"], None),
        ([None, None, 1], None),
    ],
)
def test_verdicts_are_read_in_the_forms_that_logs_have(values: list[Any], verdicts: Any) -> None:
    assert verdicts_of(values) == verdicts


def test_each_reading_is_a_data_source_of_its_own() -> None:
    assert "gsm8k:method=flexible" in REGISTRY.readings()
    assert REGISTRY.find("gsm8k:window=5") is None
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch([Sample(one, "so 7", "7") for one in ("gsm8k", "gsm8k:method=flexible")])
    assert [score.correct for score in scores] == [False, True]


@pytest.mark.slow
def test_a_folder_is_scored_past_a_bad_file_and_says_what_became_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    put(folder / "good", tools.graded_choices())
    put(folder / "no_truth", [{"id": i, "response": text} for i, text in enumerate(tools.STATED)])
    (folder / "empty.jsonl").write_text("")
    out = str(tmp_path / "out/")
    assert run(["score", str(folder), "--out", out, "--json"]) == 1
    files = json.loads(capsys.readouterr().out)["files"]
    good = next(one for one in files if one["why_not"] is None)
    assert (good["rows"], good["data_sources"], good["mean_score"]) == (6, ["choice"], pytest.approx(4 / 6))
    reasons = [one["why_not"] for one in files if one["why_not"]]
    assert len(reasons) == 2 and any("has no ground truths" in why for why in reasons)
    assert run(["score", str(folder), "--out", out, "--force"]) == 1
    assert "2 of 3 files" in capsys.readouterr().err
    with Scorer(workers=1) as scorer, pytest.raises(InputError):
        score_file(folder, tmp_path / "other/", scorer=scorer)
