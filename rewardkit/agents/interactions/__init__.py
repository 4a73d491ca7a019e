"""Interactions, which act as the user in an episode by giving feedback or playing a person.

`agents/loading.py` loads the interactions of a run. `docs/own_tools.md` says how to write one.
"""
