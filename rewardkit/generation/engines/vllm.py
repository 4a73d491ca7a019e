"""Engine that runs vLLM in this process through `vllm.LLM`.

This module runs vLLM's step loop itself, so that each response is available as soon as it is finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rewardkit.agents.transcript import Transcript
from rewardkit.errors import ConfigError
from rewardkit.generation.engines.limits import window
from rewardkit.generation.engines.tokens import encode_fitting, eos_ids, load_tokenizer
from rewardkit.generation.playing import Player
from rewardkit.generation.types import (
    Completion,
    Done,
    EngineSettings,
    GenerationRequest,
    GenerationSettings,
)
from rewardkit.model_shapes import cpu_cache_bytes
from rewardkit.trainer.models.vision import Vision
from rewardkit.trainer.rollout.sampling_params import check_sampling_params, extended
from rewardkit.trainer.rollout.stepping import Stepper
from rewardkit.trainer.rollout.vllm_arguments import (
    barring,
    check_expanded,
    constraint_arguments,
    llm_arguments,
    vllm_prompt,
)
from rewardkit.trainer.rollout.vllm_limits import reason_of
from rewardkit.vllm_starts import end_llm, import_vllm, no_compiling, start_llm, undisturbed

DEFAULT_PROMPT = 4096
"""Maximum number of tokens in a prompt if no setting limits it. Without a limit, vLLM would reserve memory
for the model's whole context."""


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> VllmEngine:
    """Start vLLM.

    Raises:
        MissingDependencyError: vLLM is not installed.
        ConfigError: The model cannot be loaded.
    """
    tokenizer = load_tokenizer(engine)
    owned = (*_own_parameters(settings, 0, 1), "n", "stop", "output_kind")
    check_sampling_params("sampling_params", settings.sampling_params, owned, text=True, trained=False)
    on_cpu = not torch.cuda.is_available()
    given = arguments(engine, settings, on_cpu=on_cpu)
    vision = Vision.of(engine.model, tokenizer, trust_remote_code=engine.trust_remote_code)
    # No variable here holds the LLM, since an exception that an import has kept may keep this frame.
    return VllmEngine(
        _start(engine.model, given, on_cpu), engine.model, tokenizer, settings, on_cpu=on_cpu, vision=vision
    )


def _start(model: str, given: Mapping[str, Any], on_cpu: bool) -> Any:
    with undisturbed(), no_compiling(on_cpu):
        import_vllm("cannot import vLLM", ", or pass --engine hf")
        try:
            return start_llm(model, **given)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            raise ConfigError(f"vLLM cannot load '{model}': {reason_of(error)}") from None


def arguments(engine: EngineSettings, settings: GenerationSettings, *, on_cpu: bool) -> dict[str, Any]:
    """Return the arguments for `vllm.LLM`."""
    wanted = (settings.max_prompt_tokens or DEFAULT_PROMPT) + settings.max_tokens
    most = window(engine, settings)
    longest = engine.max_model_len or min(wanted, most or wanted)
    common = llm_arguments(
        dtype=engine.dtype,
        tensor_parallel_size=engine.tensor_parallel_size,
        max_model_len=longest,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=8192,
        seed=settings.seed,
        gpu_memory_utilization=engine.gpu_memory_utilization,
        cpu_cache_bytes=(
            cpu_cache_bytes(engine.model, longest, 2 * engine.max_num_seqs * longest) if on_cpu else None
        ),
    )
    common |= {
        "trust_remote_code": engine.trust_remote_code,
        "enable_prefix_caching": True,
        "disable_log_stats": True,
    }
    return common | {"enforce_eager": True} if on_cpu else common


class VllmEngine:
    """Engine with a running `vllm.LLM`."""

    def __init__(
        self,
        llm: Any,
        model: str,
        tokenizer: Any,
        settings: GenerationSettings,
        *,
        on_cpu: bool,
        vision: Vision | None = None,
    ) -> None:
        self._llm = llm
        self._tokenizer = tokenizer
        self._settings = settings
        self._on_cpu = on_cpu
        self._vision = vision
        context = llm.llm_engine.model_config.max_model_len
        self._limit = context - settings.max_tokens
        self._player: Player | None = None
        if settings.episodes is not None:
            transcript = Transcript(tokenizer, eos_ids(model, tokenizer))
            self._player = Player(settings, transcript, longest_prompt=self._limit, context=context)

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """See `GenerationEngine.run`."""
        if self._player is not None:
            self._converse(self._player, requests, done)
            return
        fitting = encode_fitting(self._tokenizer, self._vision, requests, self._limit, done)
        prompts = [vllm_prompt(prompt) for _, prompt in fitting]
        parameters = [self._parameters(request.seed) for request, _ in fitting]
        with no_compiling(self._on_cpu):
            names = self._llm.enqueue(prompts, parameters, use_tqdm=False)
            asked = {name.partition("-")[0]: one for name, one in zip(names, fitting, strict=True)}
            while self._llm.llm_engine.has_unfinished_requests():
                for result in self._llm.llm_engine.step():
                    if result.finished:
                        request, prompt = asked[result.request_id.partition("-")[0]]
                        check_expanded(prompt, result.prompt_token_ids)
                        done(_completion(request, result))

    def close(self) -> None:
        """See `GenerationEngine.close`."""
        del self._llm
        end_llm()

    def _converse(self, player: Player, requests: Sequence[GenerationRequest], done: Done) -> None:
        """Run episodes, adding their turns to the batch between the engine's steps."""
        player.check(requests)
        config = self._llm.llm_engine.model_config
        stepper = Stepper(
            self._llm.llm_engine,
            _Alone(),
            self._turn_parameters,
            lambda _, one: done(one),
            at_work=lambda: no_compiling(self._on_cpu),
            max_len=config.max_model_len,
            vocabulary=config.get_vocab_size(),
            constrains=True,
        )
        stepper.run(player.play, requests)

    def _turn_parameters(
        self, seed: int, max_tokens: int, stop_token_ids: Sequence[int], constraint: Mapping[str, Any]
    ) -> Any:
        """Return the sampling parameters for a turn, without stop strings, which the episode applies."""
        own = {"stop_token_ids": list(stop_token_ids), "detokenize": False, "flat_logprobs": True}
        given = extended(own, self._common(seed, max_tokens)) | constraint_arguments(constraint)
        from vllm import SamplingParams

        return SamplingParams(**given)

    def _parameters(self, seed: int) -> Any:
        given = barring(self._vision, self._common(seed, self._settings.max_tokens))
        from vllm import SamplingParams

        return SamplingParams(**given, stop=list(self._settings.stop) or None)

    def _common(self, seed: int, max_tokens: int) -> dict[str, Any]:
        more = constraint_arguments(self._settings.sampling_params)
        return extended(_own_parameters(self._settings, seed, max_tokens), more)


def _own_parameters(settings: GenerationSettings, seed: int, max_tokens: int) -> dict[str, Any]:
    greedy = settings.temperature == 0
    return {
        "temperature": settings.temperature,
        "top_p": 1.0 if greedy else settings.top_p,
        "top_k": -1 if greedy else settings.top_k,
        "seed": None if greedy else seed,
        "max_tokens": max_tokens,
        "logprobs": 0 if settings.log_probs else None,  # 0 requests only the sampled token
    }


class _Alone:
    """Process group that contains only this process. vLLM's own workers do not count."""

    rank_in_group = 0
    world_size = 1


def _completion(request: GenerationRequest, result: Any) -> Completion:
    output = result.outputs[0]
    log_probs = None
    if output.logprobs is not None:
        log_probs = [of[token].logprob for token, of in zip(output.token_ids, output.logprobs, strict=True)]
    return Completion(
        request.row,
        request.sample,
        output.text,
        output.finish_reason or "stop",
        len(result.prompt_token_ids),
        len(output.token_ids),
        log_probs,
    )
