"""Engines that turn prompts into responses. All keep the contract in `base.py`."""
