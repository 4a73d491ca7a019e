"""Parts that shape a reward and know nothing of right and wrong: meant for compositions, beside or behind a
reward that does. `format` think and answer tags; `length`; `repetition`; `language`; `refusal`.

`SPANS` says between which values each lies with its defaults, so that a composition in which one of them can
outweigh the answer is seen (`rewardkit.composition.check`).
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
