"""`rewardkit.evaluate` and `rewardkit.compare`, which compute figures for files, tables or datasets.

Both functions call lower-level packages to prepare datasets, generate and score responses, and read rows.
"""
