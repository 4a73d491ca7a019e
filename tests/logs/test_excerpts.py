"""Logs that other tools wrote, where they lie beside the project, are read as their manifest says, at the first
try where they can be. Rows of the same shapes that the project carries are in `test_trial` and `test_naming`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from rewardkit import Sample, Score, Scorer
from rewardkit.errors import RewardkitError
from rewardkit.offline import ReadOptions, read_join, read_samples
from rewardkit.rows import RowNames
from tests.conftest import REFERENCE_DATA

FOLDER = REFERENCE_DATA / "logs"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the excerpts are not here: ../shared/data/logs")

SENTENCE = "the manifest compares the first letter of a sentence; the response names the option"
OPERATORS = "BFCL compares texts without operators: x^2 is x**2"
DIFFERING = {
    "nemo_gym_abstention.jsonl": {4: (-0.5, "they pay half for no answer")},
    "mmlu_pro_phi3.json": {4: (1, "their regular expression misses the answer, and one is drawn at random")},
    "nemo_skills_output-rs0.jsonl": {0: (1, "their last box is that of another problem that was made up")},
    "pot_aqua_gpt4.jsonl": dict.fromkeys((3, 6, 7, 12, 17, 18, 19), (1, SENTENCE)),
    "bfcl_v4_simple_python_result.json": dict.fromkeys((12, 13), (1, OPERATORS)),
}
"""Responses whose verdict is another than the log's, by how much, and why. All others agree."""

WITH_OPTIONS = {
    "inspect_format.json": ReadOptions(data_source="exact"),
    "inspect_images.json": ReadOptions(data_source="contains"),
    "theoremqa_internlm2.jsonl": ReadOptions(RowNames(ground_truth="correct.0"), "math"),
    "simple_evals_ru_simpleqa.jsonl": ReadOptions(data_source="qa"),
    "simple_evals_ru_mbpp.jsonl": ReadOptions(data_source="code"),
}
"""Logs that show no reading by themselves: no response is right, or one in six, or a reward runs programs."""

REFUSED = {
    "nemo_gym_bunsenbench_mcq.jsonl": "'choice' disagrees with 'reward' in 5 of 5 rows",  # in <choice> tags
    "gsm8k_example_model_solutions.jsonl": "several columns hold responses; pass --response-key",
    "nemo_gym_xlam_fc.jsonl": "has no ground truths; join another file with --join FILE",
    "nemo_gym_evalplus.jsonl": "has no ground truths; join another file with --join FILE --on _ng_task_index",
    "nemo_gym_reasoning_gym.jsonl": "has no ground truths; join another file with --join FILE",
    "verifiers_arc_agi_3.jsonl": "has no ground truths; join another file with --join FILE --on id",
    "prime_hosted_security.jsonl": "no reward is registered for data source 'intertwine/sv-env-network-logs'",
    "inspect_input_task.eval": "has no ground truths; join another file with --join FILE --on id",
    "inspect_security_guide.json": "no reward is registered for data source 'security_guide'",
    "simple_evals_mmlu.html": "unknown file format",
    "simple_evals_mgsm.json": "no column contains text",
    "gorilla_torchhub.jsonl": "pass --response-key text;",
    "pot_gsm8k.jsonl": "no reward of text scores a fifth of these rows as right",
    "nemo_skills_eval_math.jsonl": "has no column 'response'; pass the column's name with --response-key",
    "tot_game24.json": "pass --response-key ys;",
    "math_verify_output.csv": "pass --response-key original_answer;",
    "groq_batch_output.jsonl": "has no ground truths; join another file with --join FILE --on custom_id",
    "groq_batch_input.jsonl": "the file contains batch requests, not responses; pass the batch output file",
}
"""Logs that cannot be scored as they are, and what the one line says."""

INVALID = {"zeroeval_gsm.json": "the ground truth '# 18' is not a number"}
"""Logs whose ground truths their reward does not take."""


def _entries() -> Iterator[dict[str, Any]]:
    lines = (FOLDER / "manifest.jsonl").read_text().splitlines()
    return (entry for entry in map(json.loads, lines) if "the join of" not in entry["reading"]["verdict"])


def _options(entry: dict[str, Any]) -> ReadOptions:
    options = WITH_OPTIONS.get(entry["file"], ReadOptions())
    if join := entry["reading"].get("join"):
        options = replace(options, join=read_join([FOLDER / join["file"]], join["on"]))
    return options


def _scores(entry: dict[str, Any], scorer: Scorer) -> tuple[list[Sample], list[Score]]:
    batches = list(read_samples([FOLDER / entry["file"]], _options(entry)))
    samples = [sample for batch in batches for sample in batch.samples]
    return samples, scorer.score_batch([sample for batch in batches for sample in batch.usable])


@pytest.mark.slow
def test_excerpts_are_read_as_their_manifest_says() -> None:
    wrong = []
    with Scorer(workers=1) as scorer:
        for entry in _entries():
            name, reading = entry["file"], entry["reading"]
            if name in REFUSED or name in INVALID:
                continue
            samples, scores = _scores(entry, scorer)
            ours = [float(score.correct is True) for score in scores if score.ok]
            others = DIFFERING.get(name, {})
            theirs = [value - others.get(row, (0.0, ""))[0] for row, value in enumerate(ours)]
            if len(samples) != reading["expected_rows"]:
                wrong.append(f"{name}: {len(samples)} rows")
            elif (wanted := reading["expected_mean"]) is not None and fmean(theirs) != pytest.approx(wanted):
                wrong.append(f"{name}: mean {fmean(theirs)}, not {wanted}")
            elif any(value not in (0.0, 0.5, 1.0) for value in theirs):
                wrong.append(f"{name}: a row that should differ does not")
    assert wrong == []


@pytest.mark.parametrize("name", list(INVALID))
def test_excerpts_with_ground_truths_that_no_reward_takes_say_so(name: str) -> None:
    (entry,) = (one for one in _entries() if one["file"] == name)
    with Scorer(workers=1) as scorer:
        samples, scores = _scores(entry, scorer)
    assert len(samples) == entry["reading"]["expected_rows"]
    assert {score.status for score in scores} == {"invalid"} and scores[0].detail == INVALID[name]


@pytest.mark.parametrize("name", list(REFUSED))
def test_excerpts_that_cannot_be_scored_are_refused_in_one_short_line(name: str) -> None:
    (entry,) = (one for one in _entries() if one["file"] == name)
    with pytest.raises(RewardkitError) as caught, Scorer(workers=1) as scorer:
        samples, _ = _scores(entry, scorer)
        scorer.check({sample.data_source for sample in samples})
    line = str(caught.value)
    assert REFUSED[name] in line and "\n" not in line and len(line) <= 300


def test_at_least_half_of_the_excerpts_with_ground_truths_need_no_option() -> None:
    entries = [e for e in _entries() if e["reading"]["verdict"].startswith(("scored", "needs the join"))]
    first_try = [e for e in entries if e["file"] not in {*REFUSED, *INVALID, *WITH_OPTIONS}]
    assert len(first_try) > 0.75 * len(entries)
