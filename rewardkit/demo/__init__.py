"""The embedded default: arithmetic problems, a tiny model made on the spot, and the PPO trainer on them."""
