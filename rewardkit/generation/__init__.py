"""Responses of a model to the prompts of a file: `rewardkit generate`.

`run.py` drives an engine of `engines/` over the prompts and keeps what is done in a journal, so that a killed
run goes on. Nothing here trains; scoring, where asked for, is the Scorer's.
"""
