"""Engines that generate responses to prompts and implement the protocol `RolloutEngine` in `base.py`."""
