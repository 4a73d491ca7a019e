"""Shared by the code reward's tests: a way to score, where a sandbox holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.sandbox.levels import why_not
from rewardkit.types import Sample, Score

ScoredBy = Callable[..., Score]


@pytest.fixture(scope="session")
def isolation() -> None:
    """Skip where programs cannot be run."""
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")


@pytest.fixture(scope="session")
def scored(isolation: None) -> ScoredBy:
    """Score a program on a ground truth, both as written by hand."""

    def scored(program: str, truth: Any, mark: str = "python", **options: Any) -> Score:
        response = f"Here it is:\n```{mark}\n{program}\n```\n"
        return score(Sample("code", response, json.dumps(truth)), CodeOptions(**options))

    return scored
