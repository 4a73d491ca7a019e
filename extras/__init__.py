"""Kinds of languages, protocols and rewards that few people need, imported as `rewardkit_extras`.

They reach rewardkit as those of any other package do: by the entry points in setup.cfg. Nothing in
`rewardkit` imports them.
"""
