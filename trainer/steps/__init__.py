"""Parts of a training step, in the order in which `loop.py` uses them."""
