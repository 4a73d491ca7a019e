"""Environments of other projects, played as episodes: a file for each protocol, over one small interface.

`environment` is the interface and how an environment is named, `session` the episode's side of it. The loop
is `rewardkit.agents.loops.env`.
"""
