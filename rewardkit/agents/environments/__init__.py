"""Environments of other projects, played as episodes. Each protocol has a file that implements one interface.

`environment` defines the interface and the ways to name an environment. `session` connects an environment to
an episode. The loop is `rewardkit.agents.loops.env`.
"""
