"""Interactions: the user of an episode, who gives feedback or plays a person.

`agents/loading.py` loads the interactions of a run. `docs/tools.md` describes how to write an interaction.
"""
