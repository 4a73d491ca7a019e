"""`rewardkit audit --responses`: wrong ground truths come first, with their evidence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from rewardkit.labels.labelled import add_responses, read_labelled
from rewardkit.labels.suspicions import find_suspicions
from rewardkit.offline import ReadOptions
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

Row = dict[str, Any]
Labels = Callable[..., list[Row]]


def write(path: Path, rows: list[Row]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def row(number: int, truth: str = "8", source: str = "openai/gsm8k") -> Row:
    return {"data_source": source, "prompt": f"How many legs do {number} cats have?", "ground_truth": truth}


def answered(asked: Row, *answers: str) -> list[Row]:
    return [{**asked, "response": f"It is so.\n#### {answer}"} for answer in answers]


@pytest.fixture
def labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Labels:
    """Ask for suspicious rows; the responses of each list are a file of their own."""

    def ask(rows: list[Row], *responses: list[Row], words: tuple[str, ...] = ()) -> list[Row]:
        given = [write(tmp_path / f"gen{i}.jsonl", some) for i, some in enumerate(responses)]
        flags = [word for path in given for word in ("--responses", path)]
        file = write(tmp_path / "rows.jsonl", rows)
        assert run(["audit", file, *flags, *words, "--json"]) == 0
        found: list[Row] = json.loads(capsys.readouterr().out)["suspicious"]
        return found

    return ask


def test_responses_that_agree_on_another_answer_make_a_row_suspicious(labels: Labels) -> None:
    rows = [row(2, "8"), row(3, "13")]
    given = [*answered(rows[0], "8", "8", "9", "8"), *answered(rows[1], "12", "12.0", "7", "12")]
    (found,) = labels(rows, given)
    assert (found["row"], found["ground_truth"], found["answer"]) == (1, "13", "12")
    assert found["votes"]["rewardkit"] == {"ground_truth": 0, "other": 3}
    assert found["votes"]["verl"] == {"ground_truth": 0, "other": 2}  # it compares texts
    assert len(found["why"]) == 1 and found["why"][0].startswith("3 of 4 responses ")


def test_responses_of_another_form_count_as_well(labels: Labels) -> None:
    texts = (r"It is \boxed{12}.", "So the answer is 12.", "#### 12", "**Answer:** 12")
    given = [{**row(3, "13"), "response": text} for text in texts]
    (found,) = labels([row(3, "13")], given)
    assert found["votes"]["rewardkit"] == {"ground_truth": 0, "other": 4}


def test_wrong_responses_that_do_not_agree_say_nothing(labels: Labels) -> None:
    assert labels([row(2)], answered(row(2), "9", "8", "11", "3")) == []


def test_the_more_responses_agree_the_higher_a_row_stands(labels: Labels) -> None:
    rows = [row(2, "9"), row(3, "13"), row(4, "17")]
    given = [
        *answered(rows[0], "8", "8", "1", "9"),
        *answered(rows[1], "12", "12", "12", "12"),
        *answered(rows[2], "16", "16", "16", "3"),
    ]
    assert [found["row"] for found in labels(rows, given)] == [1, 2]


def test_responses_are_known_by_their_prompt_with_a_template_around_it(labels: Labels) -> None:
    asked = "Ann has 12 hens, and each of them lays 3 eggs a week. How many eggs does Ann get in 2 weeks?"
    rows = [{**row(2, "71"), "prompt": [{"role": "user", "content": asked}]}]
    logged = {
        "data_source": "gsm8k",
        "prompt": f"<|im_start|>user\n{asked} Think.<|im_end|>\n",
        "ground_truth": "71",
    }
    assert [found["answer"] for found in labels(rows, answered(logged, "72", "72"))] == ["72"]


def test_responses_are_joined_by_a_key_where_they_have_no_prompts(labels: Labels) -> None:
    rows = [{**row(2, "9"), "id": "a"}, {**row(3, "12"), "id": "b"}]
    given = [
        {"id": "a", "response": "#### 8"},
        {"id": "a", "response": "#### 8"},
        {"id": "b", "response": "#### 12"},
    ]
    assert [found["row"] for found in labels(rows, given, words=("--on", "id"))] == [0]


def test_responses_need_neither_data_source_nor_ground_truth(labels: Labels) -> None:
    rows = [row(2, "9")]
    given = [{"prompt": rows[0]["prompt"], "response": "#### 8"}] * 2
    assert [found["answer"] for found in labels(rows, given)] == ["8"]


def test_responses_to_other_prompts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "rows.jsonl", [row(2)])
    given = write(tmp_path / "gen.jsonl", answered(row(99), "8"))
    assert run(["audit", rows, "--responses", given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the prompt of any row" in line and "--on" in line


def solved(question: str, solution: str, truth: str, source: str = "math") -> Row:
    extra = {"question": question, "answer": solution}
    return {"data_source": source, "prompt": question, "ground_truth": truth, "extra_info": extra}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "solution", "truth", "answer"),
    [
        ("Find all solutions.", r"They are $\boxed{-2}$ and $\boxed{1}$.", "1", "-2, 1"),
        ("What is 1+1?", r"It is $\boxed{2}$.", "3", "2"),
        ("Find either of the foci.", r"$\boxed{(1,0)}$ and $\boxed{(0,0)}$", "(0,0)", None),
        ("What is it?", r"$\boxed{\frac{3}{2}}$, that is $\boxed{1.5}$", "1.5", None),
        (r"Let $\boxed{N}$ count divisors. Find $\boxed{6}$.", r"As $\boxed{3}=2$, it is $\boxed{4}$.", "4", None),
    ],
)  # fmt: skip
def test_a_solution_that_says_more_or_something_else_is_listed(
    question: str, solution: str, truth: str, answer: str | None, labels: Labels
) -> None:
    rows = [solved(question, solution, truth)]
    found = labels(rows, [{**rows[0], "response": "I do not know."}])
    assert [one["answer"] for one in found] == ([] if answer is None else [answer])


def test_a_solution_of_another_number_is_listed(labels: Labels) -> None:
    rows = [solved("How many?", "4 * 2 = 8\n#### 8", "9", "gsm8k")]
    (found,) = labels(rows, [{**rows[0], "response": "I do not know."}])
    assert (found["answer"], found["why"]) == ("8", ["the row's own solution has a different answer"])


def test_the_table_shows_the_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "rows.jsonl", [row(3, "13"), *(row(i, str(4 * i)) for i in range(4, 9))])
    given = write(tmp_path / "gen.jsonl", answered(row(3, "13"), "12", "12"))
    assert run(["audit", rows, "--responses", given]) == 0
    shown = capsys.readouterr().out
    assert shown.count("2:0") == 2 and "verl" in shown


@pytest.mark.slow
def test_most_of_the_first_rows_are_wrong_ones(tmp_path: Path) -> None:
    rng = random.Random(7)
    wrong = set(rng.sample(range(200), 30))
    rows = [row(i, str(4 * i + (i in wrong))) for i in range(200)]
    given = [
        one
        for i, asked in enumerate(rows)
        for one in answered(
            asked, *(str(4 * i if rng.random() < 0.6 else rng.randint(0, 9)) for _ in range(8))
        )
    ]
    labelled = read_labelled(write(tmp_path / "rows.jsonl", rows), RowNames(), None)
    assert add_responses(labelled, [write(tmp_path / "gen.jsonl", given)], ReadOptions()) == (1600, 0)
    with Scorer() as scorer:
        found = find_suspicions(labelled, scorer, most=30)[:30]
    assert sum(one.row.item.row in wrong for one in found) >= 0.8 * 30
