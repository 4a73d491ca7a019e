"""Supervised fine-tuning on given responses, with the trainer that PPO uses."""
