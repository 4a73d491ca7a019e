"""Harbor tasks as rewards and as environments."""
