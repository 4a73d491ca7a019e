"""Rewards that ignore correctness, for use in combination with a reward that checks correctness.

They are in `format` (think and answer tags), `length`, `repetition`, `language` and `refusal`.

`SPANS` contains the range of each reward with its default options. `rewardkit.composition.check` uses it to
detect compositions in which one of these rewards can outweigh the answer.
"""

SPANS: dict[str, tuple[float, float]] = {
    "think_format": (0.0, 1.0),
    "length_overlong": (-1.0, 0.0),
    "length_cosine": (0.0, 1.0),
    "length_budget": (0.0, 1.0),
    "repetition": (-1.0, 0.0),
    "language": (0.0, 1.0),
    "refusal": (-1.0, 0.0),
    "diversity": (0.0, 1.0),
}
