"""Lock files, which record the rewards of a project, and replays of scored files.

The module `pins` chooses the responses in a lock file, `checking` compares a lock file with the currently
installed rewards, and `replay` scores a file again. Identities of rewards are in `rewardkit.identity`, and
receipts of scored files are in `rewardkit.offline`.
"""
