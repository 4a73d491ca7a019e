"""TACO (Li et al. 2023, arXiv:2312.14852) contains algorithmic problems, 25,443 for training and 1,000 for
testing.

Raw columns: `question`, `solutions`, `input_output`, `starter_code`, `difficulty` and `url`, as in APPS, and
`name`, `source`, `tags`, `skill_types`, `time_limit`, `memory_limit` and `date`. A problem without tests is a
bad row.
"""

from __future__ import annotations

from rewardkit.datasets_prep.common.programs import ProblemSet, inputs_outputs
from rewardkit.datasets_prep.common.sources import Hub

prepare = ProblemSet(
    "taco",
    Hub("BAAI/TACO", "ALL", ("train", "test"), "the folders train/ and test/", script=True),
    metadata=(
        "name",
        "source",
        "difficulty",
        "tags",
        "skill_types",
        "time_limit",
        "memory_limit",
        "date",
        "url",
    ),
    problem=inputs_outputs,
).prepare
