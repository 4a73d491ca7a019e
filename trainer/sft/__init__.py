"""Supervised fine-tuning (SFT) on given responses, with the trainer that PPO also uses."""
