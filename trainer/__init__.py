"""A compact PPO trainer: FSDP2 for training, a rollout engine, rewards from the Scorer.

Start reading at `loop.py`. Nothing outside this package imports torch, and nothing in it is imported before
`rewardkit train` or `rewardkit demo` runs.
"""
