"""Responses of a model to the prompts of a file: `rewardkit generate`.

`answer_prompts.py` drives an engine of `engines/` over the prompts and keeps a journal of finished ones, so
that a killed run goes on. Nothing here trains; scoring, where asked for, is the Scorer's.
"""
