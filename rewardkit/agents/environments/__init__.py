"""Environments from other projects, which are played as episodes.

`environment` defines an interface, which each protocol implements in its own file, and the syntax for naming
an environment. `session` connects an environment to an episode. The loop is `rewardkit.agents.loops.env`.
"""
