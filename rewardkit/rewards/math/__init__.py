"""The `math` reward."""
from rewardkit.rewards.math.grade import compare as compare
