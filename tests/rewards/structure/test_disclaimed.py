"""Data and queries in a fence that the prose beside it calls wrong, or that stand in a comment: none is paid."""

from __future__ import annotations

import pytest

from rewardkit.rewards.structure.data import DataOptions, json, yaml
from rewardkit.rewards.structure.disclaimed import disclaimed
from rewardkit.types import Sample

FENCES = {"json": '```json\n{"a": 1}\n```', "yaml": "```yaml\na: 1\n```"}
CALLED_WRONG = (
    "{}\nThe above is invalid.", "{}\nThat is wrong.", "{}\nThe object above is not right.", "{}\nI retract this.",
    "{}\nWait, that is wrong.", "{}\nThis is incorrect: a is 2.", "{}\nDo not use this.", "{}\nJust kidding, ignore that.",
    "{}\nActually, a should be 2.", "{}\nThe above is an example of what not to write.", "{}\nDisregard the above.",
    "{}\n\nSorry, the block above isn't valid.", "Wrong:\n{}", "The following is incorrect:\n{}", "Do not answer this:\n{}",
    "Example of a wrong answer:\n{}", "This is a wrong answer:\n{}", "<!--\n{}\n-->", "I cannot. <!-- {} -->", "<!-- {}",
)  # fmt: skip
KEPT = (
    "{}\nInvalid rows were dropped.", "{}\nError codes are texts.", "{}\nThis is valid. Nothing is wrong with it.",
    "Here is the corrected version of the invalid document:\n{}", "The input is wrong in two places, mended here:\n{}",
    "{}\nThis is not a complete list of all options.", "<!-- the data -->\n{}", "{}\n<!-- the end -->", "{}",
    "{}\nUpdate the value as you need it.", "{}\nNote that `a` is a number.", "It was not valid before. Now it is:\n{}",
)  # fmt: skip


def _paid(form: str, said: str) -> bool:
    reward = {"json": json, "yaml": yaml}[form]
    sample = Sample(form, said.replace("{}", FENCES[form]), '{"value": {"a": 1}}')
    return bool(reward(sample, DataOptions()).correct)


@pytest.mark.parametrize("form", FENCES)
@pytest.mark.parametrize("said", CALLED_WRONG)
def test_a_fence_that_is_called_wrong_or_commented_out_is_no_data(form: str, said: str) -> None:
    assert not _paid(form, said)


@pytest.mark.parametrize("form", FENCES)
@pytest.mark.parametrize("said", KEPT)
def test_prose_that_speaks_of_something_else_leaves_the_data(form: str, said: str) -> None:
    assert _paid(form, said)


def test_a_comment_within_the_data_is_a_part_of_it() -> None:
    said = '```json\n{"a": "<!-- x -->"}\n```'
    assert json(Sample("json", said, '{"value": {"a": "<!-- x -->"}}'), DataOptions()).correct


def test_a_query_is_disclaimed_like_data_and_prose_alone_disclaims_nothing() -> None:
    assert disclaimed("```sql\nSELECT 1\n```\nThe query above is wrong.")
    assert not disclaimed("```sql\nSELECT 1\n```\nIt counts the invalid orders.")
    assert not disclaimed("The above is wrong.")
