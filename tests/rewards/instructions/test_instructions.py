"""The instructions reward: every checker on its cases, strict and loose, and what a user adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.rewards.instructions import InstructionOptions, score
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
        "",
        "<think>a cat",
        "x" * 300_000 + " cat",
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
    assert found.detail == "instructions not followed: punctuation:no_comma"


def test_loose_forgives_first_and_last_lines_and_asterisks() -> None:
    chatty = "Sure, here it is:\na cat\nHope it helps, bye"
    assert scored(chatty, COMMA, CAT).score == 0.0
    assert scored(chatty, COMMA, CAT, mode="loose").score == 1.0
    assert scored(chatty, COMMA, CAT).parts["loose"] == 1.0
    end = ("startend:end_checker", {"end_phrase": "The end."})
    assert scored("x\n**The end.**", end, mode="loose").score == 1.0


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
    from rewardkit.rewards.instructions.language import language

    seen = set()
    for _ in range(5):
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


def ground_truth_in(kwargs: Any, name: Any = "keywords:existence") -> Score:
    truth = {"instruction_id_list": name, "kwargs": kwargs}
    return score(Sample("ifeval", "A river here", json.dumps(truth)), InstructionOptions())


def test_arguments_are_taken_in_the_forms_in_which_tables_hold_them() -> None:
    for kwargs in (
        [{"keywords": ["river"]}], {"keywords": ["river"]}, ['{"keywords": ["river"]}'], '[{"keywords": ["river"]}]', [{"keywords": "river"}],
        [{"keywords": ["river"], "num_words": None, "other": 3}],
    ):  # fmt: skip
        for name in ("keywords:existence", ["keywords:existence"]):
            assert ground_truth_in(kwargs, name).correct, kwargs
    assert ground_truth_in([{"forbidden_words": "river"}], ["keywords:forbidden_words"]).score == 0.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("keywords:existence", [1]), ("keywords:existence", {"keywords": []}), ("keywords:frequency", {"keyword": "", "frequency": 1}),
        ("startend:end_checker", {"end_phrase": " "}), ("keywords:letter_frequency", {"letter": "", "let_frequency": 1}),
        ("detectable_format:multiple_sections", {"section_spliter": "", "num_sections": 1}), ("detectable_content:postscript", {"postscript_marker": ""}),
        ("language:response_language", {"language": "xx"}),
    ],
)  # fmt: skip
def test_arguments_that_ask_for_nothing_are_invalid(name: str, arguments: Any) -> None:
    found = ground_truth_in([arguments], [name])
    assert found.status == "invalid" and found.detail, found


def test_every_interrobang_is_tried() -> None:
    assert scored("x‽ .,!?;:", ("count:punctuation", {})).correct


def test_a_ground_truth_may_be_a_python_literal() -> None:
    truth = "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"
    kept, broken = (score(Sample("ifeval", said, truth), InstructionOptions()) for said in ("a b", "a, b"))
    assert (kept.status, kept.score, broken.status, broken.score) == ("ok", 1.0, "ok", 0.0)
    for other in ("open('x')", "{'a': b}", "[" * 100_000, "call()"):
        found = score(Sample("ifeval", "a b", other), InstructionOptions())
        assert found.status == "invalid" and "JSON" in str(found.detail)


@pytest.mark.parametrize(
    "nothing", ["---", "***", "#", ".", "```\n```", "> ", "! ! !", "&nbsp;.", "\u3164 ?", "_ _"]
)
def test_marks_alone_keep_nothing_also_where_a_loose_reading_leaves_them(nothing: str) -> None:
    few = ("length_constraints:number_words", {"num_words": 2, "relation": "less than"})
    for response in (nothing, f"a b, c\n{nothing}", f"{nothing}\na b, c", f"a, b\n{nothing}\nc, d"):
        for instruction in (COMMA, few):
            assert scored(response, instruction, mode="loose").score == 0.0, response


@pytest.mark.parametrize(
    ("kind", "arguments", "filled", "empty"),
    [
        ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a] [b]", "x [a] [.]"),
        ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "- a\n- b", "- a\n-\nx"),
        ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n* b\n* * *", "* a\n* \n"),
        ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* *b*", "*a* *.*"),
        ("detectable_format:multiple_sections", {"section_spliter": "S", "num_sections": 2}, "S 1 a S 2 b", "a S 1 S 2 b"),
        ("detectable_format:title", {}, "<<a>> b", "<<.>> b"),
        ("startend:quotation", {}, '"a"', '"."'),
        ("combination:two_responses", {}, "a\n******\nb", "a\n******\n."),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n***\n!"),
        ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "a"}, "a\n\n---\n\nb", "a\n\n---"),
        ("length_constraints:number_sentences", {"num_sentences": 2}, "a b. c d.", "a b. ! ! ..."),
        ("length_constraints:number_words", {"num_words": 3}, "a b c", "a b _ __ _"),
        ("detectable_content:postscript", {"postscript_marker": "P.S."}, "a\nP.S. b", "a\nP.S. ..."),
        ("paragraphs:paragraphs2", {}, "a\n\nb", "a\n\n."), ("detectable_format:square_brackets", {}, "[a] [b]", "[.] [...]"),
        ("format:sub-bullets", {}, "* a\n  - b", "a\n* .\n  - ."), ("format:parentheses", {}, "(((((a)))))", "(((((.)))))"),
    ],
)  # fmt: skip
def test_a_piece_that_says_nothing_is_none(
    kind: str, arguments: dict[str, Any], filled: str, empty: str
) -> None:
    assert scored(filled, (kind, arguments)).score == 1.0
    assert scored(empty, (kind, arguments)).score == 0.0


@pytest.mark.parametrize(
    "disguised",
    ["c\u200bat", "c\xadat", "c<!-- x -->at", "c&#97;t", "c**at**", "_cat_", "**cat**", "<b>cat</b>"],
)
def test_a_word_that_a_reader_sees_is_there_however_it_is_written(disguised: str) -> None:
    said = f"I saw a {disguised} here"
    assert scored(said, ("keywords:forbidden_words", {"forbidden_words": ["cat"]})).score == 0.0
    assert scored(said, ("keywords:exclude_word_harder", {"keyword": "cat"})).score == 0.0
    fewer = ("keywords:frequency", {"keyword": "cat", "frequency": 1, "relation": "less than"})
    assert scored(said, fewer).score == 0.0
    assert scored(said, CAT).score == 1.0


@pytest.mark.parametrize("hidden", ["<!-- cat -->", "[//]: # (cat)", "<think>cat</think>"])
def test_a_word_in_a_comment_or_thought_is_not_there_and_none_that_may_be_left_out(hidden: str) -> None:
    said = f"{hidden}\nNothing here"
    assert scored(said, CAT).score == 0.0
    assert scored(said, ("keywords:word_once", {"keyword": "cat"})).score == 0.0


@pytest.mark.parametrize("comma", [",", "，", "،", "､", "﹐", "&#44;", "&comma;"])
def test_a_comma_of_any_writing_is_one(comma: str) -> None:
    assert scored(f"a{comma} b", COMMA).score == 0.0


@pytest.mark.parametrize(
    ("kind", "arguments", "kept"),
    [
        ("length_constraints:number_words", {"num_words": 5}, "five words and two more"), ("length_constraints:number_sentences", {"num_sentences": 3}, "a b. c d. e f."),
        ("detectable_format:title", {}, "<<A title>>"), ("detectable_content:number_placeholders", {"num_placeholders": 1}, "[name]"),
        ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "*so*"), ("change_case:capital_word_frequency", {"capital_frequency": 2}, "NASA USA"),
        ("keywords:letter_frequency", {"letter": "q", "let_frequency": 2}, "qq"), ("detectable_format:constrained_response", {}, "My answer is yes."),
        ("language:response_language", {"language": "de"}, "Das Wetter ist heute sehr schön und wir gehen alle in den Park."),
        ("detectable_content:postscript", {"postscript_marker": "P.S."}, "\nP.S. more"), ("keywords:palindrome", {}, "racecar"),
    ],
)  # fmt: skip
def test_what_stands_in_a_comment_keeps_no_instruction(
    kind: str, arguments: dict[str, Any], kept: str
) -> None:
    assert scored(f"Hello {kept}", (kind, arguments)).score == 1.0
    assert scored(f"Hello <!-- {kept} -->", (kind, arguments)).score == 0.0
    assert scored(f"Hello\n[//]: # ({kept.strip()})", (kind, arguments)).score == 0.0


def test_words_of_hiding_hide_nothing_by_themselves() -> None:
    for said in (
        "<<Style and hidden meaning>> on display",
        "It is hidden, <<Details>> of it",
        '{"hidden": "<b>x</b>"}',
    ):
        kind = "detectable_format:title" if "<<" in said else "detectable_format:json_format"
        assert scored(said, (kind, {})).score == 1.0, said


_FUNCTIONS: list[tuple[str, dict[str, Any], str, str]] = [
    ("verify_keywords", {"keyword_list": ["cat", "dog"]}, "A cat and a dog.", "A cat."),
    ("verify_keyword_frequency", {"word": "cat", "N": 2}, "A cat, a cat.", "A cat, a cat, a cat."),
    ("verify_keyword_frequency", {"word": "cat", "N": 2}, "A cat, a cat.", "A cat."),
    ("validate_forbidden_words", {"forbidden_words": ["cat"]}, "A dog.", "A cat."),
    ("verify_letter_frequency", {"letter": "q", "N": 2}, "qua qua", "qua qua qua"),
    ("verify_paragraph_count", {"N": 2}, "One.\n* * *\nTwo.", "One.\n* * *\nTwo.\n* * *\nThree."),
    ("verify_paragraph_count", {"N": 2}, "One.\n* * *\nTwo.", "One.\n* * *\n"),
    ("validate_word_constraint", {"N": 3, "quantifier": "at most"}, "one two three", "one two three four"),
    ("validate_word_constraint", {"N": 3, "quantifier": "at least"}, "one two three", "one two"),
    ("validate_word_constraint", {"N": 30, "quantifier": "around"}, "word " * 33, "word " * 34),
    ("verify_sentence_constraint", {"N": 3, "quantifier": "around"}, "One. Two.", "One."),
    ("validate_paragraphs", {"N": 2, "first_word": "so", "i": 2}, "One.\n\nSo two.", "One.\n\nTwo."),
    ("verify_postscript", {"postscript_marker": "P.S."}, "Hello.\nP.S. Bye.", "Hello. Bye."),
    ("validate_placeholders", {"N": 1}, "Dear [name]", "Dear Ann"),
    ("verify_bullet_points", {"N": 2}, "* a\n* b", "* a\n* b\n* c"),
    ("validate_title", {}, "<<Cats>>", "Cats"),
    ("validate_choice", {"options": ["yes", "no"]}, "yes", "yes or no"),
    ("validate_choice", {"options": "yes, no"}, "No. ".strip().lower(), "y"),
    ("validate_highlighted_sections", {"N": 1}, "*so*", "so"),
    (
        "validate_sections",
        {"N": 2, "section_splitter": "Section"},
        "Section 1\na\nSection 2\nb",
        "Section 1\na",
    ),
    ("validate_json_format", {}, '{"a": 1}', "a: 1"),
    ("validate_repeat_prompt", {"original_prompt": "Tell me."}, "Tell me. Yes.", "Yes."),
    ("validate_two_responses", {}, "One.\n******\nTwo.", "One."),
    ("validate_uppercase", {}, "THIS IS AN ENGLISH SENTENCE ABOUT THE CAT.", "This is not."),
    ("validate_lowercase", {}, "this is an english sentence about the cat.", "This is not."),
    ("validate_frequency_capital_words", {"N": 2, "quantifier": "at least"}, "NASA USA", "NASA"),
    ("validate_end", {"end_phrase": "Bye."}, "Hello. Bye.", "Bye. Hello."),
    ("validate_quotation", {}, '"Hello."', "Hello."),
    ("validate_no_commas", {}, "Hello Ann", "Hello, Ann"),
]


@pytest.mark.parametrize(("name", "arguments", "kept", "broken"), _FUNCTIONS)
def test_rlvrs_functions_ask_what_ifevals_instructions_ask(
    name: str, arguments: dict[str, Any], kept: str, broken: str
) -> None:
    one = {"func_name": name, "N": None, "quantifier": None, "keyword_list": None} | arguments
    truth = json.dumps(one)
    assert score(Sample("instructions", kept, truth), InstructionOptions()).score == 1.0
    assert score(Sample("instructions", broken, truth), InstructionOptions()).score == 0.0


def test_rlvrs_functions_are_read_in_the_forms_in_which_tables_hold_them() -> None:
    one = {"func_name": "validate_no_commas", "N": None}
    for truth in (json.dumps([one]), json.dumps([json.dumps(one)]), repr(one)):
        assert score(Sample("instructions", "Hello Ann", truth), InstructionOptions()).score == 1.0, truth
        assert score(Sample("instructions", "Hello, Ann", truth), InstructionOptions()).score == 0.0, truth


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"func_name": "validate_taste"}, "'validate_taste'"),
        ({"func_name": "verify_keywords"}, "verify_keywords: KeyError: 'keyword_list'"),
        ({"func_name": "validate_word_constraint", "N": 3, "quantifier": "nearly"}, "at least, at most "),
    ],
)  # fmt: skip
def test_a_function_that_nobody_knows_or_that_lacks_an_argument_is_invalid(
    wrong: dict[str, Any], why: str
) -> None:
    found = score(Sample("instructions", "Hello.", json.dumps(wrong)), InstructionOptions())
    assert (found.status, why in (found.detail or "")) == ("invalid", True), found
