"""Recipes that `rewardkit rm --config NAME` reads."""
