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
    """`strict` demands a box, units where the ground truth has them, no leniency on percent or degrees."""
    compat: Compat = "none"
    """Reproduce another grader exactly instead of scoring by our own rules."""
    methods: tuple[Method, ...] = ("tags", "boxed", "marker", "display", "inline", "number")
    """Where an answer is looked for, in this order; `("boxed",)` demands a box."""
    box: Literal["last", "first", "only"] = "last"
    """Which box counts when several stand apart; `only` refuses boxes that differ."""
    unclosed_box: bool = False
    """Accept a last box whose brace never closes."""
    percent: Literal["both", "fraction", "literal"] = "both"
    """What `50%` equals: 0.5 and 50, 0.5 only, or only another percentage."""
    units: Literal["optional", "required"] = "optional"
    """Whether a unit, or a number's base, that only one side has may be left out. Two different ones never
    agree."""
    degrees: Literal["optional", "required"] = "optional"
    """Whether `90^\\circ` equals 90. It always equals pi/2."""
    rounding_digits: int = 4
    """Significant digits that a correctly rounded decimal needs to stand for an exact value; 0: never."""
    rel_tol: float = 0.0
    """Accept numbers this close. Never used between integers."""
    decimal_comma: bool = True
    """Whether an answer may write 1000,99 for a ground truth of 1000.99. `3,5` is otherwise always a list."""
    list_order: bool = False
    """Whether the order of a bare list matters. Tuples are always ordered."""
    brackets: Literal["exact", "free"] = "exact"
    """Whether `(1,2)` and `[1,2]` differ."""
    assignment: bool = True
    """Whether `x=5` equals 5."""
    text_case: bool = False
    """Whether letter case matters in words and choice letters. It always does in variables."""
    symbolic: bool = True
    """Ask the SymPy worker about what the tiers before it leave open."""
    deadline_s: float = 2.0
    """Seconds of processor time that SymPy may take for one answer, all its parts together."""
    undecided: Literal["not_equal", "timeout"] = "not_equal"
    """What an answer is that SymPy cannot decide in that time: not equal, or a failure of status `timeout`,
    which a trainer masks, so that a policy can escape a wrong answer's score by it."""
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
        if self.deadline_s <= 0:
            raise ValueError(
                f"deadline_s is {self.deadline_s:g}; expected more than 0 (symbolic=false: no SymPy)"
            )
        if self.rounding_digits < 0 or self.rel_tol < 0:
            raise ValueError(
                f"rounding_digits is {self.rounding_digits} and rel_tol {self.rel_tol:g}; expected 0 or more"
            )


_STRICT = {
    "methods": ("tags", "boxed"),
    "box": "only",
    "percent": "fraction",
    "units": "required",
    "degrees": "required",
    "rounding_digits": 0,
    "decimal_comma": False,
}
DEFAULT = MathOptions()


def resolve(options: MathOptions) -> MathOptions:
    """Return the options with their preset filled in; what the user set himself stays."""
    if options.preset == "default":
        return options
    changed = {
        name: value for name, value in _STRICT.items() if getattr(options, name) == getattr(DEFAULT, name)
    }
    return replace(options, **changed)  # type: ignore[arg-type]
