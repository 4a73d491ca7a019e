"""A reward for runs of untrained models, in a file that imports nothing: every scoring worker loads it."""


def digits(data_source: str, solution_str: str, ground_truth: str, extra_info: object = None) -> float:
    """Reward the share of digits in a response: an untrained model never answers in format."""
    return sum(c.isdigit() for c in solution_str) / max(len(solution_str), 1)
