"""What decides scores, written down: lock files that a project checks, receipts of scored files, replays.

`identity` says what a reward is, `changes` what moved between two identities. `file` is the lock file,
`pins` chooses its rows, `checking` compares it with what is here. `receipt` goes with each scored file, and
`replay` scores such a file again.
"""
