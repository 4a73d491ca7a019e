"""Detection of ground truths that are likely to be wrong.

There are two kinds of evidence: responses that agree with each other but not with the ground truth, according
to several graders (`agreement`), and worked solutions that contradict the ground truth (`solutions`).
"""
