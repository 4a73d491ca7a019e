"""Interactions: the user of an episode, which gives feedback or plays a person.

`agents/loading.py` loads those of a run; `docs/tools.md` says how to write one.
"""
