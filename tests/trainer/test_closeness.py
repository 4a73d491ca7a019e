"""What `tests/closeness.py` says of sums in another order, and of float64 where float32 is asked for."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.checkpoint import checkpoint

from tests.closeness import assert_same, in_float64, near


@pytest.mark.parametrize("terms", [2, 64, 1000])
def test_a_sum_in_another_order_is_the_same_and_one_that_lacks_a_term_is_not(terms: int) -> None:
    generator = torch.Generator().manual_seed(terms)
    numbers = torch.rand(terms, generator=generator) + 0.5
    wanted = numbers.sum()
    for order in (numbers, numbers.flip(0), numbers[torch.randperm(terms, generator=generator)]):
        found = order.cumsum(0)
        assert_same(found[-1], wanted, terms, torch.float32)
        assert float(found[-1]) == near(float(wanted), terms, dtype=torch.float32)
        assert float(found[-2]) != near(float(wanted), terms, dtype=torch.float32)
        with pytest.raises(AssertionError, match=r"^one too few: .* not close"):
            assert_same(found[-2], wanted, terms, torch.float32, "one too few")


def test_what_is_asked_for_in_float32_is_float64_in_the_block_alone() -> None:
    seen = []

    def normed(values: Any) -> Any:
        """As models do it, whose norms and softmax are in float32."""
        wide = values.float()
        seen.append(wide.dtype)
        return wide.softmax(0, dtype=torch.float32).exp()

    with in_float64():
        values = torch.ones(3, requires_grad=True)
        found = checkpoint(normed, values, use_reentrant=False)
        found.sum().backward()
        assert seen == [torch.float64] * 2, "backward computes it again"
        assert values.dtype == found.dtype == torch.zeros(1, dtype=torch.float32).dtype == torch.float64
        assert values.bfloat16().dtype == torch.bfloat16
    assert torch.ones(3).dtype == values.float().dtype == torch.float32
