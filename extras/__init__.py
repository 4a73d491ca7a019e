"""Rarely needed languages, protocols, rewards and losses, imported as `rewardkit_extras`.

They plug into rewardkit like any other package, through the entry points in setup.cfg. Nothing in `rewardkit`
imports them.
"""
