"""IFBench's instructions: each keeps what it should, strict and loose, and the one that no rule decides is refused."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.rewards.instructions.table import ids
from tests.rewards.instructions.ifbench_cases import CASES, TEST, TRAINING
from tests.rewards.instructions.ifbench_drawn import DRAWN, PAIRS, draw
from tests.rewards.instructions.test_instructions import scored, verdicts

pytest.importorskip("emoji", reason="the extra 'instructions' is not installed")
pytest.importorskip("syllapy", reason="the extra 'instructions' is not installed")

START_VERB = "words:start_verb"


def test_every_instruction_keeps_and_breaks_what_it_should() -> None:
    assert not verdicts(CASES)


def test_all_of_ifbenchs_instructions_are_there_with_a_case_of_each_kind() -> None:
    assert (len(TEST), len(TRAINING)) == (57, 29)
    assert set(CASES) < set(ids()) and len(ids()) >= 25 + 57 + 29
    assert all(keeping and breaking for _, keeping, breaking in CASES.values())


def test_ten_responses_that_keep_and_ten_that_break_each_of_ifbenchs_instructions() -> None:
    assert set(DRAWN) == set(CASES)
    for kind in DRAWN:
        pairs = [draw(kind, i) for i in range(PAIRS)]
        assert len({(str(pair[0]), text) for pair in pairs for text in pair[1:]}) == 2 * PAIRS, kind
        for arguments, keeping, breaking in pairs:
            assert scored(keeping, (kind, arguments)).correct, (kind, keeping)
            assert scored(breaking, (kind, arguments)).correct is False, (kind, breaking)


def test_an_instruction_that_no_rule_decides_is_invalid_with_the_reason() -> None:
    found = scored("Go home.", (START_VERB, {}))
    assert found.status == "invalid" and "cannot be verified" in str(found.detail)


@pytest.mark.parametrize("kind", CASES)
def test_a_kept_instruction_is_kept_loosely_too_and_none_by_an_empty_response(kind: str) -> None:
    arguments, keeping, _ = CASES[kind]
    assert scored(keeping[0], (kind, arguments)).parts["loose"] == 1.0
    assert scored("\n ", (kind, arguments), mode="loose").score == 0.0


def test_loose_forgives_an_introduction_and_bold_letters() -> None:
    template = "Here it is:\nMy Answer: a My Conclusion: b Future Outlook: c"
    loosely: list[tuple[str, str, dict[str, Any]]] = [
        (template, "format:output_template", {}),
        ("Sure:\nyes", "format:options", {"options": "yes/no"}),
        ("**14**, 21, 28, 35, 42, 49\n(6 numbers)", "custom:multiples", {}),
    ]
    for response, kind, arguments in loosely:
        assert scored(response, (kind, arguments)).parts["strict"] == 0.0, kind
        assert scored(response, (kind, arguments), mode="loose").score == 1.0, kind


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [("count:numbers", {"N": "two"}), ("count:numbers", {"N": True}), ("copy:copy", {"prompt_to_repeat": 3})],
)
def test_an_argument_of_another_kind_is_invalid_and_no_error(kind: str, arguments: dict[str, Any]) -> None:
    assert scored("a 1 2", (kind, arguments)).status == "invalid"


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["(", "'\"", "* a\n- b\n", "a. ", "1,", "Question 1\n"])
def test_no_response_makes_a_checker_fail_or_hang(piece: str) -> None:
    kinds = [(kind, arguments) for kind, (arguments, _, _) in CASES.items()]
    found = scored(piece * (50_000 // len(piece)), *kinds, pay="share")
    assert found.status == "ok" and found.score < 1.0
