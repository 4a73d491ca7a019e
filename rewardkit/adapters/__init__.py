"""The call signatures of other trainers, over a local Scorer or a reward server: thin, no logic.

`verl`, `trl`, `ms_swift`, `verifiers`, and `callable` for anything else. A server is used where its address
is given, as `url` or in REWARDKIT_URL (its token: REWARDKIT_TOKEN); otherwise rewards are computed in this
process, those of one's own and compositions after the files in `rewards` or REWARDKIT_REWARDS have been read.
"""
