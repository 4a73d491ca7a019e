"""Parts of one step of training, in the order of `loop.py`."""
