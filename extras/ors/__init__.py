"""Servers of the Open Reward Standard as rewards and as environments."""
