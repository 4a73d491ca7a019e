"""What counts as right: the options of the `math` reward, and presets (argued in docs/math_policies.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from rewardkit.errors import require

Method = Literal["tags", "boxed", "marker", "display", "inline", "number", "whole"]
Compat = Literal["none", "verl_math_reward", "math_dapo", "math_dapo_0_8", "math_verify"]


@dataclass(frozen=True)
class MathOptions:
    """Options of the `math` reward. Every default is argued in docs/math_policies.md."""

    preset: Literal["default", "strict"] = "default"
    """`strict` demands boxes that agree, signs and units where the ground truth has them, and no rounding."""
    compat: Compat = "none"
    """Reproduce another grader exactly instead of scoring by our own rules."""
    methods: tuple[Method, ...] | None = None
    """Where an answer is looked for, in this order; `("boxed",)` demands a box. None: everywhere,
    under `strict` in tags and boxes."""
    units: Literal["optional", "required"] | None = None
    """Whether a unit, a percent or degree sign, or a number's base, that only one side has may be left out.
    Two different ones never agree; `50%` always equals 0.5, and `90^\\circ` pi/2. None: optional, under
    `strict` required."""
    rounding_digits: int | None = None
    """Significant digits that a correctly rounded decimal needs to stand for an exact value; 0: never.
    None: 4, under `strict` 0."""
    correct_score: float = 1.0
    wrong_score: float = 0.0
    format_score: float = 0.0
    """Score of a wrong answer that was nevertheless given in a box or answer tags."""

    def __post_init__(self) -> None:
        """Refuse what no answer can be found or compared by.

        Raises:
            ValueError: a value that means nothing.
            MissingDependencyError: the grader to reproduce is not installed.
        """
        if self.methods == ():
            raise ValueError(
                "'methods' is empty; expected one or more of tags, boxed, marker, display, inline, number"
            )
        if self.compat == "math_verify":
            require("compat=math_verify", "math_verify", "math-verify")
        if self.rounding_digits is not None and self.rounding_digits < 0:
            raise ValueError(f"rounding_digits is {self.rounding_digits}; expected 0 or more")

    @cached_property
    def resolved(self) -> MathOptions:
        """The options with their preset filled in, worked out once; what the user set himself stays."""
        preset = _PRESETS[self.preset]
        unset = {name: value for name, value in preset.items() if getattr(self, name) is None}
        return replace(self, **unset) if unset else self


_PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "methods": ("tags", "boxed", "marker", "display", "inline", "number"),
        "units": "optional",
        "rounding_digits": 4,
    },
    "strict": {"methods": ("tags", "boxed"), "units": "required", "rounding_digits": 0},
}


DEFAULT = MathOptions().resolved
