"""Likely wrong ground truths: where independent responses agree with each other and not with it, under
several graders (`agreement`), and where a worked solution says something else (`solutions`).
"""
