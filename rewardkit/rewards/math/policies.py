"""What counts as right: the options of the `math` reward, and its presets (argued in docs/math.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Method = Literal["tags", "boxed", "marker", "display", "inline", "number", "whole"]
Compat = Literal["none", "verl_math_reward", "math_dapo", "math_dapo_0_8", "math_verify"]


@dataclass(frozen=True)
class MathOptions:
    """Options of the `math` reward. Every default is argued in docs/math.md."""

    preset: Literal["default", "strict"] = "default"
    """`strict` demands boxes that agree, signs and units where the ground truth has them, and no rounding."""
    compat: Compat = "none"
    """Reproduce another grader exactly instead of scoring by our own rules."""
    methods: tuple[Method, ...] = ("tags", "boxed", "marker", "display", "inline", "number")
    """Where an answer is looked for, in this order; `("boxed",)` demands a box."""
    units: Literal["optional", "required"] = "optional"
    """Whether a unit, a percent or degree sign, or a number's base, that only one side has may be left out.
    Two different ones never agree; `50%` always equals 0.5, and `90^\\circ` pi/2."""
    rounding_digits: int = 4
    """Significant digits that a correctly rounded decimal needs to stand for an exact value; 0: never."""
    correct_score: float = 1.0
    wrong_score: float = 0.0
    format_score: float = 0.0
    """Score of a wrong answer that was nevertheless given in a box or answer tags."""

    def __post_init__(self) -> None:
        """Refuse what no answer can be found or compared by."""
        if not self.methods:
            raise ValueError(
                "methods is empty; expected one or more of tags, boxed, marker, display, inline, number"
            )
        if self.rounding_digits < 0:
            raise ValueError(f"rounding_digits is {self.rounding_digits}; expected 0 or more")


_STRICT = {"methods": ("tags", "boxed"), "units": "required", "rounding_digits": 0}
DEFAULT = MathOptions()


def resolve(options: MathOptions) -> MathOptions:
    """Return the options with their preset filled in; what the user set himself stays."""
    if options.preset == "default":
        return options
    changed = {
        name: value for name, value in _STRICT.items() if getattr(options, name) == getattr(DEFAULT, name)
    }
    return replace(options, **changed)  # type: ignore[arg-type]
