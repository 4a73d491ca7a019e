"""Code of the fork server and its jailed children. The code never imports the rest of rewardkit.

The driver starts it as the package `jail` in a bare interpreter (`python -I -S`), so all imports within it
are relative. None of the caller's memory, environment variables or modules are available.
"""
