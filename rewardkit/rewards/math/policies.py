"""Options of the `math` reward and their presets, as explained in docs/math_policies.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from rewardkit.errors import require

Method = Literal["tags", "boxed", "marker", "display", "inline", "number", "whole"]
Compat = Literal["none", "verl_math_reward", "math_dapo", "math_dapo_0_8", "math_verify"]


@dataclass(frozen=True)
class MathOptions:
    """Options of the `math` reward. docs/math_policies.md explains every default."""

    preset: Literal["default", "strict"] = "default"
    """`strict` accepts only answers in a box or in tags, requires the same units and percent, degree and
    currency signs as the ground truth, and rejects rounded decimals. If there are several boxes, the answer
    is the list of their values."""
    compat: Compat = "none"
    """Score in the same way as another grader: `verl_math_reward`, `math_dapo`, `math_dapo_0_8` or
    `math_verify` (docs/math.md). All other options are then ignored."""
    methods: tuple[Method, ...] | None = None
    """Places to search for an answer: `tags`, `boxed`, `marker`, `display`, `inline` and `number`. The last
    tags, box or marker are used. Without any of these, the other places are tried in the given order. None:
    all places, or only `tags` and `boxed` with `preset=strict`."""
    units: Literal["optional", "required"] | None = None
    """`optional`: the answer may omit or add a unit, percent sign, degree sign or currency sign, and may omit
    a number base. `required`: these must be as in the ground truth. Known units are always converted, so `5
    km` equals `5000 m`. None: `optional`, or `required` with `preset=strict`."""
    rounding_digits: int | None = None
    """Minimum number of significant digits that a correctly rounded decimal needs to equal an exact value,
    such as 0.3333 for 1/3. If the decimal has at least this many decimal places, one significant digit
    fewer is accepted. 0: rounded decimals are wrong. None: 4, or 0 with `preset=strict`."""
    correct_score: float = 1.0
    """Score of a right answer."""
    wrong_score: float = 0.0
    """Score of a wrong answer outside a box and tags, and of a response without an answer. `format_score`
    applies to wrong answers in a box or in tags."""
    format_score: float = 0.0
    """Score of a wrong answer in a box or in tags."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: The value of an option is not allowed.
            MissingDependencyError: The grader to reproduce is not installed.
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
        """Return the options with unset values filled in from the preset."""
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
