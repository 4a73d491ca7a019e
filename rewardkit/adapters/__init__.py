"""Thin adapters that provide reward functions with the call signatures of other trainers.

There are adapters for `verl`, `trl`, `ms_swift` and `verifiers`, and `callable` for any other trainer. The
adapters use a reward server if an address is given as `url` or in REWARDKIT_URL (with a token in
REWARDKIT_TOKEN). Otherwise, they score in the current process. They first register the rewards and
compositions in the files given as `rewards` or in REWARDKIT_REWARDS.
"""
