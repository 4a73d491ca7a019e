"""The trainer's adapter for verl: reads verl's configurations, and translates their settings into ours.

`hydra.py` composes the files, `translation.py` translates keys and values, and `ppo.json` and `sft.json` say
what becomes of each key. Nothing else in the trainer knows verl's names.
"""
