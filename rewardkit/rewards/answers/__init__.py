"""Finds the answer in a response (`place`) and reads one number as people write it (`number`)."""
