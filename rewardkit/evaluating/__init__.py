"""`rewardkit.evaluate` and `rewardkit.compare`, which compute figures of files, tables or datasets.

They call lower-level packages to prepare datasets, generate and score responses, and read scored rows.
"""
