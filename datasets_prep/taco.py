"""TACO (Li et al. 2023, arXiv:2312.14852): 25,443 + 1,000 algorithmic problems. Apache-2.0.

Raw columns: those of APPS (`question`, `solutions`, `input_output`, `starter_code`, `difficulty`, `url`), and
`name`, `source`, `tags`, `skill_types`, `time_limit`, `memory_limit`, `date`. Problems published without
tests are bad rows.
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
