"""Lock files, which a project checks its rewards against, and replays of scored files.

`pins` chooses the rewards of a lock file and `checking` compares them with those installed now; `replay`
scores a file again. What identifies a reward is in `rewardkit.identity`, and the receipt of a scored file in
`rewardkit.offline`.
"""
