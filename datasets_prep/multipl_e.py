"""MultiPL-E (Cassano et al. 2022, arXiv:2208.08227) contains HumanEval and MBPP, translated into many
languages, with tests in each language. There is only a test split, and it has no solutions.

Raw files: `prompts/*.jsonl` from github.com/nuprl/MultiPL-E, or the parquet files from the hub.

Raw columns: `name`, `language`, `prompt` and `tests`. Problems in languages that rewardkit does not run are
left out.
"""

from __future__ import annotations

import json

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.readers import LeftOutError
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.rewards.code.apart import language_of
from rewardkit.sandbox.languages import LANGUAGES

DATA_SOURCE = "multipl-e"
INSTRUCTION = "Complete this function. Give the whole of it in one code block."


def _to_row(record: Record, context: RowContext) -> Row:
    language = language_of(record.values)
    if language is None or language not in LANGUAGES or LANGUAGES[language].apart is None:
        raise LeftOutError(f"tests in {record.text('language')} are not supported")
    prompt = record.text("prompt")
    truth = {"language": language, "declaration": prompt, "test": record.text("tests")}
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(f"{context.instruction}\n\n```{language}\n{prompt}```".lstrip()),
        ability="code",
        ground_truth=json.dumps(truth),
        split=context.split,
        index=record.index,
        question=prompt,
        answer="",
        metadata={"task_id": record.text("name"), "starter_code": prompt},
    )


RECIPE = Recipe(
    "multipl-e",
    Hub("nuprl/MultiPL-E", None, (), "the folders humaneval-LANGUAGE or mbpp-LANGUAGE"),
    _to_row,
    INSTRUCTION,
    SplitLayout(TEST_ONLY, "test"),
)
prepare = RECIPE.prepare
