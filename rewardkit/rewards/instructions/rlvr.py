"""Converts ground truths in allenai's RLVR-IFeval, which name functions, to IFEval's instructions.

A ground truth is `{"func_name": "verify_keyword_frequency", "word": "a", "N": 3, ...}`, or a list of such
objects. Arguments that the function does not accept are null. An exact or approximate count becomes two
instructions, "at least" the minimum and "less than" one more than the maximum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rewardkit.rewards.answers.place import says
from rewardkit.rewards.instructions.table import checker

Asked = tuple[str, dict[str, Any]]
"""Id and arguments of an instruction."""
_Translation = Callable[[Mapping[str, Any]], list[Asked]]


def translated(ground_truth: Any) -> list[Asked] | None:
    """Return the instructions in a ground truth of this form, or None if the ground truth has another form.

    Raises:
        ValueError: The function is unknown, or an argument is missing or has an impossible value.
    """
    given = ground_truth if isinstance(ground_truth, list) else [ground_truth]
    if not given or not all(isinstance(one, Mapping) and "func_name" in one for one in given):
        return None
    return [asked for one in given for asked in _functions_own(one)]


def _functions_own(one: Mapping[str, Any]) -> list[Asked]:
    name = str(one["func_name"])
    if name not in _FUNCTIONS:
        raise ValueError(f"there is no checker for the function {name!r:.80}")
    try:
        return _FUNCTIONS[name](one)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: {type(error).__name__}: {str(error)[:80]}") from None


def _plain(id: str, **renamed: str) -> _Translation:
    """Return a translation to one instruction. `renamed` maps IFEval's argument names to RLVR-IFeval's."""
    return lambda one: [(id, {ours: one[theirs] for ours, theirs in renamed.items()})]


def _counted(id: str, count: str, relation: str, **renamed: str) -> _Translation:
    """Return a translation to instructions that count at least, at most, around or exactly `N` units."""

    def translate(one: Mapping[str, Any]) -> list[Asked]:
        low, high = _bounds(int(one["N"]), one.get("quantifier"), id)
        rest = {ours: one[theirs] for ours, theirs in renamed.items()}
        found = [] if low is None else [(id, {**rest, count: low, relation: "at least"})]
        return found if high is None else [*found, (id, {**rest, count: high + 1, relation: "less than"})]

    return translate


def _bounds(number: int, quantifier: str | None, id: str) -> tuple[int | None, int | None]:
    """Return the minimum and maximum count. The tolerance of "around" depends on the counted unit."""
    if quantifier in ("at least", "at most"):
        return (number, None) if quantifier == "at least" else (None, number)
    if quantifier not in (None, "around"):
        raise ValueError(f"quantifier is {quantifier!r:.40}; expected at least, at most or around")
    room = _ROOM[id](number) if quantifier and id in _ROOM else 0
    return max(number - room, 0), number + room


_ROOM: dict[str, Callable[[int], int]] = {
    "length_constraints:number_words": lambda n: max(round(n * 0.1), 1),
    "length_constraints:number_sentences": lambda n: 1,
}


@checker("rlvr:paragraphs")
def paragraphs(text: str, *, count: int) -> bool:
    """Return True if a text has `count` non-empty paragraphs, separated by `* * *`."""
    pieces = re.split(r"\* ?\* ?\*", text)
    return len(pieces) == count and all(map(says, pieces))


@checker("rlvr:choice")
def choice(text: str, *, options: Any) -> bool:
    """Return True if a text is one of the options, which are a list or a text with commas."""
    listed = options.split(",") if isinstance(options, str) else options
    return text.strip().rstrip(".") in {str(option).strip().rstrip(".") for option in listed}


_FUNCTIONS: dict[str, _Translation] = {
    "verify_keywords": _plain("keywords:existence", keywords="keyword_list"),
    "verify_keyword_frequency": _counted("keywords:frequency", "frequency", "relation", keyword="word"),
    "validate_forbidden_words": _plain("keywords:forbidden_words", forbidden_words="forbidden_words"),
    "verify_letter_frequency": _counted(
        "keywords:letter_frequency", "let_frequency", "let_relation", letter="letter"
    ),
    "validate_response_language": _plain("language:response_language", language="language"),
    "verify_paragraph_count": lambda one: [("rlvr:paragraphs", {"count": int(one["N"])})],
    "validate_word_constraint": _counted("length_constraints:number_words", "num_words", "relation"),
    "verify_sentence_constraint": _counted(
        "length_constraints:number_sentences", "num_sentences", "relation"
    ),
    "validate_paragraphs": _plain(
        "length_constraints:nth_paragraph_first_word",
        num_paragraphs="N",
        nth_paragraph="i",
        first_word="first_word",
    ),
    "verify_postscript": _plain("detectable_content:postscript", postscript_marker="postscript_marker"),
    "validate_placeholders": _plain("detectable_content:number_placeholders", num_placeholders="N"),
    "verify_bullet_points": _plain("detectable_format:number_bullet_lists", num_bullets="N"),
    "validate_title": _plain("detectable_format:title"),
    "validate_choice": _plain("rlvr:choice", options="options"),
    "validate_highlighted_sections": _plain(
        "detectable_format:number_highlighted_sections", num_highlights="N"
    ),
    "validate_sections": _plain(
        "detectable_format:multiple_sections", num_sections="N", section_spliter="section_splitter"
    ),
    "validate_json_format": _plain("detectable_format:json_format"),
    "validate_repeat_prompt": _plain("combination:repeat_prompt", prompt_to_repeat="original_prompt"),
    "validate_two_responses": _plain("combination:two_responses"),
    "validate_uppercase": _plain("change_case:english_capital"),
    "validate_lowercase": _plain("change_case:english_lowercase"),
    "validate_frequency_capital_words": _counted(
        "change_case:capital_word_frequency", "capital_frequency", "capital_relation"
    ),
    "validate_end": _plain("startend:end_checker", end_phrase="end_phrase"),
    "validate_quotation": _plain("startend:quotation"),
    "validate_no_commas": _plain("punctuation:no_comma"),
}
