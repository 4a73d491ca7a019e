"""Datasets of programming problems."""

from __future__ import annotations

from rewardkit.datasets_prep.dataset import Dataset

CODE = (
    Dataset(
        name="humaneval",
        summary="HumanEval: Python functions to complete, with tests",
        licence="MIT",
        source="openai/openai_humaneval",
        rows="test 164",
        data_source="openai_humaneval",
        raw="--raw HumanEval.jsonl.gz",
    ),
    Dataset(
        name="mbpp",
        summary="MBPP: small Python tasks with assertions",
        licence="CC-BY-4.0",
        source="google-research-datasets/mbpp",
        rows="train 374, test 500",
        data_source="mbpp",
        raw="--raw mbpp.jsonl",
    ),
    Dataset(
        name="apps",
        summary="APPS: programming problems with tests",
        licence="MIT",
        source="codeparrot/apps",
        rows="train 5,000, test 5,000",
        data_source="codeparrot/apps",
        raw="--raw APPS",
    ),
    Dataset(
        name="taco",
        summary="TACO: algorithmic problems with tests",
        licence="Apache-2.0",
        source="BAAI/TACO",
        rows="train 25,443, test 1,000",
        data_source="BAAI/TACO",
        raw="--raw TACO",
    ),
    Dataset(
        name="code_contests",
        summary="CodeContests: contest problems with many tests",
        licence="CC-BY-4.0",
        source="deepmind/code_contests",
        rows="train 13,328, validation 117, test 165",
        data_source="deepmind/code_contests",
        raw="--raw code_contests/data",
    ),
    Dataset(
        name="livecodebench",
        summary="LiveCodeBench: recent contest problems, without solutions",
        licence="CC",
        source="livecodebench/code_generation_lite",
        rows="test 1,055",
        data_source="livecodebench/code_generation_lite",
        raw="--raw code_generation_lite",
    ),
    Dataset(
        name="codeforces",
        summary="Codeforces: contest problems with official tests",
        licence="CC-BY-4.0",
        source="open-r1/codeforces",
        rows="8,760 in train and test",
        data_source="codeforces",
        raw="--raw codeforces",
    ),
    Dataset(
        name="kodcode",
        summary="KodCode: synthetic tasks with pytest functions",
        licence="CC-BY-NC-4.0",
        source="KodCode/KodCode-V1",
        rows="train 487,000 (including the skipped split)",
        data_source="KodCode/KodCode-V1",
        raw="--raw KodCode-V1/data",
    ),
    Dataset(
        name="leetcode",
        summary="LeetCodeDataset: LeetCode problems with many tests",
        licence="MIT",
        source="newfacade/LeetCodeDataset",
        rows="train 2,641, test 228",
        data_source="newfacade/LeetCodeDataset",
        raw="--raw LeetCodeDataset/data",
    ),
)
