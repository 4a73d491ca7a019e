"""Runs untrusted, model-written code: isolated, limited, always cleaned up. Knows nothing of rewards."""
