"""reasoning_gym: its own answers are paid, nonsense and code are not, unsound verifiers are refused or mended."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest

from rewardkit.rewards.reasoning_gym import ReasoningGymOptions, score
from rewardkit.types import Sample, Score

pytestmark = pytest.mark.skipif(
    find_spec("reasoning_gym") is None, reason="the extra 'reasoning-gym' is not installed"
)

TASKS = (
    "basic_arithmetic",
    "game_of_life_halting",
    "arc_agi",
    "leg_counting",
    "spiral_matrix",
    "countdown",
)


def entry(task: str, index: int = 0) -> dict[str, Any]:
    import reasoning_gym

    made: dict[str, Any] = json.loads(json.dumps(reasoning_gym.create_dataset(task, size=3, seed=7)[index]))
    return made


def scored(response: str, row: dict[str, Any], **options: Any) -> Score:
    return score(Sample("reasoning_gym", response, json.dumps(row)), ReasoningGymOptions(**options))


@pytest.mark.parametrize("task", TASKS)
def test_a_tasks_own_answer_is_paid_and_nothing_else(task: str) -> None:
    row = entry(task)
    right = scored(f"<think>x</think><answer>{row['answer']}</answer>", row)
    assert (right.status, right.score) == ("ok", 1.0), right
    for wrong in (
        "",
        "zzz",
        "<answer>zzz</answer>",
        "<answer></answer>",
        f"<think>{row['answer']}",
        "<answer>not it</answer>",
    ):
        found = scored(wrong, row)
        assert (found.status, found.score) == ("ok", 0.0), (wrong, found)


def test_less_than_solved_is_unsolved_unless_asked_for() -> None:
    row = entry("leg_counting") | {"answer": "7"}
    assert scored("<answer>127</answer>", row).score == 0.0
    assert 0.0 < scored("<answer>127</answer>", row, pay="partial").score < 1.0


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('touch {}')",
        "open('{}', 'w')",
        "[].append(1)",
        "9**9**9",
    ],
)
def test_no_answer_is_evaluated(code: str, tmp_path: Any) -> None:
    row = entry("spiral_matrix")
    found = scored(f"<answer>{code.format(tmp_path / 'pwned')}</answer>", row)
    assert (found.status, found.score) == ("ok", 0.0)
    assert not (tmp_path / "pwned").exists()


def test_what_has_no_sound_verifier_is_refused_by_name() -> None:
    for task in ("composite", "no_such_task"):
        row = {"answer": "1", "question": "", "metadata": {"source_dataset": task}}
        found = scored("<answer>1</answer>", row)
        assert found.status == "invalid" and task in (found.detail or "")
    assert scored("x", {"answer": "1"}).status == "invalid"


@pytest.mark.parametrize("task", ["n_queens", "list_functions", "codeio", "advanced_geometry"])
def test_an_answers_own_brackets_and_marks_belong_to_it(task: str) -> None:
    row = entry(task)
    for response in (f"<answer>{row['answer']}</answer>", f"So:\n<answer>\n{row['answer']}\n</answer>"):
        found = scored(response, row)
        assert (found.status, found.score) == ("ok", 1.0), found


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("gsm_symbolic", "not {}"), ("gsm_symbolic", "{} or 5"), ("gsm_symbolic", "-{}"), ("gsm_symbolic", "{} 5 6 7"), ("kakurasu", "{} or 5"), ("sokoban", "not {}"),
        ("knights_knaves", "not {}"), ("quantum_lock", "{} or A"), ("complex_arithmetic", "nan"), ("coin_flip", "0"), ("coin_flip", "0."), ("coin_flip", "1e-999999999"),
    ],
)  # fmt: skip
def test_what_a_verifier_would_take_for_its_answer_is_wrong(task: str, said: str) -> None:
    row = entry(task)
    if task == "coin_flip":
        row |= {"answer": "0.003173828125"}
    found = scored(f"<answer>{said.format(row['answer'])}</answer>", row)
    assert (found.status, found.score) == ("ok", 0.0), found
