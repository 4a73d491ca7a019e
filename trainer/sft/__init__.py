"""Supervised fine-tuning: the same trainer as PPO's, on given responses."""
