"""Reward models of other trainers are scored by their own heads, whatever these are called, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3Config, Qwen3ForSequenceClassification

from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, check_path, load, register_reward_model, score
from rewardkit.rewards.model.heads import find_head
from rewardkit.types import Sample
from tests.rewards.model.conftest import same_scores, scorer_of

ASKED = [Sample("test/rm", "apples " * n, "", f"Tom has {n}?") for n in (1, 3, 9)]


def changed(folder: Path, out: Path, weights: dict[str, Any], **config: Any) -> Path:
    """A copy of a folder whose head is replaced by `weights` and whose config.json is changed."""
    out.mkdir()
    for file in folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    body = load_file(folder / "model.safetensors")
    body.pop("score.weight")
    save_file({**body, **weights}, out / "model.safetensors", metadata={"format": "pt"})
    read = json.loads((folder / "config.json").read_text())
    for name in ("num_labels", "id2label", "label2id"):
        read.pop(name, None)
    (out / "config.json").write_text(json.dumps({**read, **config}))
    return out


def scores(folder: Path, **options: Any) -> list[float]:
    found = score(ASKED, ModelOptions(str(folder), **options))
    assert all(one.ok for one in found)
    return [one.score for one in found]


@pytest.fixture(scope="module")
def head(folder: Path) -> Any:
    return load_file(folder / "model.safetensors")["score.weight"]


@pytest.mark.parametrize("name", ["score", "value_head"])
def test_openrlhf_s_folder_is_scored_by_its_head(folder: Path, head: Any, name: str, tmp_path: Path) -> None:
    of_class = {"architectures": ["RewardModel"], "mean": 1.0, "std": 2.0, "normalize_reward": False}
    theirs = changed(folder, tmp_path / "rm", {f"{name}.weight": head}, **of_class)
    assert scores(theirs) == same_scores(folder, scores(folder))


def test_a_value_head_beside_a_language_model_counts_with_its_bias(
    folder: Path, head: Any, tmp_path: Path
) -> None:
    body = {"lm_head.weight": torch.zeros(320, 32)}
    theirs = changed(folder, tmp_path / "rm", body, architectures=["LlamaForCausalLM"])
    of_head = {"v_head.summary.weight": head.clone(), "v_head.summary.bias": torch.tensor([5.0])}
    save_file(of_head, theirs / "value_head.safetensors")
    assert scores(theirs) == same_scores(folder, [one + 5.0 for one in scores(folder)])


def test_a_bias_that_the_class_has_no_place_for_counts(folder: Path, head: Any, tmp_path: Path) -> None:
    theirs = changed(
        folder, tmp_path / "rm", {"score.weight": head, "score.bias": torch.tensor([5.0])}, num_labels=1
    )
    assert scores(theirs) == same_scores(folder, [one + 5.0 for one in scores(folder)])


def test_a_class_of_another_family_is_scored_as_transformers_does(tokenizer: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    model = Qwen3ForSequenceClassification(
        Qwen3Config(vocab_size=len(tokenizer), num_labels=1, pad_token_id=0, **sizes, **heads)
    ).eval()
    model.save_pretrained(tmp_path / "rm")
    tokenizer.save_pretrained(tmp_path / "rm")
    encoder = load(ModelOptions(str(tmp_path / "rm"))).encoder
    with torch.no_grad():
        theirs = [
            float(model(input_ids=torch.tensor([encoder.encode(one.prompt, one.response).ids])).logits)
            for one in ASKED
        ]
    assert scores(tmp_path / "rm") == same_scores(tmp_path / "rm", theirs)


def test_a_padding_token_that_ends_every_turn_does_not_move_the_score(
    folder: Path, head: Any, tokenizer: Any, tmp_path: Path
) -> None:
    end = {"num_labels": 1, "pad_token_id": tokenizer.eos_token_id}
    same = changed(folder, tmp_path / "rm", {"score.weight": head}, **end)
    assert scores(same) == same_scores(folder, scores(folder))


def test_one_of_several_heads_is_named_by_an_option(folder: Path, head: Any, tmp_path: Path) -> None:
    both = {"score.weight": -head, "value_head.weight": head}
    theirs = changed(folder, tmp_path / "rm", both, architectures=["RewardModel"])
    with pytest.raises(InputError, match=r"several heads: score .*, value_head .*option head"):
        check_path(str(theirs))
    with pytest.raises(InputError, match="no head 'scroe'; heads in its weight files: score"):
        check_path(str(theirs), "scroe")
    assert scores(theirs, head="value_head") == same_scores(folder, scores(folder))
    assert scores(theirs, head="score") == same_scores(folder, [-one for one in scores(folder)])


@pytest.mark.parametrize(
    ("weights", "architecture", "why"),
    [
        ({"lm_head.weight": (320, 32)}, "LlamaForCausalLM", r"no score head \(LlamaForCausalLM\)"),
        ({"score.0.weight": (32, 32), "score.2.weight": (1, 32)}, "Qwen2ForRewardModel", "no score head"),
        ({"score.weight": (2, 32)}, "LlamaForTokenClassification", "option head=score"),
        ({"score.weight": (3, 32)}, "LlamaForSequenceClassification", "3 labels"),
        ({"score.weight": (77, 32)}, "LlamaForSequenceClassification", "score.weight"),
        ({"score.weight": (1, 16)}, "LlamaForSequenceClassification", "hidden size is 32"),
    ],
)
def test_a_folder_without_a_head_for_responses_is_refused_in_one_line(
    weights: dict[str, tuple[int, int]], architecture: str, why: str, folder: Path, tmp_path: Path
) -> None:
    made = {name: torch.ones(shape) for name, shape in weights.items()}
    theirs = changed(folder, tmp_path / "rm", made, architectures=[architecture])
    with pytest.raises((InputError, OptionsError), match=why) as caught:
        check_path(str(theirs))
        load(ModelOptions(str(theirs)))
    assert "\n" not in str(caught.value)


def test_a_head_is_read_from_headers_alone(folder: Path) -> None:
    found = find_head(str(folder))
    assert found is not None and (found.name, found.rows, found.columns) == ("score", 1, 32)


def test_a_score_names_the_weights_that_made_it(
    folder: Path, head: Any, tmp_path: Path, registry: Registry
) -> None:
    other = changed(folder, tmp_path / "tiny-rm", {"score.weight": 2 * head}, num_labels=1)
    named = [register_reward_model(one, ["test/rm"], registry=Registry()).scorer for one in (folder, other)]
    assert named == [scorer_of(folder), scorer_of(other)] and len({*named}) == 2
