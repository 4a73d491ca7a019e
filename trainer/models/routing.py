"""Router replay, which sends each token to the experts that the rollout engine chose for it.

If the routers chose again, rounding alone could lead to different experts, and the trained policy would
differ from the policy that generated the tokens. The routers are still trained, because the policy computes
the experts' weights itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rewardkit.errors import ConfigError

KEY = "actor_rollout_ref.rollout.router_replay"
ROUTES = "routed_experts"
"""Name of the tensor with expert indices in a batch, (B, L, layers * k) int32. Unknown indices are -1."""


class RouterReplay:
    """Hooks that make a model's routers send the tokens in the next forward pass to given experts."""

    def __init__(self, body: nn.Module) -> None:
        self.routers: list[nn.Module] = []
        self._normed: bool | None = None
        """True if the weights of a token's experts add up to 1. None until the first forward pass."""
        self._routes: Tensor | None = None
        """Experts for each token, (layers, N, k). Kept for the backward pass, which may recompute layers."""
        for module in body.modules():
            if type(module).__name__.lower().endswith("topkrouter"):
                module.register_forward_hook(self._hook(len(self.routers)))
                self.routers.append(module)

    def expect(self, routes: Tensor | None) -> None:
        """Set the experts for the next forward pass, (R, W, layers * k), or None to let the routers choose.

        Raises:
            ConfigError: The experts cannot be divided equally among the routers in the model.
        """
        self._routes = None
        if routes is None:
            return
        layers = len(self.routers)
        if not layers or routes.shape[-1] % layers:
            raise ConfigError(
                f"the rollout engine returned {routes.shape[-1]} experts for each token, which cannot be "
                f"divided among the {layers} routers that rewardkit can control in the policy; set "
                f"{KEY}=false"
            )
        self._routes = routes.reshape(routes.shape[0] * routes.shape[1], layers, -1).transpose(0, 1).long()

    def _hook(self, layer: int) -> Any:
        def replay(module: nn.Module, given: Any, result: Any) -> Any:
            return result if self._routes is None else self._replayed(result, self._routes[layer])

        return replay

    def _replayed(self, result: Any, wanted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, weights and ids for the wanted experts, in the format of transformers' routers."""
        if not isinstance(result, tuple) or len(result) != 3:
            raise ConfigError(f"{KEY}=true does not support the routers of this model; set {KEY}=false")
        logits, weights, ids = result
        probabilities = logits.float().softmax(dim=-1)
        if self._normed is None:
            self._normed = _are_normed(probabilities.detach().gather(1, ids), weights.detach().float())
        chosen = torch.where(wanted >= 0, wanted, ids)
        found = probabilities.gather(1, chosen)
        if self._normed:
            found = found / found.sum(dim=-1, keepdim=True)
        return logits, found.to(weights.dtype), chosen


def _are_normed(shares: Tensor, weights: Tensor) -> bool:
    """Return True if weights are the experts' probabilities, (N, k), divided by each token's sum.

    Return False if weights are the probabilities themselves.
    """
    for normed, expected in ((True, shares / shares.sum(dim=-1, keepdim=True)), (False, shares)):
        if bool((weights - expected).abs().max() < 0.01):
            return normed
    raise ConfigError(
        f"{KEY}=true needs a model that weights experts by router probabilities; set {KEY}=false"
    )


def align_routes(routes: list[Any], attention_mask: Tensor) -> Tensor:
    """Return the experts for all rows, (B, L, layers * k) int32, aligned with each row's tokens.

    Args:
        routes: Experts for each row, (tokens, layers, k). They may cover only the first tokens in the row.
        attention_mask: Attention mask, (B, L), 1 on tokens.
    """
    width = max((route[0].size for route in routes if len(route)), default=0)
    placed = torch.full((*attention_mask.shape, width), -1, dtype=torch.int32)
    for row, route in enumerate(routes):
        places = attention_mask[row].nonzero().squeeze(1)[: len(route)].cpu()
        placed[row, places] = torch.as_tensor(route[: len(places)].astype("int32")).flatten(1)
    return placed.to(attention_mask.device)
