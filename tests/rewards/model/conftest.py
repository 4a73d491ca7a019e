"""Tiny reward models of random weights, saved as normal folders: no download."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="reward models need torch: pip install 'rewardkit[train]'")
pytest.importorskip("transformers", reason="reward models need transformers: pip install 'rewardkit[train]'")

from transformers import AutoConfig, LlamaConfig, LlamaForSequenceClassification

from rewardkit.demo.model import make_tokenizer
from rewardkit.digests import path_digest
from rewardkit.rewards.model import register_reward_model
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score
from tests.closeness import near, terms_of

TEXTS = ["Tom has 3 apples and buys 2 more. How many now?", "Human: hello\n\nAssistant: good day to you"]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer(TEXTS, vocab_size=320)


@pytest.fixture(scope="session")
def make_folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a model folder; the keywords change its configuration."""

    def make(**changes: Any) -> Path:
        settings = {
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 128,
            "num_labels": 1,
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            **changes,
        }
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = LlamaForSequenceClassification(LlamaConfig(**settings))
        with torch.no_grad():  # sharp enough for the scores of different texts to differ
            for parameter in model.parameters():
                parameter.mul_(4.0)
        folder = tmp_path_factory.mktemp("models") / "tiny-rm"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


def same_scores(folder: Path | str, scores: Sequence[float]) -> Any:
    """Return what equals scores of the folder's model, which in other company have other orders of sums."""
    config = AutoConfig.from_pretrained(folder)
    terms = terms_of(config, config.max_position_embeddings)
    return near(list(scores), terms, max(map(abs, scores)), torch.float32)


def scorer_of(folder: Path) -> str:
    """The name of a folder's model in each score, with the digest of its files."""
    return f"{folder.name}@{path_digest(folder).removeprefix('sha256:')[:8]}"


def by_vllm(folder: Path, asked: Sequence[Sample]) -> list[Score]:
    """Scores by vLLM in a process of its own, with which its memory goes; needs the fixture `registry`."""
    options: dict[str, Any] = {"backend": "vllm", "dtype": "float32", "gpu_memory_utilization": 0.1}
    # A device is named, as training names each process's.
    register_reward_model(folder, [asked[0].data_source], device="cpu", **options)
    with Scorer() as scorer:
        return scorer.score_batch(asked)


@pytest.fixture(scope="session")
def folder(make_folder: Callable[..., Path]) -> Path:
    return make_folder()
