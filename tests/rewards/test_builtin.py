"""The table of rewards we ship: every name resolves, every default fits, every one can be described."""

from __future__ import annotations

import pytest

from rewardkit import Sample, Scorer
from rewardkit.registry import Reward
from rewardkit.rewards import BUILTIN


@pytest.mark.parametrize("reward", BUILTIN, ids=lambda reward: reward.name)
def test_every_reward_loads_and_describes_itself(reward: Reward) -> None:
    assert callable(reward.function)
    assert reward.describe()["options"] == reward.describe_options()
    assert reward.summary


@pytest.mark.parametrize(
    ("data_source", "right", "wrong"),
    [
        ("gsm8k", 1.0, 0.1),
        ("lighteval/MATH", 1.0, 0.0),
        ("DigitalLearningGmbH/MATH-lighteval", 1.0, 0.0),
        ("HuggingFaceH4/MATH-500", 1.0, 0.0),
        ("math", 1.0, 0.0),
        ("aime2024", 1.0, 0.0),
        ("AIME2024", 1.0, 0.0),
        ("numina_olympiads", 1.0, 0.0),
        ("math_dapo", 1.0, -1.0),
        ("math_dapo_reasoning", 1.0, -1.0),
    ],
)
def test_each_data_source_pays_what_its_field_expects(data_source: str, right: float, wrong: float) -> None:
    with Scorer(workers=1) as scorer:
        answers = ["so \\boxed{72}\n#### 72", "so \\boxed{73}\n#### 73"]
        scores = scorer.score_batch([Sample(data_source, answer, "72") for answer in answers])
    assert [s.score for s in scores] == [right, wrong]
    assert [s.correct for s in scores] == [True, False]
