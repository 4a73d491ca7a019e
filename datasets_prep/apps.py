"""APPS (Hendrycks et al. 2021, arXiv:2105.09938): 5,000 + 5,000 problems from programming sites. MIT.

Raw columns: `problem_id`, `question`, `solutions` (JSON list), `input_output` (JSON object), `difficulty`,
`url`, `starter_code`. Problems published without tests are bad rows.
"""

from __future__ import annotations

from rewardkit.datasets_prep.code import ProblemSet, inputs_outputs
from rewardkit.datasets_prep.sources import Hub

prepare = ProblemSet(
    "apps",
    Hub("codeparrot/apps", "all", ("train", "test"), "train.jsonl and test.jsonl"),
    metadata=("problem_id", "difficulty", "url"),
    problem=inputs_outputs,
).prepare
