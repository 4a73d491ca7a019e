"""Lock files, against which a project checks its rewards, and replays of scored files.

The module `pins` chooses the responses of a lock file, `checking` compares the file with the rewards that are
now installed, and `replay` scores a file again. Identities of rewards are in `rewardkit.identity`, and
receipts of scored files in `rewardkit.offline`.
"""
