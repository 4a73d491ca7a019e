"""Loads, prepares and shards models."""

CHUNK_ELEMENTS = 2**25
"""Maximum number of logits in memory at once during training, which take 128 MiB in float32."""
