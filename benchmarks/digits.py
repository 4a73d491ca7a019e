"""A reward for runs of untrained models, in a file without imports: every scoring worker loads it."""


def digits(data_source: str, solution_str: str, ground_truth: str, extra_info: object = None) -> float:
    """Reward the share of digits in a response, because an untrained model never uses a format."""
    return sum(c.isdigit() for c in solution_str) / max(len(solution_str), 1)
