"""Loads models, heads and adapters, and shards them."""
