"""verl's `generation.yaml` (of `main_generation`, up to 0.7.0) as the settings of a run.

A key that changes the responses is taken; one that only says how verl runs is named and left; an unknown one
is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.offline.verl_evaluation import read_flat_yaml

TAKEN = {
    "data.path": "file",
    "data.output_path": "out",
    "data.prompt_key": "prompt_key",
    "data.n_samples": "n",
    "data.trust_remote_code": "trust_remote_code",
    "model.path": "model",
    "rollout.name": "engine",
    "rollout.temperature": "temperature",
    "rollout.top_k": "top_k",
    "rollout.top_p": "top_p",
    "rollout.prompt_length": "max_prompt_tokens",
    "rollout.response_length": "max_tokens",
    "rollout.dtype": "dtype",
    "rollout.gpu_memory_utilization": "gpu_memory_utilization",
    "rollout.tensor_model_parallel_size": "tensor_parallel_size",
    "rollout.max_model_len": "max_model_len",
    "rollout.max_num_seqs": "max_num_seqs",
    "rollout.calculate_log_probs": "log_probs",
    "rollout.seed": "seed",
    "ray_kwargs.ray_init.num_cpus": "num_cpus",
    "ray_kwargs.timeline_json_file": "timeline",
}
"""verl's key -> ours."""

WITHOUT_EFFECT = (
    "trainer.*",
    "actor.*",
    "model.external_lib",
    "data.batch_size",
    "rollout.n",
    "rollout.mode",
    "rollout.do_sample",
    "rollout.free_cache_engine",
    "rollout.load_format",
    "rollout.enforce_eager",
    "rollout.ignore_eos",
    "rollout.data_parallel_size",
    "rollout.max_num_batched_tokens",
    "rollout.disable_log_stats",
    "rollout.enable_chunked_prefill",
    "rollout.log_prob_*",
    "rollout.engine_kwargs.*",
)
"""Keys that say how verl runs, or that `main_generation` itself does not read (`rollout.n`)."""


def read_generation_config(path: Path) -> dict[str, Any]:
    """Return the settings that the file gives, by our names.

    Raises:
        InputError: there is no such file, or it is no YAML mapping.
        ConfigError: a key that verl does not have, or a value that cannot be had here.
    """
    given = read_flat_yaml(path)
    _check(given, path)
    values = {TAKEN[key]: value for key, value in given.items() if key in TAKEN and value is not None}
    if values.get("engine") not in (None, "vllm", "hf"):
        raise ConfigError(f"rollout.name={values['engine']} in {path}: the engines here are vllm and hf")
    if given.get("rollout.do_sample") is False:
        values["temperature"] = 0.0
    if values.get("temperature") == 0 and values.get("n", 1) > 1:
        raise ConfigError(
            f"{path}: temperature 0 gives the same response {values['n']} times; set data.n_samples=1"
        )
    return values


def _check(given: Mapping[str, Any], path: Path) -> None:
    for key, value in given.items():
        if key == "rollout.ignore_eos" and value:
            raise ConfigError(f"rollout.ignore_eos=true in {path}: a response ends at its end token here")
        if key not in TAKEN and not any(fnmatchcase(key, known) for known in WITHOUT_EFFECT):
            raise ConfigError(f"unknown key '{key}' in {path}{did_you_mean(key, TAKEN)}")
