"""Code of the worker: the fork server and the jailed child. Standard library only, no imports of rewardkit.

The driver starts it in a bare interpreter (`python -I -S`) as the package `jail`. All imports are relative.
Nothing of the caller's memory, environment or modules is available.
"""
