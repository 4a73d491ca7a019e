"""What one step of training is made of, in the order of `loop.py`."""
