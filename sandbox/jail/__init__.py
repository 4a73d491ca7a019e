"""Code that runs in the worker: the fork server and the jailed child. Standard library only, no rewardkit.

The driver starts it in a bare interpreter (`python -I -S`) as the package `jail`. All imports are relative,
and nothing of the caller's memory, environment or modules is present.
"""
