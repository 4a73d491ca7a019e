"""Engines that generate responses to prompts. Each implements the `RolloutEngine` protocol in `base.py`."""
