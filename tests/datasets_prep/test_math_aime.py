"""MATH and AIME: every published form becomes the same rows, whose own solutions score 1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.datasets_prep import aime, math
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.verification import verify_file
from rewardkit.datasets_prep.problem_answer import RECIPES
from rewardkit.errors import InputError
from rewardkit.scoring.scorer import Scorer
from tests.conftest import needs

PROBLEM = {
    "problem": "Simplify $\\frac{6}{8}$.",
    "level": "Level 1",
    "type": "Algebra",
    "solution": "Cancel 2: $\\frac{6}{8} = \\boxed{\\frac{3}{4}}$.",
}


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def _verified(path: Path) -> bool:
    with Scorer() as scorer:
        return not verify_file(path, scorer).failures


def test_the_original_folders_of_one_file_a_problem_are_read(tmp_path: Path) -> None:
    for split, number in (("train", 7), ("test", 8)):
        folder = tmp_path / "MATH" / split / "algebra"
        folder.mkdir(parents=True)
        (folder / f"{number}.json").write_text(json.dumps(PROBLEM, indent=2))
    math.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "MATH"))
    (row,) = _rows(tmp_path / "out" / "test.parquet")
    assert row["ground_truth"] == "\\frac{3}{4}"
    assert row["data_source"] == "DigitalLearningGmbH/MATH-lighteval"
    assert json.loads(row["extra_info"]["metadata"]) == {"level": "Level 1", "type": "Algebra"}
    assert row["prompt"][0]["content"].startswith(PROBLEM["problem"])
    assert _verified(tmp_path / "out" / "train.parquet")


def test_math_500_has_its_own_data_source_and_stated_answers(tmp_path: Path) -> None:
    record = {**PROBLEM, "answer": "\\frac34", "subject": "Algebra", "unique_id": "test/algebra/8.json"}
    (tmp_path / "test.jsonl").write_text(json.dumps(record) + "\n")
    math.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "test.jsonl"))
    (row,) = _rows(tmp_path / "out" / "test.parquet")
    assert (row["data_source"], row["ground_truth"]) == ("HuggingFaceH4/MATH-500", "\\frac34")
    assert _verified(tmp_path / "out" / "test.parquet")


def test_a_solution_without_a_box_is_named(tmp_path: Path) -> None:
    good, bad = PROBLEM, {**PROBLEM, "solution": "It is 3/4."}
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (good, bad)))
    with pytest.raises(InputError, match=r"train.jsonl row 1: 'solution' .*\\boxed"):
        math.prepare(tmp_path / "out", PrepSettings(raw=tmp_path))
    made = math.prepare(tmp_path / "out", PrepSettings(raw=tmp_path, skip_bad=True))
    assert (made.files["train"].rows, made.dropped) == (1, 1)


@pytest.mark.parametrize(
    "record",
    [
        {"ID": "2024-II-4", "Problem": "Find m+n.", "Solution": "So $m+n = 33$.", "Answer": 33},
        {"id": 61, "problem": "Find m+n.", "answer": "033", "url": "https://example.org"},
        {"question": "Find m+n.", "answer": "33"},
    ],
)  # fmt: skip
def test_the_forms_of_aime_become_the_same_row(tmp_path: Path, record: dict[str, object]) -> None:
    pq.write_table(pa.Table.from_pylist([record]), tmp_path / "train.parquet")
    aime.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.parquet"), year=2025)
    (row,) = _rows(tmp_path / "out" / "test.parquet")
    assert (row["data_source"], row["ground_truth"], row["ability"]) == ("aime2025", "33", "math")
    assert row["extra_info"]["question"] == "Find m+n."
    assert _verified(tmp_path / "out" / "test.parquet")


@pytest.mark.parametrize("answer", ["1000", "-1", "x"])
def test_an_answer_that_aime_cannot_have_is_named(tmp_path: Path, answer: object) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps({"problem": "p", "answer": answer}) + "\n")
    with pytest.raises(InputError, match=r"train.jsonl row 0: 'answer' .* 0 to 999"):
        aime.prepare(tmp_path / "out", PrepSettings(raw=tmp_path))


def test_an_unknown_year_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of 2024, 2025"):
        aime.prepare(tmp_path / "out", year=1999)


@pytest.mark.slow
def test_every_solution_of_math_and_aime_scores_1(tmp_path: Path, reference_data: Path) -> None:
    math.prepare(tmp_path / "math", PrepSettings(raw=needs(reference_data / "math")))
    aime.prepare(tmp_path / "aime", PrepSettings(raw=needs(reference_data / "aime24")))
    assert _verified(tmp_path / "math" / "test.parquet")
    assert _verified(tmp_path / "aime" / "test.parquet")


def test_a_proof_of_numinamath_cot_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        {"source": "cn_k12", "problem": "2 + 3?", "solution": "It is $\\boxed{5}$.", "messages": []},
        {"source": "olympiads", "problem": "Prove it.", "solution": "Clear.", "messages": []},
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = RECIPES["numina"].prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.jsonl"))
    assert made.files["train"].rows == 1
    assert any("no answer found" in note for note in made.notes)
