"""The mathematics, one concept per file: pure functions of tensors, no config, no model, no process group."""
