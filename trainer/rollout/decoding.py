"""Generates one token at a time for a batch of sequences, dropping sequences that have ended.

transformers copies its cache for every token, repeats keys and values for every query head if there is a
mask, and keeps computing finished rows until the longest row ends. If every layer attends to all earlier
tokens, this module avoids all three. If several rows share a prompt, it also computes the prompt only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from rewardkit.trainer.batch import positions
from rewardkit.trainer.models.attention import attention_by, why_unserved

ATTENTION = "rewardkit_decoding"
"""Value of `attn_implementation` for models that decode with this module's attention."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Object that a model passes to its layers instead of a mask while it computes one token per row."""

    bias: Tensor | None
    """(B, 1, 1, L): 0 for tokens to attend to, -inf on padding. The value is None if there is no padding."""


_seen: ContextVar[Seen | None] = ContextVar("seen", default=None)


@contextmanager
def _seeing(seen: Seen) -> Iterator[None]:
    token = _seen.set(seen)
    try:
        yield
    finally:
        _seen.reset(token)


def _mask(**about: Any) -> Any:
    """Return the object that the model passes to its layers as a mask. See `transformers.masking_utils`."""
    seen = _seen.get()
    return sdpa_mask(**about) if seen is None else seen


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Seen, scaling: float | None) -> Tensor:
    """Attend to all cached tokens: (B, heads, 1, size) -> (B, 1, heads, size).

    Query heads that share keys and values are treated as several queries for one head, which avoids repeating
    the keys and values.
    """
    rows, heads, _, width = query.shape
    grouped = query.reshape(rows, key.shape[1], -1, width)
    out = scaled_dot_product_attention(grouped, key, value, attn_mask=seen.bias, scale=scaling)
    return out.reshape(rows, 1, heads, value.shape[-1])


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, attention_by(Seen, _attend))
ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, _mask)


def make_plain(model: Any) -> bool:
    """Switch a model to this module's attention if possible. Return True if the model now uses it."""
    config = model.config
    if config._attn_implementation == "sdpa" and why_unserved(config, remote=not _is_known(model)) is None:
        layers = DynamicCache(config=config).layers
        if layers and all(type(layer) is DynamicLayer for layer in layers):
            model.set_attn_implementation(ATTENTION)
    return bool(config._attn_implementation == ATTENTION)


def _is_known(model: Any) -> bool:
    return type(model).__module__.startswith("transformers.")


class _GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """Cache for one layer's keys and values, (B, heads, tokens, size), with room for later tokens."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._space: tuple[Tensor, Tensor] | None = None
        """Memory allocated for keys and values, or None until the prompts have been computed."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if self._space is None:
            self.lazy_initialization(key_states, value_states)
            self._hold(key_states, value_states)
            return key_states, value_states
        begin = self.get_seq_length()
        end = begin + key_states.shape[-2]
        if self._space[0].shape[-2] < end:
            self._grow(None)
        for space, states in zip(self._space, (key_states, value_states), strict=True):
            space[:, :, begin:end] = states
        self._show(end)
        return self.keys, self.values

    def take(self, rows: Tensor) -> None:
        """Keep only the rows at these indices, which may contain duplicates."""
        self._grow(rows)

    def keep(self, count: int, to: Tensor, source: Tensor) -> None:
        """Move the rows at the indices `source` to the indices `to`, and keep only the first `count` rows."""
        assert self._space is not None
        length = self.get_seq_length()
        for space in self._space:
            space[to, :, :length] = space[source, :, :length]
        self._hold(*(space[:count] for space in self._space))
        self._show(length)

    def _grow(self, rows: Tensor | None) -> None:
        length = self.get_seq_length()
        room = min(self._most, max(length + 64, length * 3 // 2))
        held = (self.keys, self.values) if rows is None else (self.keys[rows], self.values[rows])
        grown = [h.new_empty((*h.shape[:2], room, h.shape[-1])) for h in held]
        for space, states in zip(grown, held, strict=True):
            space[:, :, :length] = states
        self._hold(*grown)
        self._show(length)

    def _hold(self, keys: Tensor, values: Tensor) -> None:
        self._space = (keys, values)
        self.keys, self.values = self._space

    def _show(self, length: int) -> None:
        assert self._space is not None
        self.keys, self.values = (space[:, :, :length] for space in self._space)


class BatchDecoder:
    """Decoder that generates tokens for the rows in one batch."""

    def __init__(self, model: Any, ids: Tensor, mask: Tensor, length: int) -> None:
        """Create a decoder for left-padded prompts, (B, P), with room for `length` more tokens."""
        self._model = model
        self._ids = ids
        self._plain = model.config._attn_implementation == ATTENTION
        self._cache: Any = DynamicCache(config=model.config)
        if self._plain:
            self._cache.layers = [_GrowingLayer(ids.shape[1] + length) for _ in self._cache.layers]
        self._mask = torch.cat([mask, mask.new_ones((len(ids), length))], dim=1)
        self._bias: Tensor | None = None
        if self._plain and not bool(mask.all()):
            nothing = torch.zeros(self._mask.shape, dtype=model.dtype, device=ids.device)
            self._bias = nothing.masked_fill(self._mask == 0, -torch.inf)[:, None, None]
        self._position = positions(mask)
        self._tokens = ids.shape[1]

    def begin(self) -> Tensor:
        """Process the prompts and return the logits for each row's next token, (B, V)."""
        mask = self._mask[:, : self._tokens]
        if not self._plain:
            return self._logits(self._ids, self._position, mask)
        known = self._ids.masked_fill(mask == 0, -1)
        _, which, counts = torch.unique_consecutive(known, return_inverse=True, return_counts=True, dim=0)
        first = counts.cumsum(0) - counts
        logits = self._logits(self._ids[first], self._position[first], mask[first])
        for layer in self._cache.layers:
            layer.take(which)
        return logits[which]

    def go_on(self, tokens: Tensor) -> Tensor:
        """Append `tokens`, (B,), to the rows and return the logits for each row's next token, (B, V)."""
        self._tokens += 1
        self._position = self._position[:, -1:] + 1
        if not self._plain:
            return self._logits(tokens[:, None], self._position, self._mask[:, : self._tokens])
        with _seeing(Seen(None if self._bias is None else self._bias[..., : self._tokens])):
            return self._logits(tokens[:, None], self._position, None)

    def drop(self, over: Tensor) -> Tensor | None:
        """Remove the rows for which `over`, (B,) bool, is True. Return the indices of the remaining rows.

        The indices are in the new order of the rows. Return None if no row was removed. Some models' caches
        cannot remove rows.
        """
        if not self._plain or not bool(over.any()):
            return None
        left = (~over).nonzero().squeeze(1)
        count = len(left)
        order = torch.arange(count, device=over.device)
        holes = over[:count].nonzero().squeeze(1)
        source = left[left >= count]
        order[holes] = source
        for layer in self._cache.layers:
            layer.keep(count, holes, source)
        self._position = self._position[order]
        self._bias = None if self._bias is None else self._bias[order]
        return order

    def _logits(self, tokens: Tensor, position: Tensor, mask: Tensor | None) -> Tensor:
        logits: Tensor = self._model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=position,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        return logits[:, -1]
