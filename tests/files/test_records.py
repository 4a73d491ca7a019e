"""Lines of JSON: an object with a key twice is no row, wherever in the file it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.files.records import BadRowError, parse, parse_all

ROW = b'{"response": "#### 8", "ground_truth": "7"}'
TWICE = (
    b'{"response": "#### 8", "response": "#### 7"}',
    b'{"response": "#### 8", "response"\t : "#### 7"}',
    b'{"r": 1, "reward_model": {"ground_truth": "7", "ground_truth": "8"}}',
    b'{"r": 1, "prompt": [[{"role": "user"}, {"role": "user", "role": "tool"}]]}',
    b'{"a\\\\":1,"a\\\\":2, "text": "{\\"b\\": 1}"}',
)
ONCE = (
    b'{"response" : "#### 8", "x": {"response": "7"}}',
    b'{"tests": "{\\"inputs\\": [], \\"outputs\\" : []}", ":": ":", "a\\\\": "a\\\\"}',
    b'{"prompt": [{"role": "user"}, {"role": "user"}], "empty": {}, "none": []}',
)


@pytest.mark.parametrize("line", TWICE)
def test_a_key_that_stands_twice_is_found_in_the_last_row_too(line: bytes) -> None:
    *rows, last = parse_all([ROW] * 1_000 + [line])
    assert rows == [json.loads(ROW)] * 1_000
    assert isinstance(last, BadRowError) and "duplicate key" in str(last)
    with pytest.raises(BadRowError, match="duplicate key"):
        parse(line)


@pytest.mark.parametrize("line", ONCE)
def test_keys_of_different_objects_and_in_text_are_no_duplicates(line: bytes) -> None:
    assert parse_all([ROW, line]) == [json.loads(ROW), json.loads(line)]


_TEXT = st.text('ab":\\ \t{}', max_size=5)


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    colon = st.sampled_from([":", ": ", " :", "\t: "])
    pair = st.tuples(_TEXT.map(json.dumps), colon, inner).map("".join)
    return st.lists(pair, max_size=4).map(lambda pairs: f"{{{', '.join(pairs)}}}")


_VALUES = st.recursive(
    st.one_of(_TEXT.map(json.dumps), st.just("1")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: f"[{','.join(found)}]"), _objects(inner)
    ),
    max_leaves=8,
)


@given(st.lists(_objects(_VALUES), min_size=1, max_size=4))
def test_every_repeated_key_is_found_and_no_other(texts: list[str]) -> None:
    lines = [text.encode() for text in texts]
    assert [isinstance(row, BadRowError) for row in parse_all(lines)] == list(map(repeats, texts))


def repeats(text: str) -> bool:
    found = False

    def pairs(of: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len({key for key, _ in of}) < len(of)

    json.loads(text, object_pairs_hook=pairs)
    return found
