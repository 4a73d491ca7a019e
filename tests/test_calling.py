"""A reward's function gets what its parameters name, and one that names something else is refused at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.calling import bound
from rewardkit.errors import InputError
from rewardkit.registry import Reward, load_reward_file, reward
from rewardkit.rows import to_sample

SAMPLE = Sample("set", "said", "truth", "asked", {"key": 1})


@dataclass(frozen=True)
class Options:
    factor: float = 2.0


class Scoring:
    def method(self, response: str, ground_truth: str) -> Any:
        return response, ground_truth

    def __call__(self, sample: Sample) -> Any:
        return sample.response


def verl_per_set(solution_str: str, ground_truth: str, method: str = "strict", score: float = 1.0) -> Any:
    return solution_str, ground_truth, method, score


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda sample: sample.response, "said"),
        (lambda sample, options: (sample.response, options), ("said", Options())),
        (lambda s, options=None: options, Options()),
        (lambda s, threshold=0.5: threshold, 0.5),
        (lambda data_source, solution_str, ground_truth, extra_info=None: extra_info, {"key": 1}),
        (verl_per_set, ("said", "truth", "strict", 1.0)),
        (lambda ground_truth, response: (ground_truth, response), ("truth", "said")),
        (lambda response, **others: (response, sorted(others)), ("said", sorted({"data_source", "solution_str", "ground_truth", "extra_info"}))),
        (lambda prompt, response, options: (prompt, options), ("asked", Options())),
        (lambda extra_info, sample: (extra_info["key"], sample.response), (1, "said")),
        (Scoring().method, ("said", "truth")),
        (Scoring(), "said"),
    ],
)  # fmt: skip
def test_parameters_get_what_they_name(function: Callable[..., Any], expected: Any) -> None:
    assert bound(function, batch=False)(SAMPLE, Options()) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda batch, options: [options, len(batch)], [Options(), 2]),
        (lambda data_sources, solution_strs, ground_truths, extra_infos: solution_strs, ["said", "said"]),
        (lambda ground_truths, responses, **others: others["extra_infos"], [{"key": 1}, {"key": 1}]),
    ],
)
def test_a_batch_function_gets_lists_by_the_plural(function: Callable[..., Any], expected: Any) -> None:
    assert bound(function, batch=True)([SAMPLE, SAMPLE], Options()) == expected


def _three(a: str, b: str, c: str) -> float:
    return 1.0


def _stranger(solution_str: str, ground_truth: str, tokenizer: Any) -> float:
    return 1.0


def _keyword(sample: Sample, *, tokenizer: Any) -> float:
    return 1.0


def _anything(*args: Any) -> float:
    return 1.0


def _by_place(response: str, /) -> float:
    return 1.0


REFUSED = [(_three, "'b', 'c'"), (_keyword, "'tokenizer'"), (_anything, "has no parameters"), (_by_place, "'response'")]  # fmt: skip


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_a_parameter_that_nobody_gives_is_refused(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        bound(function, batch=False)
    assert said in str(refused.value) and "ground_truth" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_it_is_refused_when_it_is_registered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'tokenizer'"):
        reward("test/refused")(_stranger)
    file = tmp_path / "refused.py"
    file.write_text("def compute_score(solution_str, label): return 1.0\n")
    with pytest.raises(InputError, match="'label'"):
        load_reward_file(f"{file}:compute_score")


def test_verls_function_of_one_data_set_scores_right_answers(tmp_path: Path) -> None:
    file = tmp_path / "gsm8k.py"
    file.write_text("def compute_score(solution_str, ground_truth): return solution_str == ground_truth\n")
    (made,) = load_reward_file(f"test/verl={file}:compute_score")
    assert isinstance(made, Reward)
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch([to_sample("test/verl", said, "7", None, {}) for said in ("7", "8")])
    assert [(one.score, one.status) for one in scores] == [(1.0, "ok"), (0.0, "ok")]
