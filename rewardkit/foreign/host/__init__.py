"""Host process that runs a third-party reward with Python 3.9 or later.

This folder is started as a separate package. The package uses only the standard library and
`rewardkit.users_code`, so rewardkit need not be installed for the interpreter. `serving` communicates with
the client, `loading` finds the target, `shapes` calls functions, `libraries` calls rewards from packages
whose rewards are not functions, and `results` reads the returned values.
"""
