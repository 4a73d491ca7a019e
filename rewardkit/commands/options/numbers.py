"""Option types for finite numbers within bounds."""

from __future__ import annotations

import math
from typing import Any

import click
from click.types import FloatParamType


class FiniteNumber(FloatParamType):
    """Option type for numbers that are neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail as click's own types do."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """Option type for finite numbers within bounds. Unlike `click.FloatRange`, it rejects NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail as click's own types do."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType[float], found: float, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    if not math.isfinite(found):
        kind.fail(f"{found} is not a finite number.", param, ctx)
    return found


NUMBER = FiniteNumber()
NOT_NEGATIVE = FiniteRange(min=0)
ABOVE_0 = FiniteRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)
COUNT_OR_0 = click.IntRange(min=0)
SEED = click.IntRange(-(2**31), 2**31 - 1)
"""Option type for seeds that every random number generator accepts."""
