"""Interactions, which take the part of the user in an episode: they give feedback or play a person.

`agents/loading.py` loads the interactions of a run. `docs/tools.md` describes how to write an interaction.
"""
