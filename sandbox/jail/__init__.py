"""Implements the fork server and its jailed children, without importing the rest of rewardkit.

The driver starts this code as the package `jail` in a bare interpreter (`python -I -S`), so all imports
within it are relative. None of the caller's memory, environment variables or modules are available.
"""
