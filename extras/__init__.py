"""Rarely needed languages, protocols, rewards and losses, imported as `rewardkit_extras`.

Like any other package, this package extends rewardkit through entry points, which are in setup.cfg. Nothing
in `rewardkit` imports it.
"""
