"""Detection of ground truths that are likely to be wrong.

The evidence is of two kinds: responses that agree on an answer other than the ground truth, according to
several graders (`agreement`), and worked solutions that contradict the ground truth (`solutions`).
"""
