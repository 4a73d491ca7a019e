"""A compact PPO trainer: FSDP2 for training, a rollout engine, rewards from the Scorer."""
