"""Long regular expressions: compiled when they are first used, and no different then."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from rewardkit.registry import REGISTRY
from rewardkit.rewards.lazy_regex import _LazyRegex, lazy_regex


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


def test_all_of_ours_compile() -> None:
    found = dict(_ours())
    assert len(found) > 30
    for name, regex in found.items():
        assert re.compile(regex._text, regex._flags).pattern, name
