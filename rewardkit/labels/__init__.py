"""Finds ground truths that are likely to be wrong. There are two kinds of evidence: responses that agree with
each other and not with the ground truth, under several graders (`agreement`), and worked solutions that
contradict it (`solutions`).
"""
