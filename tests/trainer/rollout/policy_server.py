"""A stand-in for a vLLM server that draws from the weights which it was given, token by token.

It pauses, goes on under new weights in the middle of a response, and says which token is of which, as vLLM does.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import torch
from safetensors import safe_open

from tests.trainer.rollout.stub_server import Answered, Stub


class PolicyStub(Stub):
    """A server with a model; what it draws depends on weights, prompt and seed alone."""

    def __init__(self, model: Any) -> None:
        """Take a model that nobody else uses."""
        self._model = model.eval()
        self._parameters = dict(model.named_parameters())
        self._busy = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self.token_seconds = 0.0
        """What a token takes, asleep."""
        self.before_token: Any = lambda request, n: None
        """Called before the n-th token of a request."""
        self.drawn: Any = lambda request, choice: None
        """Called with a turn and what has come of it."""
        super().__init__()

    def forget(self) -> None:
        """Have no weights, as a server that was started again."""
        self.version = "default"
        self._open.set()
        with torch.no_grad():
            for parameter in self._parameters.values():
                parameter.fill_(torch.nan)

    def published(self) -> int:
        """How often it was given weights, but for those of NaN that come first."""
        return self.calls.count("/resume") - 1

    def turn(self, request: Answered) -> Answered | None:
        self.turns.append(request)
        if self.dies_at is not None and len(self.turns) > self.dies_at:
            self.gone = True
            threading.Thread(target=self.close).start()
        if self.gone:
            return None
        answer = self._answered(request)
        self.drawn(request, answer["choices"][0])
        return answer

    def _answered(self, request: Answered) -> Answered:
        asked = request["sampling_params"]
        generator = torch.Generator().manual_seed(asked["seed"]) if asked.get("seed") is not None else None
        ids: list[int] = []
        log_probs: list[float] = []
        spans: list[dict[str, Any]] = []
        while len(ids) < asked["max_tokens"]:
            self.before_token(request, len(ids))
            if self.token_seconds:
                time.sleep(self.token_seconds)
            self._open.wait()
            with self._busy:
                version = self.version
                scaled = self._logits([*request["token_ids"], *ids], asked)
            of_all = torch.log_softmax(scaled, dim=0)
            greedy = not asked.get("temperature", 1.0)
            drawn = int(
                of_all.argmax() if greedy else torch.multinomial(of_all.exp(), 1, generator=generator)
            )
            if not spans or spans[-1]["version"] != version:
                spans.append({"version": version, "start": len(ids), "end": len(ids)})
            spans[-1]["end"] += 1
            ids.append(drawn)
            log_probs.append(float(of_all[drawn]))
            if drawn in asked["stop_token_ids"]:
                break
        ended = ids[-1] in asked["stop_token_ids"]
        return {
            "choices": [
                {
                    "index": 0,
                    "token_ids": ids,
                    "finish_reason": "stop" if ended else "length",
                    "weight_versions": spans,
                    "logprobs": {
                        "content": [
                            {"token_id": i, "logprob": p} for i, p in zip(ids, log_probs, strict=True)
                        ]
                    },
                }
            ],
            "usage": {"prompt_tokens": len(request["token_ids"])},
        }

    @torch.no_grad()
    def _logits(self, ids: list[int], asked: Answered) -> torch.Tensor:
        logits: torch.Tensor = self._model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        return logits.float() / (asked.get("temperature") or 1.0)

    def control(self, path: str, body: Answered) -> Answered:
        if path == "/pause":
            self._open.clear()
        if path == "/update_weights":
            info = body["update_info"]
            with safe_open(info["path"], "pt") as file, self._busy, torch.no_grad():
                for name in info["names"]:
                    self._parameters[name].copy_(file.get_tensor(name))
        if path == "/finish_weight_update":
            with self._busy:
                self.version = body["weight_version"]
        if path == "/resume":
            self._open.set()
        self.calls.append(path)
        return {}
