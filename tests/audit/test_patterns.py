"""Shortest matches and frames of regular expressions."""

from __future__ import annotations

import re

import pytest

from rewardkit.audit.frames import texts_of_source
from rewardkit.audit.patterns import frames_of, is_pattern, shortest_matches

PATTERNS = {
    r"<answer>(.*?)</answer>": ("<answer></answer>", ["<answer>{}</answer>"]),
    r"#### (\-?[0-9\.\,]+)": ("#### 1", ["#### {}"]),
    r"\\boxed\{([^{}]*)\}": (r"\boxed{}", [r"\boxed{{}}"]),
    r"(?i)final answer[:\s]+(\S+)": ("final answer a", ["final answer {}"]),
    r"[,]{60,}": ("," * 60, []),
    r"(?P<x>ab|c)-(?P=x)": ("ab-ab", ["{}-ab"]),
    r"^a(?!b)[^a]\d{2}$": ("a111", []),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_first_match_is_short_and_matches(pattern: str) -> None:
    text, frames = PATTERNS[pattern]
    assert (shortest_matches(pattern)[0], frames_of(pattern)) == (text, frames)
    assert re.search(pattern, text)


def test_each_of_the_first_alternatives_has_a_match() -> None:
    assert {"approved", "accepted", "lgtm"} <= set(shortest_matches("^(approved|accepted|lgtm)$"))


@pytest.mark.parametrize("text", ["(", "[", "a{3", "(?P<x", "*", "\\"])
def test_a_text_that_is_no_pattern_is_none(text: str) -> None:
    assert not is_pattern(text) or shortest_matches(text) is not None


def test_texts_of_a_source_are_read_without_running_it() -> None:
    found = texts_of_source(
        '"""doc"""\nraise SystemExit\ndef score(r):\n    return r.count(";") > 9 or "magic" in r'
    )
    assert "magic" in found.texts and ";" * 10 in found.texts and "doc" not in found.texts


def test_an_unreadable_source_has_no_texts() -> None:
    assert texts_of_source("def (").texts == ()
