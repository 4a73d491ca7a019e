"""Loads, prepares and shards models."""
