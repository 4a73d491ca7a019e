"""What an extra is missing for says so before work begins, with the extra's name."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from rewardkit.checks.first_look import look_at_prompts
from rewardkit.composition import compose
from rewardkit.errors import MissingDependencyError
from rewardkit.registry import REGISTRY, Registry
from rewardkit.rewards.model import register_reward_model
from rewardkit.scoring.scorer import Scorer

EXTRAS = {
    "sacrebleu": "metrics",
    "rapidfuzz": "metrics",
    "regex": "structure",
    "langdetect": "instructions",
    "reasoning_gym": "reasoning-gym",
    "torch": "model",
}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without any extra."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in EXTRAS else find(name, *a)
    )


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("source, extra", [
    ("bleu", "metrics"), ("rouge_l", "metrics"), ("regex", "structure"), ("google/IFEval", "instructions"),
    ("reasoning_gym", "reasoning-gym"), ("my/composition", "metrics"), ("rank", "metrics"), ("my/model", "model"),
])  # fmt: skip
def test_a_reward_without_its_extra_is_refused_before_a_row_is_scored(
    source: str, extra: str, tmp_path: Path
) -> None:
    registry = Registry()
    for one in REGISTRY:
        registry.register(one)
    nested = {"sum": ["gsm8k", {"min": ["exact", "bleu"]}]}
    compose("my_composition", nested, ["my/composition"], registry=registry)
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForSequenceClassification"]}')
    register_reward_model(tmp_path, ["my/model"], name="my_model", registry=registry)
    options = {"rank": {"reward": "rouge_l"}} if source == "rank" else {}
    refused = pytest.raises(MissingDependencyError, match=rf"rewardkit\[{extra}\]")
    with refused, Scorer(registry=registry, options=options) as scorer:
        scorer.check([source])


@pytest.mark.usefixtures("bare")
def test_prompts_whose_reward_lacks_its_extra_are_found_before_a_model_answers_them(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        json.dumps({"data_source": "bleu", "prompt": "Say hello.", "ground_truth": "hello"}) + "\n"
    )
    with Scorer(workers=1) as scorer:
        (found,) = look_at_prompts([file], scorer=scorer)
    assert "rewardkit[metrics]" in found.line()
