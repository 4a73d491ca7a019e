"""Turns raw datasets into parquet with one schema. One file per dataset; this is the table of them.

A dataset's module has `prepare(out_dir, *, ..., progress=None) -> Prepared`; its keyword arguments, with
their types, defaults and help, are its options on the command line too. None is imported before its use.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset that `rewardkit prep` knows."""

    name: str
    module: str
    summary: str
    licence: str
    example: str
    """A command line that works."""
    verifiable: bool = True
    """Its rows have solutions and a rule that judges them."""

    def load(self) -> ModuleType:
        """Import the module with the dataset's `prepare`."""
        return importlib.import_module(self.module)


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="gsm8k",
            module="rewardkit.datasets_prep.gsm8k",
            summary="GSM8K: grade-school word problems",
            licence="MIT",
            example="rewardkit prep gsm8k --raw grade-school-math/data --out data/gsm8k",
        ),
        Dataset(
            name="math",
            module="rewardkit.datasets_prep.math",
            summary="MATH and MATH-500: competition problems with LaTeX answers",
            licence="MIT",
            example="rewardkit prep math --raw MATH --out data/math",
        ),
        Dataset(
            name="aime",
            module="rewardkit.datasets_prep.aime",
            summary="AIME 2024 and 2025: integer answers from 0 to 999",
            licence="facts of a public contest",
            example="rewardkit prep aime --year 2024 --raw aime24/test.jsonl --out data/aime24",
        ),
        Dataset(
            name="humaneval",
            module="rewardkit.datasets_prep.humaneval",
            summary="HumanEval: Python functions to complete, with tests",
            licence="MIT",
            example="rewardkit prep humaneval --raw HumanEval.jsonl.gz --out data/humaneval",
        ),
        Dataset(
            name="mbpp",
            module="rewardkit.datasets_prep.mbpp",
            summary="MBPP: small Python tasks with assertions",
            licence="CC-BY-4.0",
            example="rewardkit prep mbpp --raw mbpp.jsonl --out data/mbpp",
        ),
        Dataset(
            name="apps",
            module="rewardkit.datasets_prep.apps",
            summary="APPS: programming problems with tests, 5,000 to train on",
            licence="MIT",
            example="rewardkit prep apps --raw apps --out data/apps",
        ),
        Dataset(
            name="taco",
            module="rewardkit.datasets_prep.taco",
            summary="TACO: algorithmic problems with tests, 25,443 to train on",
            licence="Apache-2.0",
            example="rewardkit prep taco --raw TACO --out data/taco",
        ),
        Dataset(
            name="code_contests",
            module="rewardkit.datasets_prep.code_contests",
            summary="CodeContests: contest problems with many tests",
            licence="CC-BY-4.0",
            example="rewardkit prep code_contests --raw code_contests/data --out data/code_contests",
        ),
        Dataset(
            name="livecodebench",
            module="rewardkit.datasets_prep.livecodebench",
            summary="LiveCodeBench: recent contest problems, a test set",
            licence="CC",
            example="rewardkit prep livecodebench --raw code_generation_lite --out data/livecodebench",
        ),
        Dataset(
            name="full_hh_rlhf",
            module="rewardkit.datasets_prep.full_hh_rlhf",
            summary="HH-RLHF: dialogues with a preferred and a rejected answer",
            licence="MIT",
            example="rewardkit prep full_hh_rlhf --raw full-hh-rlhf/data --out data/full_hh_rlhf",
            verifiable=False,
        ),
        Dataset(
            name="arithmetic",
            module="rewardkit.datasets_prep.arithmetic",
            summary="Word problems made on the spot, with solutions: needs no download",
            licence="Apache-2.0",
            example="rewardkit prep arithmetic --level easy --n-train 2000 --out data/arithmetic",
        ),
    )
}
