"""The trainer's adapter for verl, which reads verl's configurations and translates their settings.

`hydra.py` composes the files, `translation.py` translates keys and values, and `ppo.json` and `sft.json`
define the translation of each key. No other part of the trainer depends on verl's names.
"""
