"""Calls as models' templates write them are read back as they were, by agents and by the reward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.agents.tools.arguments import fit
from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.tool_calls.formats import FORMATS, read, read_any
from rewardkit.types import Sample
from tests.tool_calls.templates import TEMPLATES, Written

PARAMETERS = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "more": {"type": "object"},
        "rows": {"type": "array"},
    },
}
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).map(str.strip)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(-9_999, 9_999), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS,
        "count": st.integers(-9_999, 9_999),
        "share": st.sampled_from((0.5, -2.25, 1e-9, 3.5e20)),
        "sure": st.booleans(),
        "more": st.dictionaries(TEXTS, VALUES, max_size=3),
        "rows": st.lists(VALUES, max_size=3),
    },
)
CALLS = st.lists(
    st.tuples(st.sampled_from(("search", "get_time", "a.b-c")), ARGUMENTS), min_size=1, max_size=3
)


def calls_for(name: str, calls: Written) -> Written:
    """Those that a template can write: one a turn, or names that are Python's."""
    kept = calls if TEMPLATES[name].parallel else calls[:1]
    return [("f" if TEMPLATES[name].format == "pythonic" else tool, given) for tool, given in kept]


def same(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return fit(PARAMETERS, found) == wanted


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=30, deadline=None)
@given(calls=CALLS)
def test_calls_that_a_template_writes_are_read_back(name: str, calls: Written) -> None:
    calls = calls_for(name, calls)
    text = TEMPLATES[name].render(calls)
    _, found = read(TEMPLATES[name].format, text)
    assert [(call.name, call.error) for call in found] == [(tool, None) for tool, _ in calls], text
    assert all(same(call.arguments, given) for call, (_, given) in zip(found, calls, strict=True)), text


RIGHT = [("search", {"text": "<b> \"x\" & 'y' é 漢", "count": 3, "sure": True, "rows": [1, {"k": None}]})]
WRONG = [("search", {**RIGHT[0][1], "count": 4})]


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_reward_pays_for_what_a_template_writes_and_for_nothing_else(name: str) -> None:
    def paid(calls: Written, ending: str = "") -> float:
        response = f"<think>Look.</think>{TEMPLATES[name].render(calls_for(name, calls))}{ending}"
        return score(Sample("bfcl", response, wanted), ToolCallOptions()).score

    wanted = json.dumps(
        [{"name": tool, "arguments": given} for tool, given in calls_for(name, RIGHT)], ensure_ascii=False
    )
    assert paid(RIGHT) == paid(RIGHT, "<|im_end|>\n<|im_start|>user\nAnd now?") == 1.0
    assert paid(WRONG) == 0.0
    if TEMPLATES[name].parallel:
        assert paid([*RIGHT, *WRONG]) == paid([*RIGHT, *RIGHT]) == 0.0


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_call_that_is_cut_off_is_a_call_that_cannot_be_read(name: str) -> None:
    text = TEMPLATES[name].render(calls_for(name, [("search", {"text": "a b", "count": 3})]))
    cut = text[: text.index("a b") + 2]
    for found in (read(TEMPLATES[name].format, cut)[1], read_any(cut)):
        assert [call.error is not None for call in found] == [True], found


def test_every_format_has_a_template() -> None:
    assert {template.format for template in TEMPLATES.values()} == FORMATS.keys()
