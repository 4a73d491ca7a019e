"""How near two ways to one result must come to each other where they add up in different orders.

In which order a sum is added up depends on the kind of processor, the shape of the tensors and the library:
a bound that was measured on one machine does not hold on the next. Where a test may choose in what it
computes, that is float64 (`in_float64`), and the bound lies far below what any defect makes; where it may
not, as with an engine or in a run of its own, it is float32. How much rounding can make of it is `rounding`
in both. What is computed twice in the same way is compared to the bit, and not by these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

TERMS = 10**6
"""More than are added up on the way to any one number of a test: in float64 a bound may be generous."""


def rounding(terms: int = TERMS, magnitude: float = 1.0, dtype: Any = torch.float64) -> float:
    """Return how far apart two sums of the same numbers may be that are added up in different orders.

    With u = eps / 2 an addition is off by at most u times its result, so n of them by at most n u S, with S
    the largest sum on the way (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). That is
    if all are off to the same side. They are off to either: that it is more than k sqrt(n) u S has a
    probability below 2 exp(-k^2 / 2) (Higham and Mary 2019, A New Approach to Probabilistic Rounding Error
    Analysis). For two sums that makes k sqrt(n) eps S. Here k is 8: by chance it is more once in 10^13 times,
    and never with up to 64 terms, as that is above n eps S.

    Args:
        terms: n; where sums are made of sums, as in a network, all that are added up one after the other on
            the way: see `terms_of`.
        magnitude: S; the largest of what comes out will do where its entries are of one kind.
    """
    return 8 * math.sqrt(terms) * torch.finfo(dtype).eps * magnitude


def terms_of(config: Any, tokens: int) -> int:
    """Return how many terms there are on the way through a language model to a token's log-probability.

    Args:
        config: of transformers, the model's.
        tokens: of the longest sequence.
    """
    size = config.hidden_size
    heads = config.num_attention_heads * config.head_dim
    # Into queries and keys, their product, the attended values, out of the heads, into the MLP and out of it.
    layer = size + config.head_dim + tokens + heads + size + config.intermediate_size
    norms = 2 * size
    return config.num_hidden_layers * (layer + norms) + 2 * size + config.vocab_size


LOG_PROBS = rounding(3_000, 7.0, torch.float32)
"""How far apart log-probabilities, down to -7, may be in two engines of float32: a model of two layers and
the size of the demo's has as many terms by `terms_of`."""
K3 = LOG_PROBS**2 / 2
"""What `training/rollout_actor_kl` may be then: the k3 of a small difference d is d^2 / 2."""


def near(expected: Any, terms: int = TERMS, magnitude: float = 1.0, dtype: Any = torch.float64) -> Any:
    """Return what equals a number, or numbers by name, but for the order of the sums that they come from."""
    bound = rounding(terms, dtype=dtype)
    return pytest.approx(expected, rel=bound, abs=bound * magnitude)


def assert_same(
    found: Any, wanted: Any, terms: int = TERMS, dtype: Any = torch.float64, said: str = ""
) -> None:
    """Fail where tensors are further apart than by the order of their sums, which were added up in `dtype`.

    What cancels out may leave nothing but its rounding, so every entry has the bound of the largest.
    """
    magnitude = float(wanted.detach().abs().max()) if wanted.numel() else 0.0
    bound = rounding(terms, magnitude, dtype)
    torch.testing.assert_close(found, wanted, rtol=0, atol=bound, msg=lambda m: f"{said}: {m}" if said else m)


class _Widened(TorchDispatchMode):
    """Has torch make float64 of what is asked for in float32 by name."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def widened(value: Any) -> Any:
            return torch.float64 if value is torch.float32 else value

        return func(*map(widened, args), **{name: widened(v) for name, v in (kwargs or {}).items()})


@contextmanager
def in_float64() -> Iterator[None]:
    """Have this thread compute in float64 in the block: what is made, and what is cast or loaded as float32.

    A model in float64 alone is not enough: its norms, its softmax and its logits are cast to float32. What
    was made before in float32 stays so.
    """
    from rewardkit.trainer.models.load import DTYPES  # not at the top: reward models need no trainer

    before = torch.get_default_dtype(), DTYPES["float32"]
    torch.set_default_dtype(torch.float64)
    DTYPES["float32"] = torch.float64
    try:
        with _Widened():
            yield
    finally:
        torch.set_default_dtype(before[0])
        DTYPES["float32"] = before[1]
