"""HumanEval-X (Zheng et al. 2023, arXiv:2303.17568) contains the 164 problems of HumanEval in C++, Go, Java,
JavaScript, Python and Rust, with tests in each language. There is only a test split.

Raw files: the folder `codegeex/benchmark/humaneval-x` of github.com/THUDM/CodeGeeX, or some of its files
`LANGUAGE/data/humaneval_LANGUAGE.jsonl.gz`. HumanEvalPack (bigcode/humanevalpack), which has the same
problems, is also supported.

Raw columns: `task_id`, `prompt`, `declaration`, `canonical_solution` and `test`, and for Go `import` and
`test_setup`.
"""

from __future__ import annotations

import json

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.programs import optional_text
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError
from rewardkit.rewards.code.apart import declaration_of, language_of
from rewardkit.sandbox.languages import PYTHON

DATA_SOURCE = "humaneval-x"
INSTRUCTION = "Complete this function. Give the whole of it in one code block."


def _to_row(record: Record, context: RowContext) -> Row:
    task = record.text("task_id")
    language = language_of(record.values)
    if language is None:
        raise InputError(
            f"{record.where}: 'task_id' is {task!r}; expected a language and a number, as in CPP/0"
        )
    declaration = declaration_of(record.values, language)
    shown = record.text("prompt")
    if language == "rust" and "fn " not in shown:
        shown = f"{declaration.rstrip()}\n{shown}"  # The line is a comment in the function's body.
    truth = {"language": language, "declaration": declaration, "test": record.text("test")}
    if language == PYTHON:
        truth = {"prompt": shown, "test": record.text("test")}
    solution = f"{shown if language in (PYTHON, 'go') else declaration}{record.text('canonical_solution')}"
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(f"{context.instruction}\n\n```{language}\n{shown.strip()}\n```".lstrip()),
        ability="code",
        ground_truth=json.dumps(truth),
        split=context.split,
        index=record.index,
        question=shown,
        answer=f"```{language}\n{solution}\n```",
        metadata={"task_id": task, "starter_code": optional_text(record, "declaration")},
    )


RECIPE = Recipe(
    "humaneval-x",
    Hub("THUDM/humaneval-x", None, (), "the files data/LANGUAGE/data/humaneval.jsonl"),
    _to_row,
    INSTRUCTION,
    SplitLayout(TEST_ONLY, "test"),
)
prepare = RECIPE.prepare
