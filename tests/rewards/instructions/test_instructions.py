"""The instructions reward: every checker on its cases, strict and loose, and what a user adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.rewards.instructions import InstructionOptions, score
from rewardkit.rewards.instructions.table import find
from rewardkit.rewards.instructions.text import sentences, tokens
from rewardkit.types import Sample, Score
from tests.rewards.instructions import ifeval_cases

pytest.importorskip("langdetect", reason="the extra 'instructions' is not installed")


def scored(response: str, *instructions: tuple[str, dict[str, Any]], **options: Any) -> Score:
    truth = {"instruction_id_list": [i for i, _ in instructions], "kwargs": [k for _, k in instructions]}
    return score(Sample("ifeval", response, json.dumps(truth)), InstructionOptions(**options))


def verdicts(cases: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [
        (kind, response, wanted)
        for kind, (arguments, keeping, breaking) in cases.items()
        for wanted, responses in ((True, keeping), (False, breaking))
        for response in responses
        if scored(response, (kind, arguments)).correct is not wanted
    ]


def test_ten_responses_that_keep_and_ten_that_break_each_of_ifevals_instructions() -> None:
    assert len(ifeval_cases.CASES) == 25
    for kind, (_, keeping, breaking) in ifeval_cases.CASES.items():
        assert (len(keeping), len(breaking)) == (10, 10), kind
    assert not verdicts(ifeval_cases.CASES)


COMMA = ("punctuation:no_comma", {})
CAT = ("keywords:existence", {"keywords": ["cat"]})


def test_what_nobody_sees_keeps_nothing() -> None:
    fewer = ("length_constraints:number_words", {"num_words": 5, "relation": "less than"})
    for nothing in (
        "\x00" * 10,
        "\u200b" * 50,
        "\ud800",
        "\ufeff",
        "\u3164 \u2800",
        "<think>a cat</think>\u2060",
    ):
        for instruction in (COMMA, fewer, ("keywords:forbidden_words", {"forbidden_words": ["cat"]})):
            assert scored(nothing, instruction, mode="loose").score == 0.0, nothing[:20]
    for something in ("🙂", "5", "好", "é"):
        assert scored(something, COMMA).score == 1.0


def test_all_must_be_kept_or_the_share_is_paid() -> None:
    assert scored("a cat", COMMA, CAT).score == 1.0
    assert scored("a cat, a dog", COMMA, CAT).score == 0.0
    assert scored("a cat, a dog", COMMA, CAT, pay="share").score == 0.5
    found = scored("a cat, a dog", COMMA, CAT)
    assert found.parts == {
        "strict": 0,
        "loose": 0,
        "share": 0.5,
        "punctuation:no_comma": 0,
        "keywords:existence": 1,
    }
    assert found.detail == "not kept: punctuation:no_comma"


def test_loose_forgives_first_and_last_lines_and_asterisks() -> None:
    chatty = "Sure, here it is:\na cat\nHope it helps, bye"
    assert scored(chatty, COMMA, CAT).score == 0.0
    assert scored(chatty, COMMA, CAT, mode="loose").score == 1.0
    assert scored(chatty, COMMA, CAT).parts["loose"] == 1.0
    end = ("startend:end_checker", {"end_phrase": "The end."})
    assert scored("x\n**The end.**", end, mode="loose").score == 1.0


@pytest.mark.parametrize(
    "response", ["", " \n", "<think>a cat", "<think>a cat</think>", "x" * 300_000 + " cat"]
)
def test_a_response_without_text_keeps_nothing(response: str) -> None:
    assert scored(response, COMMA).score == 0.0
    assert (
        scored(response, ("length_constraints:number_words", {"num_words": 5, "relation": "less than"})).score
        == 0
    )


@pytest.mark.parametrize(
    "truth",
    [
        "", "[]", "{}", "x", '{"instruction_id_list": ["no:such"], "kwargs": [{}]}', '{"instruction_id_list": [], "kwargs": []}',
        '{"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}'.replace("[]}", "[{}, {}]}"),
        '{"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": null}]}',
        '{"instruction_id_list": ["keywords:frequency"], "kwargs": [{"keyword": "a", "frequency": 1, "relation": "about"}]}',
    ],
)  # fmt: skip
def test_a_truth_that_cannot_be_checked_is_invalid_and_never_kept(truth: str) -> None:
    assert score(Sample("ifeval", "a cat", truth), InstructionOptions()).status == "invalid"


def test_zero_is_an_argument_and_other_shapes_of_rows_are_read() -> None:
    assert scored(
        "a b", ("keywords:frequency", {"keyword": "z", "frequency": 0, "relation": "at least"})
    ).correct
    instruct = '[{"instruction_id": ["punctuation:no_comma"], "kwargs": [null]}]'
    assert score(Sample("ifeval", "a b", instruct), InstructionOptions()).correct
    twice = scored("a cat", CAT, ("keywords:existence", {"keywords": ["dog"]}))
    assert twice.parts["keywords:existence"] == 1.0 and twice.parts["keywords:existence#2"] == 0.0


def test_the_language_is_the_same_at_every_call() -> None:
    check = find("language:response_language")
    assert check is not None
    from rewardkit.rewards.instructions.language import language

    seen = set()
    for _ in range(20):
        language.cache_clear()
        seen.add(language("Hello world"))
    assert len(seen) == 1


def test_a_user_adds_a_checker_in_a_file_of_his_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from rewardkit.rewards.instructions import checker\n"
        "@checker('my:lines')\n"
        "def lines(text, *, count):\n    return len(text.splitlines()) == count\n"
    )
    mine = ("my:lines", {"count": 2})
    assert scored("a\nb", mine, checkers=(str(path),)).score == 1.0
    assert scored("a", mine, checkers=(str(path),)).score == 0.0


def test_sentences_and_tokens_are_those_of_a_treebank() -> None:
    assert sentences("Dr. A. Smith came at 3.5 p.m. to see. It rained!") == [
        "Dr. A. Smith came at 3.5 p.m. to see.",
        "It rained!",
    ]
    assert tokens("DON'T U.S. WELL-KNOWN it's") == ["DO", "N'T", "U.S.", "WELL-KNOWN", "it", "'s"]


def truth_of(kwargs: Any, name: Any = "keywords:existence") -> Score:
    truth = {"instruction_id_list": name, "kwargs": kwargs}
    return score(Sample("ifeval", "A river here", json.dumps(truth)), InstructionOptions())


def test_arguments_are_taken_in_the_forms_in_which_tables_hold_them() -> None:
    for kwargs in (
        [{"keywords": ["river"]}], {"keywords": ["river"]}, ['{"keywords": ["river"]}'], '[{"keywords": ["river"]}]', [{"keywords": "river"}],
        [{"keywords": ["river"], "num_words": None, "other": 3}],
    ):  # fmt: skip
        for name in ("keywords:existence", ["keywords:existence"]):
            assert truth_of(kwargs, name).correct, kwargs
    assert truth_of([{"forbidden_words": "river"}], ["keywords:forbidden_words"]).score == 0.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("keywords:existence", [1]), ("keywords:existence", {"keywords": [3]}), ("keywords:existence", {"keywords": []}), ("keywords:frequency", {"keyword": "", "frequency": 1}),
        ("keywords:forbidden_words", {"forbidden_words": []}), ("startend:end_checker", {"end_phrase": " "}), ("keywords:letter_frequency", {"letter": "", "let_frequency": 1}),
        ("detectable_format:multiple_sections", {"section_spliter": "", "num_sections": 1}), ("detectable_content:postscript", {"postscript_marker": ""}),
        ("language:response_language", {"language": "xx"}),
    ],
)  # fmt: skip
def test_arguments_that_ask_for_nothing_are_invalid(name: str, arguments: Any) -> None:
    found = truth_of([arguments], [name])
    assert found.status == "invalid" and found.detail, found


def test_every_interrobang_is_tried() -> None:
    assert scored("x‽ .,!?;:", ("count:punctuation", {})).correct


def test_a_ground_truth_may_be_a_python_literal() -> None:
    truth = "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"
    kept, broken = (score(Sample("ifeval", said, truth), InstructionOptions()) for said in ("a b", "a, b"))
    assert (kept.status, kept.score, broken.status, broken.score) == ("ok", 1.0, "ok", 0.0)
    for other in ("open('x')", "{'a': b}", "[" * 100_000, "call()"):
        found = score(Sample("ifeval", "a b", other), InstructionOptions())
        assert (found.status, found.detail) == ("invalid", "the ground truth is not JSON")
