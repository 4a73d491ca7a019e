"""Formulas for the algorithms, as pure functions of tensors without configs, models or process groups."""
