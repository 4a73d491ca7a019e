"""Critics: what a folder brings with it, and what a type may not change."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import LlamaConfig, LlamaForSequenceClassification

from rewardkit.trainer.models.load import load_causal_lm, load_value_model
from tests.closeness import assert_same


def classifier(folder: Path, labels: int) -> Any:
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=labels,
        pad_token_id=0,
    )
    model = LlamaForSequenceClassification(config).eval()
    torch.nn.init.normal_(model.score.weight)
    model.save_pretrained(folder)
    return model


@pytest.mark.usefixtures("float64")
def test_a_trained_value_head_is_loaded_and_said(tmp_path: Path) -> None:
    model = classifier(tmp_path, labels=1)
    said: list[str] = []
    critic = load_value_model(str(tmp_path), torch.float64, say=said.append)
    assert len(said) == 1 and said[0].startswith("critic: ") and said[0].endswith(f" score of {tmp_path}")
    ids = torch.tensor([[5, 6, 7]])
    values = critic(ids, torch.arange(3)[None], torch.tensor([2]))
    assert_same(values, model(input_ids=ids).logits[0])


def test_a_head_that_does_not_fit_starts_anew_and_is_said(tmp_path: Path) -> None:
    classifier(tmp_path, labels=3)
    said: list[str] = []
    critic = load_value_model(str(tmp_path), say=said.append)
    assert not bool(critic.head.weight.any())
    (line,) = said
    assert "score (3x32) " in line and "not 1x32" in line


def test_a_language_model_s_folder_has_no_value_head(model_folder: Path) -> None:
    said: list[str] = []
    assert not bool(load_value_model(str(model_folder), say=said.append).head.weight.any())
    assert said == []


def test_half_precision_leaves_the_rotary_frequencies_exact(model_folder: Path) -> None:
    def frequencies(model: Any) -> dict[str, Any]:
        return {name: b for name, b in model.named_buffers() if "inv_freq" in name}

    exact = frequencies(load_value_model(str(model_folder)))
    for half in (
        load_value_model(str(model_folder), torch.bfloat16),
        load_causal_lm(str(model_folder), torch.bfloat16),
    ):
        assert next(half.parameters()).dtype == torch.bfloat16
        found = frequencies(half)
        assert found
        for name, buffer in found.items():
            assert torch.equal(
                buffer, next(b for n, b in exact.items() if n.endswith(name.removeprefix("model.")))
            )
