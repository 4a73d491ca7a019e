"""Attention within each sequence in a packed row, using torch's own kernels.

This attention needs no mask for the whole row and no other package. If processes share a row's tokens, each
process computes some of the heads. The module registers its functions for masks and attention with
transformers under the name `ATTENTION`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from rewardkit.errors import ConfigError
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.sequence import to_heads, to_tokens

ATTENTION = "rewardkit_packed"
"""Value of `attn_implementation` for models that use this module's attention."""

KNOWN_LAYERS = {"full_attention", "sliding_attention"}
HALF = (torch.float16, torch.bfloat16)

BLOCKS_ON = frozenset({"cpu"})
"""Devices on which sequences of similar length are padded and processed together. Other devices have a kernel
for sequences of different lengths."""
BLOCK_PAIRS = 1024
"""Number of token pairs that cost about as much on a CPU as one call to torch's attention function."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Mapping between separate sequences and a row that stores their shared beginnings only once."""

    index: Tensor
    """(V,): index in the row for each token in the sequences."""
    inverse: Tensor
    """(W,): index of one copy of each token in the row."""
    repeated: tuple[tuple[int, Tensor], ...]
    """Start of each shared beginning in the row, and the indices of its copies, (copies, tokens)."""
    blocks: tuple[tuple[int, int], ...] | None
    """Number of sequences in each block, and width of the block. A block contains padded sequences of similar
    length. None if the sequences are concatenated without padding."""

    @classmethod
    def of(cls, index: Tensor, lengths: Sequence[int], alike: Sequence[tuple[int, Sequence[int]]]) -> Copies:
        """Create the mapping.

        Args:
            index: Index in the row for each token in the sequences, (V,).
            lengths: Length of each sequence.
            alike: Number of tokens in each shared beginning, and the indices of the sequences that share it.
        """
        together = index.device.type in BLOCKS_ON
        order = like_lengths(lengths) if together else [[i] for i in range(len(lengths))]
        blocks = tuple((len(members), max(lengths[i] for i in members)) for members in order)
        picked, placed = (t.to(index.device) for t in _arrange(lengths, order, blocks))
        begins = [0, *accumulate(lengths)]
        first = torch.ones_like(index, dtype=torch.bool)
        repeated = []
        for width, members in alike:
            shared = torch.tensor([begins[i] for i in members], device=index.device)
            copies = shared[:, None] + torch.arange(width, device=index.device)
            first[copies[1:]] = False
            if width:
                repeated.append((int(index[copies[0, 0]]), placed[copies]))
        inverse = torch.empty(int(first.sum()), dtype=torch.int64, device=index.device)
        inverse[index[first]] = placed[first]
        return cls(index[picked], inverse, tuple(repeated), blocks if together else None)

    def spread(self, tokens: Tensor) -> Tensor:
        """Copy the tokens in the row to all sequences, (1, heads, W, D) -> (1, heads, V, D)."""
        made: Tensor = _Spread.apply(tokens, self)  # type: ignore[no-untyped-call]
        return made

    def collect(self, tokens: Tensor) -> Tensor:
        """Return the values for each token in the row, (1, heads, V, D) -> (1, heads, W, D)."""
        found: Tensor = _Collect.apply(tokens, self)  # type: ignore[no-untyped-call]
        return found


def _arrange(
    lengths: Sequence[int], order: Sequence[Sequence[int]], blocks: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """Return the token index at each position in the blocks, and the position of each token.

    Padding repeats the last token in a sequence.
    """
    begins = [0, *accumulate(lengths)]
    starts = [0] * len(lengths)
    picked = []
    filled = 0
    for members, (_, width) in zip(order, blocks, strict=True):
        for i in members:
            picked.append(begins[i] + torch.arange(width).clamp(max=lengths[i] - 1))
            starts[i] = filled
            filled += width
    placed = [start + torch.arange(length) for start, length in zip(starts, lengths, strict=True)]
    return torch.cat(picked), torch.cat(placed)


def _select(tokens: Tensor, index: Tensor) -> Tensor:
    return tokens[0].transpose(0, 1).index_select(0, index).transpose(0, 1).unsqueeze(0)


class _Spread(torch.autograd.Function):
    """Autograd function that copies tokens. With plain indexing, the backward pass would be slow, because it
    would add gradients token by token."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, copies: Copies) -> Tensor:
        ctx.copies = copies
        return _select(tokens, copies.index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        copies: Copies = ctx.copies
        grad = _select(grads[0], copies.inverse)
        for start, places in copies.repeated:
            count, width = places.shape
            of_copies = torch.unflatten(_select(grads[0], places.flatten()), 2, (count, width))
            grad[:, :, start : start + width] = of_copies.sum(dim=2)
        return grad, None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, copies: Copies) -> Tensor:
        ctx.copies = copies
        return _select(tokens, copies.inverse)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        copies: Copies = ctx.copies
        grad = grads[0][0].transpose(0, 1)
        spread = grad.new_zeros((len(copies.index), *grad.shape[1:])).index_copy_(0, copies.inverse, grad)
        return spread.transpose(0, 1).unsqueeze(0), None


@dataclass(frozen=True, slots=True)
class Packed:
    """Sequences in one row, and the processes that share the row's tokens."""

    lengths: tuple[int, ...]
    """Length of each sequence, in order. Padding at the end counts towards the last sequence."""
    bounds: Tensor
    """Start of each sequence, and the end of the row, (len(lengths) + 1,) int32."""
    sharing: World | None = None
    """Processes that each have an equal part of the row, or None if this process has the whole row."""
    copies: Copies | None = None
    """Mapping between row and sequences, or None if the row is the concatenation of its sequences."""


@dataclass(frozen=True, slots=True)
class Visible:
    """Object that a model passes to its layers instead of a mask."""

    packed: Packed
    window: int | None
    """Number of tokens that a token attends to, including itself, or None for no limit."""


_packed: ContextVar[Packed | None] = ContextVar("packed", default=None)


@contextmanager
def attending(packed: Packed | None) -> Iterator[None]:
    """Make models that are called in the block attend within each sequence in `packed`."""
    token = _packed.set(packed)
    try:
        yield
    finally:
        _packed.reset(token)


def why_unserved(config: Any, *, remote: bool = False) -> str | None:
    """Return the reason why a model with this config cannot use this attention, or None if it can."""
    text = config.get_text_config()
    kind = None if remote else MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if isinstance(kind, tuple):
        kind = kind[0]
    if kind is None:
        return "the model's code is not part of transformers"
    layers: list[str] = list(getattr(text, "layer_types", None) or ())
    others = sorted(set(layers) - KNOWN_LAYERS)
    if others:
        return f"the model has layers of type {', '.join(others)}"
    if getattr(kind, "_is_stateful", False):
        return "the model has recurrent layers"
    if getattr(text, "attention_chunk_size", None):
        return "the model attends in chunks (attention_chunk_size)"
    if getattr(text, "attn_logit_softcapping", None):
        return "the model caps the attention scores (attn_logit_softcapping)"
    if not (getattr(kind, "_supports_attention_backend", False) and getattr(kind, "_supports_sdpa", False)):
        return "the model's attention does not use transformers' attention interface"
    return None


def why_unshared(config: Any, *, remote: bool = False) -> str | None:
    """Return the reason why processes cannot share the tokens in a sequence, or None if they can."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    kinds: set[Any] = {r.get("rope_type") for r in (rope, *rope.values()) if isinstance(r, dict)}
    if stretched := sorted(kinds & {"dynamic", "longrope"}):
        return f"the rotary positions depend on the longest sequence that a process sees ({stretched[0]})"
    return why_unserved(config, remote=remote)


def _mask(*, local_size: int | None = None, use_vmap: bool = False, **about: Any) -> Any:
    """Return the object that the model passes to its layers as a mask. See `transformers.masking_utils`."""
    packed = _packed.get()
    if packed is None:
        return sdpa_mask(local_size=local_size, use_vmap=use_vmap, **about)
    if use_vmap:
        raise ConfigError(
            "this model changes the causal mask, which packed rows do not support; set "
            "use_remove_padding=false"
        )
    return Visible(packed, local_size)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attend for one layer, as transformers calls it. The mask is from `_mask`.

    Raises:
        ConfigError: The layer changes its attention scores, which this module would ignore.
    """
    if not isinstance(attention_mask, Visible):
        out, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
        return out, None
    _refuse_changed_scores(module, more)
    return _attend(query, key, value, attention_mask, scaling), None


def _refuse_changed_scores(module: nn.Module, more: Mapping[str, Any]) -> None:
    odd = sorted(k for k in ("s_aux", "softcap", "position_bias") if more.get(k) is not None)
    if odd:
        raise ConfigError(
            f"{type(module).__name__} changes the attention scores ({', '.join(odd)}), which rewardkit's "
            "attention does not support; set override_config.attn_implementation=eager"
        )


def _attend(query: Tensor, key: Tensor, value: Tensor, visible: Visible, scaling: float | None) -> Tensor:
    """Attend within each sequence in the row, (1, heads, tokens, size) -> (1, tokens, heads, size)."""
    sharing = visible.packed.sharing
    if sharing is None:
        return _within(query, key, value, visible, scaling).transpose(1, 2)
    heads = query.shape[1]
    query, key, value = to_heads(query, key, value, sharing)
    out = to_tokens(_within(query, key, value, visible, scaling), sharing)
    return out[:, :heads].transpose(1, 2)


def _within(query: Tensor, key: Tensor, value: Tensor, visible: Visible, scaling: float | None) -> Tensor:
    """Attend within each sequence in the row, given the row's tokens for some or all heads."""
    copies = visible.packed.copies
    if copies is None:
        return _apart(query, key, value, visible, scaling)
    query, key, value = (copies.spread(t) for t in (query, key, value))
    return copies.collect(_apart(query, key, value, visible, scaling))


def _apart(query: Tensor, key: Tensor, value: Tensor, visible: Visible, scaling: float | None) -> Tensor:
    kernel = _kernel(query, key, value)
    if kernel is not None:
        return _within_at_once(kernel, query, key, value, visible, scaling)
    copies = visible.packed.copies
    if copies is not None and copies.blocks is not None:
        given = zip(*(_in_blocks(t, copies.blocks) for t in (query, key, value)), strict=True)
        found = [_one(q, k, v, visible.window, scaling).transpose(1, 2).flatten(0, 1) for q, k, v in given]
        return torch.cat(found).transpose(0, 1).unsqueeze(0)
    lengths = list(visible.packed.lengths)
    parts = zip(*(torch.split(t, lengths, dim=2) for t in (query, key, value)), strict=True)
    return torch.cat([_one(q, k, v, visible.window, scaling) for q, k, v in parts], dim=2)


def _in_blocks(tokens: Tensor, blocks: Sequence[tuple[int, int]]) -> list[Tensor]:
    """Split tokens, (1, heads, V, D), into blocks, each (sequences, heads, width, D)."""
    parts = torch.split(tokens[0], [count * width for count, width in blocks], dim=1)
    return [torch.unflatten(p, 1, block).transpose(0, 1) for p, block in zip(parts, blocks, strict=True)]


def like_lengths(lengths: Sequence[int]) -> list[list[int]]:
    """Group the indices of sequences for which padding to the same width costs less than separate calls."""
    step = max(BLOCK_PAIRS // max(lengths), 1)
    found: dict[int, list[int]] = {}
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        found.setdefault(-(-lengths[i] // step), []).append(i)
    return list(found.values())


def _one(query: Tensor, key: Tensor, value: Tensor, window: int | None, scaling: float | None) -> Tensor:
    """Attend within sequences of equal length. Create a mask only if they are longer than the window."""
    length = query.shape[2]
    options: dict[str, Any] = {"scale": scaling, "enable_gqa": query.shape[1] != key.shape[1]}
    if window is None or length <= window:
        return scaled_dot_product_attention(query, key, value, is_causal=True, **options)
    seen = torch.ones(length, length, dtype=torch.bool, device=query.device).tril().triu(1 - window)
    return scaled_dot_product_attention(query, key, value, attn_mask=seen, **options)


def _kernel(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """Return torch's kernel for all sequences at once, or None if it does not support these tensors.

    This flash attention kernel needs 16-bit tensors on a GPU, and heads of the same size, which must be a
    multiple of 8 and at most 256.
    """
    sizes = {t.shape[-1] for t in (query, key, value)}
    fits = len(sizes) == 1 and max(sizes) <= 256 and max(sizes) % 8 == 0
    return _varlen(query.device) if query.is_cuda and query.dtype in HALF and fits else None


@cache
def _varlen(device: torch.device) -> Any:
    """Return `torch.nn.attention.varlen.varlen_attn`, or None if torch or the GPU is too old.

    This function must support grouped heads, and the GPU must be Ampere (compute capability 8.0) or newer.
    """
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    served = "enable_gqa" in signature(varlen_attn).parameters
    return varlen_attn if served and torch.cuda.get_device_capability(device) >= (8, 0) else None


def _within_at_once(
    kernel: Any, query: Tensor, key: Tensor, value: Tensor, visible: Visible, scaling: float | None
) -> Tensor:
    """Attend within all sequences in a single call to a CUDA kernel."""
    bounds = visible.packed.bounds
    longest = max(visible.packed.lengths)
    queries, keys, values = (t[0].transpose(0, 1) for t in (query, key, value))
    out = kernel(
        queries,
        keys,
        values,
        bounds,
        bounds,
        longest,
        longest,
        scale=scaling,
        window_size=(-1 if visible.window is None else visible.window - 1, 0),
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(out, Tensor)
    return out.transpose(0, 1).unsqueeze(0)


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, _attention)
ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, _mask)
