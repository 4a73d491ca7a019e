"""Logs that other tools wrote, where they lie beside the project, are read as their manifest says. Rows of the
same shapes that the project carries are in `test_naming`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from rewardkit import Scorer
from rewardkit.errors import RewardkitError
from rewardkit.logs.tasks import is_data_source
from rewardkit.offline import ReadOptions, read_join, read_samples
from rewardkit.rows import RowNames
from tests.conftest import REFERENCE_DATA

FOLDER = REFERENCE_DATA / "logs"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the excerpts are not here: ../shared/data/logs")

KEYS = {
    "gsm8k_example_model_solutions.jsonl": RowNames(response="175b_verification.solution"),
    "theoremqa_internlm2.jsonl": RowNames(ground_truth="correct.0"),
}
"""Columns that nobody can guess: the refusal, or the advice, names the option."""

OTHERWISE = {
    "mmlu_pro_phi3.json": (0.5, "their regular expression misses an answer, and then one is drawn at random"),
    "pot_aqua_gpt4.jsonl": (0.9, "the manifest compares the first letter of a sentence"),
    "nemo_skills_output-rs0.jsonl": (0.917, "their last box is that of another problem that was made up"),
    "bfcl_v4_simple_python_result.json": (1.0, "BFCL compares texts without operators: x^2 is x**2"),
    "inspect_streaming.eval": (0.25, "their match takes 'No.' for 'No'"),
    "nemo_gym_abstention.jsonl": (0.8, "they pay half for no answer"),
    "nemo_gym_simpleqa.jsonl": (0.0, "a judge reads sentences"),
    "nemo_gym_bunsenbench_mcq.jsonl": (0.0, "<choice> is no frame of an answer"),
    "simple_evals_ru_mgsm.jsonl": (0.0, "'Answer: 60' is no answer behind ####"),
    "gsm8k_example_model_solutions.jsonl": (0.0, "'A: 18' is no answer behind ####"),
    "bbh_geometric_shapes_cot.json": (0.4, "ten options are read, the truth (K) is the eleventh"),
}
"""Means that differ from the log's own, and why."""


def _entries() -> Iterator[dict[str, Any]]:
    lines = (FOLDER / "manifest.jsonl").read_text().splitlines()
    return (entry for entry in map(json.loads, lines) if "the join of" not in entry["reading"]["verdict"])


def _options(entry: dict[str, Any]) -> ReadOptions:
    reading = entry["reading"]
    options = ReadOptions(KEYS.get(entry["file"], RowNames()), reading.get("data_source"))
    if join := reading.get("join"):
        options = replace(options, join=read_join([FOLDER / join["file"]], join["on"]))
    return options


def _is_read(entry: dict[str, Any]) -> bool:
    source = entry["reading"].get("data_source")
    verdict = entry["reading"]["verdict"]
    return (
        source is not None
        and is_data_source(source)
        and not verdict.startswith(("no ground truth", "refused"))
    )


@pytest.mark.slow
def test_excerpts_are_read_as_their_manifest_says() -> None:
    wrong = []
    with Scorer(workers=1) as scorer:
        for entry in filter(_is_read, _entries()):
            batches = list(read_samples([FOLDER / entry["file"]], _options(entry)))
            samples = [sample for batch in batches for sample in batch.samples]
            usable = [sample for batch in batches for sample in batch.usable]
            scores = [score for score in scorer.score_batch(usable) if score.status == "ok"]
            mean = fmean(score.correct is True for score in scores) if scores else None
            wanted = OTHERWISE.get(entry["file"], (entry["reading"].get("expected_mean"),))[0]
            if len(samples) != entry["reading"]["expected_rows"]:
                wrong.append(f"{entry['file']}: {len(samples)} rows")
            elif wanted is not None and (mean is None or abs(mean - wanted) > 0.001):
                wrong.append(f"{entry['file']}: mean {mean}, not {wanted}")
    assert wrong == []


def test_excerpts_that_hold_no_responses_or_no_ground_truths_are_refused_in_one_line() -> None:
    for entry in _entries():
        verdict = entry["reading"]["verdict"]
        if verdict.startswith(("no ground truth", "refused:", "refused in", "requests")):
            with pytest.raises(RewardkitError, match=re.escape(entry["file"])) as caught:
                for batch in read_samples([FOLDER / entry["file"]], ReadOptions(data_source="math")):
                    assert batch.usable, entry["file"]
            assert str(caught.value).count("\n") == 0, entry["file"]
