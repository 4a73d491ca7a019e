"""Language models for training, which return log-probabilities of given tokens or one value per token.

FSDP2 gathers weights in the root's `forward`, so all code that needs the weights runs in that method.
`workers/forward.py` converts a batch to `ids` and `positions`, `load.py` loads models, and `sharding.py`
shards them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rewardkit.trainer.algorithms.log_probs import Entropy, compiled_log_probs, log_probs_at
from rewardkit.trainer.distributed import gathered
from rewardkit.trainer.models import CHUNK_ELEMENTS
from rewardkit.trainer.models.attention import Packed, attending
from rewardkit.trainer.models.routing import RouterReplay
from rewardkit.trainer.models.sequence import gather_values, own_part
from rewardkit.trainer.models.vision import PictureBook

Packing = Literal["off", "rows", "flat"]
"""Packing of sequences: `off` for one sequence per row, `rows` if short sequences share a row, and `flat` for
all sequences in one row."""

OfLogits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Function that takes hidden states, (n, H), logits at the temperature, (n, V) float32, and the indices of
n targets. It returns figures for these targets, (n, c)."""
_BARRED = -1e4
"""Logit of tokens that are never generated. It is finite, because entropies multiply it by 0."""

log = logging.getLogger(__name__)


class PolicyModel(nn.Module):
    """Causal language model that returns log-probabilities of tokens without storing all logits at once."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        self.packing: Packing = "off"
        self.compiled = False
        """True if a compiled function computes log-probabilities from logits."""
        self.book: PictureBook | None = None
        """Pictures of the run, if the model is a vision-language model."""
        self._routing: RouterReplay | None = None
        self._cap = _softcap(body)
        self._scale: float | None = None
        if not has_no_weights(body):
            self._scale = _logit_scale(body, self._cap, body.device)

    def find_out(self, device: torch.device) -> None:
        """Determine the body's properties by running it on `device`. All weights must have been read."""
        self._scale = _logit_scale(self.body, self._cap, device)
        if not keeps_apart(self.body, device):
            self.packing = "off"

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        places: Tensor,
        targets: Tensor,
        temperature: float,
        entropy: Entropy,
        packed: Packed | None = None,
        routes: Tensor | None = None,
        more: OfLogits | None = None,
        shown: Mapping[str, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Compute log-probabilities of `targets`, each from the hidden state of the token before it.

        Args:
            ids, positions: Token ids and positions, (R, W). Positions restart at 0 in each sequence. Some
                vision-language models have positions (3, R, W).
            places: Index of the token before each target in the flattened ids, (N,).
            targets: Tokens to score, (N,).
            packed: Sequences in the row, if there is a single row, or None if positions separate them.
            routes: Experts for each token, (R, W, layers * k). See `routing.py`.
            more: Function that computes further figures from the logits, or None.
            shown: Arguments for the pictures in the sequences. See `vision.py`.

        Returns:
            Log-probabilities and, if requested, entropies in nats, each (N,) float32, and the further
            figures, (N, c). See `token_log_probs`.
        """
        score = partial(
            self._score_all,
            temperature=temperature,
            entropy=entropy,
            packed=packed,
            more=more,
            shown=shown or {},
        )
        numbers = torch.arange(len(targets), device=targets.device)
        first, *others = _by_part(score, (ids, positions, routes), (places, targets, numbers), packed)
        return first, *others

    def copy_head(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Return a function from hidden states to logits, with a full copy of the output layer.

        All processes must call this method, while the weights are sharded.
        """
        if self._scale is None:
            return lambda states: states  # `more` then receives logits in place of states
        head = self.body.get_output_embeddings()
        weight = gathered(head.weight.detach().to(dtype))
        bias = None if head.bias is None else gathered(head.bias.detach().to(dtype))
        return lambda states: self._scaled(nn.functional.linear(states, weight, bias))

    def _score_all(
        self,
        ids: Tensor,
        positions: Tensor,
        routes: Tensor | None,
        places: Tensor,
        targets: Tensor,
        numbers: Tensor,
        temperature: float,
        entropy: Entropy,
        packed: Packed | None,
        more: OfLogits | None,
        shown: Mapping[str, Tensor],
    ) -> tuple[Tensor | None, ...]:
        if routes is not None and self._routing is None:
            self._routing = RouterReplay(self.body)
        if self._routing is not None:
            self._routing.expect(routes)
        if self._scale is None:
            with attending(packed):
                states = self.body(input_ids=ids, position_ids=positions, use_cache=False, **shown).logits
        else:
            states = hidden_states(self.body.base_model, ids, positions, packed, shown)
        states = states.flatten(0, 1)[places]
        head = self._summing_head()
        size = max(CHUNK_ELEMENTS // self.body.config.get_text_config().vocab_size, 1)
        first = len(states) % size or min(len(states), size)
        pieces = []
        for start, end in pairwise([0, *range(first, len(states) + 1, size)]):
            at = slice(start, end)
            chunk = states[at], targets[at], numbers[at], temperature, entropy, head, more
            # To save memory, the backward pass recomputes the logits of all chunks except the last.
            again = torch.is_grad_enabled() and end < len(states)
            pieces.append(
                checkpoint(self._score, *chunk, use_reentrant=False) if again else self._score(*chunk)
            )
        return tuple(None if part[0] is None else torch.cat(part) for part in zip(*pieces, strict=True))

    def _summing_head(self) -> Tensor | None:
        """Return the output layer's weight in float32 if its gradient is summed over chunks, else None.

        Summing the chunks' gradients in 16 bits would lose values that are small compared to the sum.
        """
        if self._scale is None:
            return None
        head = self.body.get_output_embeddings()
        halved = isinstance(head, nn.Linear) and head.weight.dtype in (torch.bfloat16, torch.float16)
        trained = torch.is_grad_enabled() and halved and head.weight.requires_grad
        return head.weight.float() if trained else None

    def _score(
        self,
        states: Tensor,
        targets: Tensor,
        numbers: Tensor,
        temperature: float,
        entropy: Entropy,
        weight: Tensor | None,
        more: OfLogits | None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        logits = states
        if self._scale is not None:
            head = self.body.get_output_embeddings()
            if weight is None:
                logits = head(states)
            else:
                logits = nn.functional.linear(states, weight.to(states.dtype), head.bias)
            logits = self._scaled(logits)
        if self.book is not None:  # the rollout engine never generates these tokens
            barred = torch.tensor(self.book.vision.placeholders, device=logits.device)
            logits = logits.index_fill(-1, barred, _BARRED)
        compute = compiled_log_probs() if self.compiled else log_probs_at
        log_probs, entropies = compute(logits, targets, temperature, entropy)
        figures = None if more is None else more(states, logits.float() / temperature, numbers)
        return log_probs, entropies, figures

    def _scaled(self, logits: Tensor) -> Tensor:
        if self._cap:
            return self._cap * torch.tanh(logits / self._cap)
        return logits if self._scale is None else logits * self._scale


class ValueModel(nn.Module):
    """Language model body with a scalar head that returns the value of the state after each token.

    The head starts at zero, so that the first values are 0 instead of noise that the critic has to unlearn.
    """

    def __init__(self, body: nn.Module, hidden_size: int) -> None:
        super().__init__()
        self.body = body
        self.packing: Packing = "off"
        self.book: PictureBook | None = None
        """See `PolicyModel.book`."""
        self.head = nn.Linear(hidden_size, 1, bias=False)
        nn.init.zeros_(self.head.weight)

    def find_out(self, device: torch.device) -> None:
        """See `PolicyModel.find_out`."""
        if not keeps_apart(self.body, device):
            self.packing = "off"

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        places: Tensor,
        packed: Packed | None = None,
        shown: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Return the values after the tokens at `places`, (N,) float32. See `PolicyModel.forward`."""

        def values(ids: Tensor, positions: Tensor, places: Tensor) -> tuple[Tensor]:
            states = hidden_states(self.body, ids, positions, packed, shown).flatten(0, 1)[places]
            return (self.head(states.to(self.head.weight.dtype)).float().sum(-1),)

        found: Tensor = _by_part(values, (ids, positions), (places,), packed)[0]
        return found


def has_no_weights(model: nn.Module) -> bool:
    """Return True if a model is an outline, that is, a model whose weights are read after sharding."""
    return any(parameter.is_meta for parameter in model.parameters())


def hidden_states(
    body: nn.Module,
    ids: Tensor,
    positions: Tensor,
    packed: Packed | None = None,
    shown: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """Return the last hidden states, (R, W) -> (R, W, H).

    No attention mask is needed. Padding follows the tokens, so causal attention ignores it. The sequences in
    a row are separated by `packed`, or by transformers wherever positions restart.
    """
    with attending(packed):
        given = {"input_ids": ids, "position_ids": positions, "use_cache": False, **(shown or {})}
        states: Tensor = body(**given).last_hidden_state
    return states


def _by_part(
    compute: Callable[..., tuple[Tensor | None, ...]],
    tokens: tuple[Tensor | None, ...],
    scored: tuple[Tensor, ...],
    packed: Packed | None,
) -> tuple[Any, ...]:
    """Compute this process's part of a shared row, and return the results from all processes.

    Args:
        tokens: Tensors with one element per token, (1, W), starting with the ids.
        scored: Indices of the tokens to score, (N,), and tensors with one element per index.
    """
    sharing = packed.sharing if packed else None
    if sharing is None:
        return compute(*tokens, *scored)
    assert tokens[0] is not None
    width = tokens[0].shape[1] // sharing.size
    owners = scored[0] // width
    mine = owners == sharing.rank
    places, *others = (s[mine] for s in scored)
    own = (None if t is None else own_part(t, sharing) for t in tokens)
    found = compute(*own, places - sharing.rank * width, *others)
    return tuple(None if f is None else gather_values(f, owners, sharing) for f in found)


@torch.no_grad()
def keeps_apart(body: Any, device: torch.device) -> bool:
    """Return True if sequences packed into one row do not affect each other.

    Recurrent layers may mix packed sequences. The model is run to test this, because configs do not contain
    this information.
    """
    ids = torch.tensor([[1, 2, 1, 2]], device=device)
    positions = torch.tensor([[0, 1, 0, 1]], device=device)
    bounds = torch.tensor([0, 2, 4], dtype=torch.int32, device=device)
    with attending(Packed((2, 2), bounds)):
        states = body(input_ids=ids, position_ids=positions, use_cache=False)[0]
    return _close(*states.chunk(2, dim=1))


@torch.no_grad()
def _logit_scale(model: Any, cap: float | None, device: torch.device) -> float | None:
    """Return the factor from the output layer's result to the logits, or None if the factor is not constant.

    The model is run to measure the factor, because each model family has a different setting for it.
    """
    head = model.get_output_embeddings()
    body = model.base_model
    if head is None or body is model:
        return None
    ids, positions = (torch.tensor([row], device=device) for row in ([1, 2], [0, 1]))
    logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits.float()
    plain = head(hidden_states(body, ids, positions)).float()
    if cap:
        plain = cap * torch.tanh(plain / cap)
    scale = float((logits * plain).sum() / plain.square().sum().clamp(min=1e-30))
    scale = _exactly(scale, model.config)
    if _close(logits, scale * plain) and not (cap and scale != 1.0):
        return scale
    log.warning(
        "%s changes the logits in a way that is not supported, so all logits are computed at once, "
        "which takes more memory",
        type(model).__name__,
    )
    return None


def _exactly(scale: float, config: Any) -> float:
    """Round a measured factor to 1, to a number in the config or to its reciprocal, if one is close."""
    numbers = [v for v in config.to_dict().values() if type(v) in (int, float) and v]
    known = [1.0, *numbers, *(1 / v for v in numbers)]
    best = min(known, key=lambda v: abs(scale - v))
    return float(best) if abs(scale - best) < 1e-3 * abs(best) else scale


def _softcap(model: Any) -> float | None:
    cap: float | None = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
    return cap


def _close(a: Tensor, b: Tensor) -> bool:
    """Return True if the tensors are equal within bfloat16 precision."""
    return float((a - b).norm()) <= 0.02 * float(a.norm())
