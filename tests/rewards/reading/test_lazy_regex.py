"""Long regular expressions: compiled when they are first used, and no different then."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.registry import REGISTRY
from rewardkit.rewards.reading.lazy_regex import _LazyRegex, boundaries_once, lazy_regex
from tests.rewards.templates import blind

PIECES = [
    "a",
    "ab",
    r"\bab\b",
    r"\b",
    "|",
    r"\|",
    "[|(]",
    r"[]|)]",
    r"[^\]|]",
    "(?:a|b)",
    r"(\bb|\ba)",
    "(?=a|b)",
    " ",
]


def test_it_is_compiled_when_it_is_first_used() -> None:
    unfinished = lazy_regex("(")
    with pytest.raises(re.error):
        unfinished.search("(")


def test_it_does_what_the_pattern_does() -> None:
    lazy, eager = lazy_regex("(?P<b>B)|c", re.IGNORECASE), re.compile("(?P<b>B)|c", re.IGNORECASE)
    text = "abc"
    for _ in range(2):  # as it is first used, and afterwards
        assert lazy.sub("x", text) == eager.sub("x", text) == "axx"
        assert [m.span() for m in lazy.finditer(text)] == [m.span() for m in eager.finditer(text)]
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (eager.pattern, eager.flags, eager.groupindex)
    assert not hasattr(lazy, "serach")


def _ours() -> Iterator[tuple[str, _LazyRegex]]:
    for reward in REGISTRY:
        assert reward.options_class  # imports the reward
    for module in [m for name, m in sys.modules.items() if name.startswith("rewardkit.rewards.")]:
        for name, value in vars(module).items():
            if isinstance(value, _LazyRegex):
                yield f"{module.__name__}.{name}", value


def test_each_of_ours_matches_as_it_is_written() -> None:
    said = [case.response.casefold() for case in blind.qa("a", 100)]
    found = dict(_ours())
    assert len(found) > 30
    for name, regex in found.items():
        written = re.compile(regex._text, regex._flags)
        for text in said:
            spans = [m.span() for m in written.finditer(text)]
            assert [m.span() for m in regex.finditer(text)] == spans, name


@pytest.mark.parametrize(
    ("text", "once"),
    [
        (r"\bno\b|\bnot\b", r"\b(?:no\b|not\b)"),
        (r"\bno|yes|\bnot|\bnever", r"\bno|yes|\b(?:not|never)"),
        (r"\b(?:a|\bb)[|]\||\bc", r"\b(?:(?:a|\bb)[|]\||c)"),
        (r"(?:\ba|\bb)", r"(?:\ba|\bb)"),
    ],
)
def test_a_boundary_that_alternatives_begin_with_is_asked_for_once(text: str, once: str) -> None:
    assert boundaries_once(text) == once


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join))
def test_any_pattern_matches_where_it_is_written_to(text: str) -> None:
    written, lazy = re.compile(text), lazy_regex(text)
    for said in ("", "ab", "a ab", "ba|b (ab) ]", "b a|", "aab b"):
        assert [m.span() for m in lazy.finditer(said)] == [m.span() for m in written.finditer(said)]
