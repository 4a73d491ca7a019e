"""Converts a padded batch to model inputs without padding, and the model's outputs to padded tensors.

All other modules use only (B, T) tensors. Packing changes where a token is computed but never its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rewardkit.trainer.algorithms.log_probs import Entropy
from rewardkit.trainer.batch import Batch, prompts_of, rows_by_prompt
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.attention import BLOCKS_ON, Copies, Packed, like_lengths
from rewardkit.trainer.models.heads import OfLogits, Packing, PolicyModel, ValueModel
from rewardkit.trainer.models.routing import ROUTES
from rewardkit.trainer.models.vision import PICTURES, PictureBook
from rewardkit.trainer.workers.batching import share_out

Arrangement = tuple[list[int], list[int], int, int]
"""Row of each sequence, start of each sequence in its row, number of rows, and width of the rows."""


@dataclass(frozen=True, slots=True)
class TokenLayout:
    """Tokens in a batch as model inputs, R rows of W tokens, each with one or more sequences."""

    ids: Tensor
    """(R, W): token ids, 0 after the last sequence in a row."""
    positions: Tensor
    """(R, W): positions, which start at 0 in each sequence."""
    real: Tensor
    """(B, T) bool: True for the N response tokens that are not padding."""
    places: Tensor
    """(N,): index in the flattened ids of the token before each of the N response tokens."""
    own: Tensor
    """(N,): index in the flattened ids of each of the N response tokens."""
    packed: Packed | None = None
    """Sequences in the row, if all sequences are packed into a single row."""
    routes: Tensor | None = None
    """(R, W, layers * k): experts to replay, if any. See `models/routing.py`."""
    pictures: tuple[int, ...] = ()
    """Numbers of the pictures, in the order of their placeholders."""


def lay_out(batch: Batch, packing: Packing, sharing: World | None = None) -> TokenLayout:
    """Arrange the sequences in a batch as model inputs, without the padding on their left and right.

    Args:
        sharing: Processes that share the tokens in a single row. The row is padded, so that all parts are
            equal.
    """
    kept = batch["attention_mask"].bool()
    if packing == "flat":
        return _in_one_row(batch, kept, sharing)
    lengths: list[int] = kept.sum(dim=1).tolist()
    rows, starts, height, width = _arrange(lengths, packing)
    start = torch.tensor([r * width + s for r, s in zip(rows, starts, strict=True)], device=kept.device)
    place = start.unsqueeze(1) + kept.cumsum(dim=1) - 1
    layout = _laid_out(batch, kept, place, (height, width))
    if PICTURES not in batch.tensors:
        return layout
    numbers = batch[PICTURES][start.argsort()].flatten().tolist()
    return replace(layout, pictures=tuple(i for i in numbers if i >= 0))


def _laid_out(
    batch: Batch, kept: Tensor, place: Tensor, shape: tuple[int, int], packed: Packed | None = None
) -> TokenLayout:
    """Move each token to its `place`. Positions keep increasing on padding, as within a sequence."""
    height, width = shape
    device = kept.device
    ids = torch.zeros(height * width, dtype=torch.int64, device=device)
    ids[place[kept]] = batch["input_ids"][kept]
    counted = torch.arange(height * width, device=device)
    begins = torch.zeros(height * width, dtype=torch.int64, device=device)
    begins[place[kept]] = counted[place[kept]] - (kept.cumsum(dim=1) - 1)[kept]
    real = kept[:, batch.prompt_width :]
    before = place[:, batch.prompt_width - 1 : -1][real]
    positions = counted - begins.view(height, width).cummax(dim=1).values.flatten()
    routes: Tensor | None = None
    if (known := batch.tensors.get(ROUTES)) is not None:
        routes = known.new_full((height * width, known.shape[-1]), -1)
        routes[place[kept]] = known[kept]
        routes = routes.view(height, width, -1)
    own = place[:, batch.prompt_width :][real]
    return TokenLayout(
        ids.view(height, width), positions.view(height, width), real, before, own, packed, routes
    )


def _in_one_row(batch: Batch, kept: Tensor, sharing: World | None) -> TokenLayout:
    """Pack all sequences into one row, in which a prompt shared by several sequences is stored once."""
    lengths: list[int] = kept.sum(dim=1).tolist()
    families = rows_by_prompt(prompts_of(batch))
    # Each row contains the start of the prompt, and the start of the response minus the prompt's length.
    starts = torch.zeros(len(lengths), 2, dtype=torch.int64)
    width = 0
    for prompt, members in families.items():
        starts[members, 0] = width
        for i in members:
            starts[i, 1] = width
            width += lengths[i] - len(prompt)
        width += len(prompt)
    of_response = torch.arange(kept.shape[1], device=kept.device) >= batch.prompt_width
    place = starts.to(kept.device)[:, of_response.long()] + kept.cumsum(dim=1) - 1
    filled = -width % sharing.size if sharing else 0
    lengths[-1] += filled
    copies = None
    in_blocks = kept.device.type in BLOCKS_ON and 2 * len(like_lengths(lengths)) <= len(lengths)
    if in_blocks or list(families.values()) != [[i] for i in range(len(lengths))]:
        padding = torch.arange(width, width + filled, device=kept.device)
        alike = [(len(prompt), members) for prompt, members in families.items() if len(members) > 1]
        copies = Copies.of(torch.cat([place[kept], padding]), lengths, alike)
    bounds = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=kept.device)
    return _laid_out(batch, kept, place, (1, width + filled), Packed(tuple(lengths), bounds, sharing, copies))


def _arrange(lengths: list[int], packing: Packing) -> Arrangement:
    count = len(lengths)
    width = max(lengths)
    if packing == "off":
        return list(range(count)), [0] * count, count, width
    most = math.ceil(sum(lengths) / width)
    # The few candidates range from one sequence per row to rows twice as wide as the longest sequence.
    heights = [count, *(max(most * k // 8, 1) for k in range(4, 9))]
    return min((_stack(lengths, height) for height in heights), key=_cost)


def _stack(lengths: list[int], height: int) -> Arrangement:
    rows = share_out(lengths, height)
    starts = [0] * len(lengths)
    used = [0] * height
    for i, row in enumerate(rows):
        starts[i] = used[row]
        used[row] += lengths[i]
    return rows, starts, height, max(used)


def _cost(arrangement: Arrangement) -> int:
    """Return the relative cost of an arrangement. Padding costs as much as tokens, and wide rows cost more.

    In a measurement with 135M parameters on a CPU, rows of twice the width (480 instead of 240 tokens) took
    8 % longer.
    """
    _, _, height, width = arrangement
    return height * width * (2500 + width)


@dataclass(frozen=True, slots=True)
class TokenFigures:
    """Figures that are computed from the logits of each response token."""

    compute: Callable[[Tensor, Tensor, Mapping[str, Tensor]], Tensor]
    """Function that takes hidden states, (n, H), logits at the temperature, (n, V) float32, and the tensors
    in `reads`, for n tokens. It returns their figures, (n, c)."""
    reads: tuple[str, ...] = ()
    """Names of tensors in the batch, (B, T, ...)."""


def response_log_probs(
    model: nn.Module,
    batch: Batch,
    temperature: float,
    *,
    entropy: Entropy,
    sharing: World | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Return log-probabilities and, if requested, entropies of the response tokens.

    See `response_figures`.
    """
    log_probs, entropies, _ = response_figures(model, batch, temperature, None, entropy, sharing)
    return log_probs, entropies


def response_figures(
    model: nn.Module,
    batch: Batch,
    temperature: float,
    figures: TokenFigures | None,
    entropy: Entropy = "no",
    sharing: World | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return log-probabilities, entropies and figures of the response tokens, (B, T), (B, T), (B, T, c).

    Entropies and figures are None if they are not requested. With `value and squares`, the second tensor is
    (B, T, 2). Values are computed at `temperature`, so that the trained policy is the policy that generated
    the responses. Values on padding are 0.

    Args:
        model: `PolicyModel`, sharded or not, or a causal language model that is not sharded.
        sharing: Processes that compute these rows together. All these processes get the result.
    """
    policy = model if isinstance(model, PolicyModel) else PolicyModel(model)
    layout, shown = _inputs(policy, batch, sharing)
    targets = batch["responses"][layout.real]
    found = policy(
        layout.ids,
        layout.positions,
        layout.places,
        targets,
        temperature,
        entropy,
        layout.packed,
        layout.routes,
        None if figures is None else _of_logits(figures, batch, layout.real),
        shown,
    )
    log_probs, entropies, further = found
    return (
        _scatter(log_probs, layout.real),
        None if entropies is None else _scatter(entropies, layout.real),
        None if further is None else _scatter(further, layout.real),
    )


def _of_logits(figures: TokenFigures, batch: Batch, real: Tensor) -> OfLogits:
    read = {name: batch[name][real] for name in figures.reads}
    return lambda states, logits, at: figures.compute(states, logits, {k: v[at] for k, v in read.items()})


def _inputs(
    model: PolicyModel | ValueModel, batch: Batch, sharing: World | None
) -> tuple[TokenLayout, Mapping[str, Tensor]]:
    """Return a batch as model inputs, and the model's arguments for the pictures in it."""
    book = model.book
    if book is None or not len(book):
        return lay_out(batch, model.packing, sharing), {}
    rows = len(batch)
    batch = _with_picture(batch, book)
    layout = lay_out(batch, model.packing, sharing)
    shown = book.vision.tensors([book[i] for i in layout.pictures], layout.ids.device)
    lengths = batch["attention_mask"].sum(dim=1, keepdim=True)  # for one sequence per row
    mask = torch.arange(layout.ids.shape[1], device=lengths.device) < lengths
    positions = book.vision.positions(model.body, layout.ids, mask, shown)
    given = layout.positions if positions is None else positions
    return replace(layout, positions=given, real=layout.real[:rows]), shown


def _with_picture(batch: Batch, book: PictureBook) -> Batch:
    """Append a row with a picture and without a response, unless a row has a picture.

    Every forward pass then computes the vision tower. All processes must compute a sharded tower, and without
    a gradient, the tower's weights would not be decayed.
    """
    if PICTURES in batch.tensors and (batch[PICTURES] >= 0).any():
        return batch
    tokens, number = book.blank
    wider = max(len(tokens) - batch.prompt_width, 0)
    ids, mask = (pad(batch[name], (wider, 0, 0, 1)) for name in ("input_ids", "attention_mask"))
    responses = pad(batch["responses"], (0, 0, 0, 1))
    end = ids.shape[1] - responses.shape[1]
    ids[-1, end - len(tokens) : end] = torch.tensor(tokens)
    mask[-1, end - len(tokens) : end] = 1
    numbers = ids.new_full((len(ids), 1), -1)
    numbers[-1] = number
    held = {"input_ids": ids, "attention_mask": mask, "responses": responses, PICTURES: numbers}
    return Batch(held, [])


def response_values(model: nn.Module, batch: Batch, sharing: World | None = None) -> Tensor:
    """Return V(s_t) for each response token, (B, T) float32, 0 on padding.

    s_t is the state in which the token at t was chosen, so V(s_t) is the head's output one position earlier.
    """
    assert isinstance(model, ValueModel)
    layout, shown = _inputs(model, batch, sharing)
    values = model(layout.ids, layout.positions, layout.places, layout.packed, shown)
    return _scatter(values, layout.real)


def last_values(model: nn.Module, batch: Batch, sharing: World | None = None) -> Tensor:
    """Return the head's output at the last token of each response, (B,) float32."""
    assert isinstance(model, ValueModel)
    layout, shown = _inputs(model, batch, sharing)
    ends = layout.real.sum(dim=1).cumsum(dim=0) - 1
    values: Tensor = model(layout.ids, layout.positions, layout.own[ends], layout.packed, shown)
    return values


def _scatter(values: Tensor, real: Tensor) -> Tensor:
    if values.dim() == 1:
        return torch.zeros(real.shape, device=values.device).masked_scatter(real, values)
    return values.new_zeros(*real.shape, *values.shape[1:]).index_put((real,), values)
