"""Reports of failures are believed, and placeholders for them are not."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.row_reports import known_score


@pytest.mark.parametrize("name", ["error", "error_message", "generation_error", "errors"])
@pytest.mark.parametrize(
    "value", ["<not_executed>", "None", "", " N/A ", "ok", "No error", [], {}, None, 0.25, False]
)
def test_a_text_in_the_place_of_an_error_is_none(name: str, value: Any) -> None:
    assert known_score({"response": "7", name: value}) is None


@pytest.mark.parametrize(
    "value",
    ["<html> 502", "timed out", "TypeError: <lambda>", "<class 'ValueError'>", ["no tool"], {"message": "gone"}, True],
)  # fmt: skip
def test_an_error_in_any_words_is_a_failure_and_never_a_zero(value: Any) -> None:
    known = known_score({"response": "7", "error_message": value})
    assert known is not None and known.status == "error" and known.detail is not None
