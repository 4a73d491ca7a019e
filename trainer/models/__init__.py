"""Loading models, heads and adapters, and sharding them."""
