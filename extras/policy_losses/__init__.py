"""Policy losses that few runs use: rows of the table `policy_losses`."""
