"""Responses judged by a model, behind an endpoint."""

from rewardkit.rewards.judge.file import register_judge as register_judge
