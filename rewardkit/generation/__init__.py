"""Generates a model's responses to the prompts in a file, for the command `rewardkit generate`.

`answer_prompts.py` runs an engine from `engines/` on the prompts and keeps a journal of finished responses,
so that an interrupted run can be resumed. If scores are requested, a `Scorer` scores the responses.
"""
