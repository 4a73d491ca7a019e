"""Reads verl's `generation.yaml` (of `main_generation`, up to 0.7.0), or the composed config of later
versions.

Keys that change the responses become settings. Keys that only say how verl runs are named and ignored.
Unknown keys are errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    "rollout.multi_turn.format": "calls",
    "rollout.multi_turn.interaction_config_path": "interactions",
    "rollout.multi_turn.max_assistant_turns": "max_assistant_turns",
    "rollout.multi_turn.max_user_turns": "max_user_turns",
    "rollout.multi_turn.max_parallel_calls": "max_parallel_calls",
    "rollout.multi_turn.max_tool_response_length": "max_tool_response_length",
    "rollout.multi_turn.tool_response_truncate_side": "tool_response_truncate_side",
    "rollout.agent.default_agent_loop": "agent",
    "ray_kwargs.ray_init.num_cpus": "num_cpus",
    "ray_kwargs.timeline_json_file": "timeline",
}
"""verl's key -> ours."""

TOOLS = ("rollout.multi_turn.tool_config_path", "rollout.multi_turn.function_tool_path")
"""Two keys of verl's that become the one setting `tools`."""
COMPOSED = "actor_rollout_ref."
"""The beginning of the keys of verl 0.8 and later, whose generation reads the trainer's config."""
_COMPOSED_ALSO = {"data.train_files": "data.path", "rollout.n": "data.n_samples"}

_NOT_OF_GENERATION = (
    *(
        "data.*",
        "model.*",
        "ref.*",
        "critic.*",
        "algorithm.*",
        "reward*",
        "custom_reward_function.*",
        "hybrid_engine",
    ),
    *("global_profiler.*", "transfer_queue.*", "nccl_timeout"),
)
"""Groups of a composed config that generation does not read."""
_OF_EPISODES = frozenset(
    TAKEN[key] for key in TAKEN if key.startswith(("rollout.multi_turn.", "rollout.agent."))
)

WITHOUT_EFFECT = (
    "rollout.multi_turn.enable",
    "rollout.multi_turn.use_inference_chat_template",
    "rollout.multi_turn.tokenization_sanity_check_mode",
    "rollout.multi_turn.num_repeat_rollouts",
    "rollout.agent.num_workers",
    "rollout.agent.custom_async_server.*",
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
        ConfigError: verl does not have a key, or a value is not supported here.
    """
    written = read_flat_yaml(path)
    given = _named_as_once(written)
    _check(given, path, _NOT_OF_GENERATION if given != written else ())
    values = {TAKEN[key]: value for key, value in given.items() if key in TAKEN and value is not None}
    for name in ("max_assistant_turns", "max_user_turns"):
        if values.get(name) == 0:
            del values[name]  # no limit, in verl
    if given.get("rollout.multi_turn.enable") is False:
        return {name: value for name, value in values.items() if name not in _OF_EPISODES}
    if sources := [str(given[key]) for key in TOOLS if given.get(key)]:
        values["tools"] = ",".join(sources)
    if values.get("engine") not in (None, "vllm", "hf"):
        raise ConfigError(f"rollout.name={values['engine']} in {path}: the engines here are vllm and hf")
    if given.get("rollout.do_sample") is False:
        values["temperature"] = 0.0
    if values.get("temperature") == 0 and values.get("n", 1) > 1:
        raise ConfigError(
            f"{path}: temperature 0 gives the same response {values['n']} times; set data.n_samples=1"
        )
    return values


def _named_as_once(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a composed config under the names that they had in `generation.yaml`."""
    if not any(key.startswith(COMPOSED) for key in given):
        return dict(given)
    shorter = {key.removeprefix(COMPOSED): value for key, value in given.items()}
    return {_COMPOSED_ALSO.get(key, key): value for key, value in shorter.items()}


def _check(given: Mapping[str, Any], path: Path, not_read: Sequence[str]) -> None:
    for key, value in given.items():
        if key == "rollout.ignore_eos" and value:
            raise ConfigError(f"rollout.ignore_eos=true in {path}: a response ends at its end token here")
        if key == "rollout.agent.agent_loop_config_path" and value:
            raise ConfigError(f"{key} in {path}: name a loop of your own as path.py:name in --agent")
        known_key = key in TAKEN or key in TOOLS or key == "rollout.agent.agent_loop_config_path"
        if not known_key and not any(fnmatchcase(key, known) for known in (*WITHOUT_EFFECT, *not_read)):
            raise ConfigError(f"unknown key '{key}' in {path}{did_you_mean(key, TAKEN)}")
