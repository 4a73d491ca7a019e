"""The rewards we ship: every name resolves, every default fits, every one can be described."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.registry import Reward, reward_of
from rewardkit.rewards import declarations

SHIPPED = [found for value in vars(declarations).values() if (found := reward_of(value))]


@pytest.mark.parametrize("reward", SHIPPED, ids=lambda reward: reward.name)
def test_every_reward_loads_and_describes_itself(reward: Reward) -> None:
    assert callable(reward.function)
    assert reward.describe()["options"] == reward.describe_options()
    assert reward.summary


@pytest.mark.slow
def test_each_data_source_pays_what_its_field_expects() -> None:
    paid = {
        "gsm8k": [1.0, 0.1], "lighteval/MATH": [1.0, 0.0], "HuggingFaceH4/MATH-500": [1.0, 0.0], "math": [1.0, 0.0], "aime2024": [1.0, 0.0],
        "AIME2024": [1.0, 0.0], "numina_olympiads": [1.0, 0.0], "math_dapo": [1.0, -1.0], "math_dapo_reasoning": [1.0, -1.0],
    }  # fmt: skip
    answers = ["so \\boxed{72}\n#### 72", "so \\boxed{73}\n#### 73"]
    with Scorer(workers=1) as scorer:
        found = scorer.score_batch([Sample(source, answer, "72") for source in paid for answer in answers])
    assert [score.score for score in found] == [value for values in paid.values() for value in values]
    assert [score.correct for score in found] == [True, False] * len(paid)


class _Watched:
    """A sample that notes which of its fields are read."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._sample, name)


@pytest.mark.parametrize("name", ["gsm8k", "math", "math_dapo", "choice", "qa", "geometry3k"])
def test_a_reward_reads_no_column_that_files_are_not_asked_for(name: str) -> None:
    reward = next(r for r in SHIPPED if r.name == name)
    options = reward.make_options({"method": "flexible"} if name == "gsm8k" else {})
    sample = Sample(name, "so 1,234\n#### 1234 wugs", "1234", "How many wugs are there?", {"answer_kind": ""})
    watched = _Watched(sample)
    reward.function(watched, options)
    assert watched.read <= {"data_source", "response", "ground_truth", *reward.reads}


@pytest.mark.parametrize("reward", SHIPPED, ids=lambda reward: reward.name)
def test_every_option_says_what_it_means(reward: Reward) -> None:
    meanings = reward.describe()["option_docs"]
    assert meanings.keys() == reward.describe_options().keys()
    assert all(meaning.endswith(".") for meaning in meanings.values())
