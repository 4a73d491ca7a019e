"""Rewards computed by a language model behind an HTTP endpoint."""

from rewardkit.rewards.judge.file import register_judge as register_judge
