"""Engine that generates with the trainer's `hf` rollout, which is slow but needs only transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

from rewardkit.agents.transcript import Transcript
from rewardkit.errors import ConfigError, reason_of
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
from rewardkit.trainer.models.vision import Vision
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.hf import HfRollout


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> HfEngine:
    """Load the model.

    Raises:
        ConfigError: The model or its tokenizer cannot be loaded.
    """
    if settings.sampling_params:
        raise ConfigError("sampling_params needs --engine vllm, or --url")
    tokenizer = load_tokenizer(engine)
    dtype = "auto" if engine.dtype == "auto" else getattr(torch, engine.dtype, None)
    if dtype is None:
        raise ConfigError(f"--dtype '{engine.dtype}' is not a torch dtype; use float32, bfloat16 or auto")
    vision = Vision.of(engine.model, tokenizer, trust_remote_code=engine.trust_remote_code)
    kind = AutoModelForCausalLM if vision is None else AutoModelForImageTextToText
    try:
        model = kind.from_pretrained(engine.model, dtype=dtype, trust_remote_code=engine.trust_remote_code)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load a model from '{engine.model}': {reason_of(error)}") from None
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return HfEngine(model.to(device), tokenizer, eos_ids(engine.model, tokenizer), engine, settings, vision)


class HfEngine:
    """Engine with a transformers model and its tokenizer."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        ends: Sequence[int],
        engine: EngineSettings,
        settings: GenerationSettings,
        vision: Vision | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._vision = vision
        self._settings = settings
        self._ends = list(ends)
        pad = tokenizer.pad_token_id
        self._pad = tokenizer.eos_token_id if pad is None else pad
        self._rollout = HfRollout(
            model, eos_ids=self._ends, pad_id=self._pad, response_length=settings.max_tokens, vision=vision
        )
        longest = window(engine, settings) or 1 << 20
        self._limit = settings.max_prompt_tokens or longest - settings.max_tokens
        self._player: Player | None = None
        if settings.episodes is not None:
            self._player = Player(
                settings,
                Transcript(tokenizer, self._ends),
                longest_prompt=self._limit,
                context=self._limit + settings.max_tokens,
            )

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """See `GenerationEngine.run`."""
        if self._player is not None:
            self._player.check(requests)
            play = self._player.play
            self._rollout.converse(play, requests, self._sampling(), lambda _, one: done(one))
            return
        fitting = encode_fitting(self._tokenizer, self._vision, requests, self._limit, done)
        if not fitting:
            return
        prompts = [prompt.long_ids for _, prompt in fitting]
        width = max(map(len, prompts))
        padded = torch.tensor([[self._pad] * (width - len(ids)) + ids for ids in prompts])
        mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts])
        seeds = [request.seed for request, _ in fitting]
        pictures = [prompt.pictures for _, prompt in fitting]
        found = self._rollout.generate(padded, mask, self._sampling(), seeds, pictures=pictures)
        for i, (request, prompt) in enumerate(fitting):
            length = int(found.response_mask[i].sum())
            log_probs = (
                None if found.rollout_log_probs is None else found.rollout_log_probs[i, :length].tolist()
            )
            done(
                self._completion(
                    request, len(prompt.long_ids), found.responses[i, :length].tolist(), log_probs
                )
            )

    def close(self) -> None:
        """See `GenerationEngine.close`. Does nothing."""

    def _sampling(self) -> Sampling:
        settings = self._settings
        return Sampling(
            1,
            settings.temperature > 0,
            settings.temperature or 1.0,
            settings.top_k,
            settings.top_p,
            log_probs=settings.log_probs,
        )

    def _completion(
        self, request: GenerationRequest, prompt_tokens: int, ids: list[int], log_probs: list[float] | None
    ) -> Completion:
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        finish = "stop" if ids and ids[-1] in self._ends else "length"
        places = [place for stop in self._settings.stop if (place := text.find(stop)) >= 0]
        if places:
            text = text[: min(places)]
            finish = "stop"
        return Completion(request.row, request.sample, text, finish, prompt_tokens, len(ids), log_probs)
