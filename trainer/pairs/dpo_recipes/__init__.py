"""Recipes that `rewardkit dpo --config NAME` reads."""
