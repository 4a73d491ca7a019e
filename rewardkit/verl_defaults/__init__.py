"""verl's defaults by release, written by `benchmarks/verl_defaults.py`, read by `rewardkit/verl_keys.py`."""
