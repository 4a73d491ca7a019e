"""Open Reward Standard servers as rewards and as environments."""
