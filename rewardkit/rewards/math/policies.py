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
    """`strict` requires boxes that agree and the signs and units of the ground truth, and accepts no rounded
    answers."""
    compat: Compat = "none"
    """Reproduce the verdicts of another grader (docs/math.md)."""
    methods: tuple[Method, ...] | None = None
    """Where an answer may be found, in order of precedence: `tags`, `boxed`, `marker`, `display`, `inline` or
    `number`. None: all of them, or only `tags` and `boxed` with `preset=strict`."""
    units: Literal["optional", "required"] | None = None
    """Whether an answer may leave out the unit, percent sign, degree sign or number base of the ground truth,
    or add one. Two different units are never equal. None: `optional`, or `required` with `preset=strict`."""
    rounding_digits: int | None = None
    """Number of significant digits from which on a correctly rounded decimal is accepted for an exact value.
    0: never. None: 4, or 0 with `preset=strict`."""
    correct_score: float = 1.0
    """Score of a right answer."""
    wrong_score: float = 0.0
    """Score of a wrong answer."""
    format_score: float = 0.0
    """Score of a wrong answer in a box or in tags."""

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
