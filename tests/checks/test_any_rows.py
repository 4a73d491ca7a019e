"""Whatever stands in a row, the checks say what is wrong with it, and never fail themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit.checks.check_files import CheckSettings, check_files
from rewardkit.checks.texts import tokens_of
from rewardkit.scoring.scorer import Scorer

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.lists(st.fixed_dictionaries({"role": VALUES, "content": VALUES}), max_size=3)
SOURCES = st.sampled_from(["openai/gsm8k", "math", "cais/mmlu", "qa", "exact", "nothing"]) | VALUES
TOOLS = st.fixed_dictionaries({"tools_kwargs": VALUES, "interaction_kwargs": VALUES, "question": VALUES})
ROWS = st.fixed_dictionaries(
    {"data_source": SOURCES, "prompt": MESSAGES | VALUES, "ground_truth": VALUES},
    optional={
        "reward_model": VALUES | st.fixed_dictionaries({"style": VALUES, "ground_truth": VALUES}),
        "extra_info": VALUES | TOOLS,
        "agent_name": VALUES,
        "images": VALUES,
        "chosen": VALUES,
    },
)


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(workers=1) as made:
        yield made


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, min_size=1, max_size=4))
def test_any_row_of_json_is_looked_at(rows: list[dict[str, Any]], tmp_path: Path, scorer: Scorer) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (checked,), findings = check_files([path], scorer, CheckSettings(against=(str(path),)))
    assert checked.rows == len(rows)
    assert all(0 <= row < len(rows) for finding in findings for row in finding.rows)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_case_and_spacing_make_no_other_question(text: str) -> None:
    assert tokens_of("  ".join(text.split())) == tokens_of(" ".join(text.split()) + "\n")
    if text.isascii():
        assert tokens_of(text.upper()) == tokens_of(text)
