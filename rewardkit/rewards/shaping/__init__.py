"""Rewards that ignore correctness, to be combined with a reward that checks it.

They are `format` (think and answer tags), `length`, `repetition`, `language` and `refusal`.

`SPANS` has the range of each with its default options, so that a composition in which one of them can
outweigh the answer is detected (`rewardkit.composition.check`).
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
